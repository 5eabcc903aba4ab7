//! The state that all connections to one server share.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use mgp_discovery::config::model::ServerConfig;
use mgp_security::limit::LimitGate;
use tokio::sync::Mutex;

use super::ends::ServerEnds;
use super::log::StderrTail;
use super::offered_lists::OfferedLists;
use crate::call::meter::Meter;
use crate::settings;

/// The state that all connections to one server share. Clones share it, too.
#[derive(Clone, Default)]
pub(crate) struct ServerShared {
    pub(super) offered: OfferedLists,
    pub(super) log: StderrTail,
    pub(super) meter: Meter,
    pub(super) ends: ServerEnds,
    /// The gate that counts the calls of all connections together, once the first of them has made it.
    limit: Arc<OnceLock<LimitGate>>,
    /// True if the server refused a session when it was connected to last.
    pub(super) refuses_sessions: Arc<AtomicBool>,
    /// The indexed description. Its lock is held while the index is given anything about the server.
    pub(super) indexed: Arc<Mutex<IndexedDescription>>,
}

/// The data that the index has of the server, beside its tools.
#[derive(Default)]
pub(super) struct IndexedDescription {
    /// The server's description of its purpose.
    pub(super) description: Option<String>,
}

impl ServerShared {
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Returns the gate that holds all connections together to the limits of the server.
    pub(crate) fn limit(&self, server: &ServerConfig) -> LimitGate {
        self.limit.get_or_init(|| LimitGate::new(settings::server_limits(server))).clone()
    }

    /// Returns whether both are of the same server, between two changes of its configuration.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.indexed, &other.indexed)
    }
}
