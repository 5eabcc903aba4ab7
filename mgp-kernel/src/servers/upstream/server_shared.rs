//! The state that all connections to one server share.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use mgp_security::limit::LimitGate;
use tokio::sync::Mutex;

use super::log::StderrTail;
use super::offered_lists::OfferedLists;
use crate::call::meter::Meter;

/// The state that all connections to one server share, between two changes of its configuration.
#[derive(Default)]
pub(crate) struct ServerShared {
    pub(super) offered: OfferedLists,
    pub(super) log: StderrTail,
    /// The counts of the server's calls, on all its connections.
    pub(crate) meter: Meter,
    /// The number of times that the server ended or stopped answering, and nobody had ordered it.
    pub(crate) ended: AtomicU64,
    /// The number of times that the server was given up.
    pub(crate) given_up: AtomicU64,
    /// The gate that counts the calls of all connections together, once the first of them has made it.
    pub(crate) limit: OnceLock<LimitGate>,
    /// The server's description of its purpose, as the index has it. The lock is held while the index is given anything
    /// about the server.
    pub(super) indexed: Mutex<Option<String>>,
}
