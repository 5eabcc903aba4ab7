//! The state that all connections to one server share.

use std::sync::{Arc, OnceLock};

use mgp_security::limit::LimitGate;
use tokio::sync::Mutex;

use super::ends::ServerEnds;
use super::log::StderrTail;
use super::offered_lists::OfferedLists;
use crate::call::meter::Meter;

/// The state that all connections to one server share. Clones share it, too.
#[derive(Clone, Default)]
pub(crate) struct ServerShared {
    pub(super) offered: OfferedLists,
    pub(super) log: StderrTail,
    pub(super) meter: Meter,
    pub(super) ends: ServerEnds,
    /// The gate that counts the calls of all connections together, once the first of them has made it.
    limit: Arc<OnceLock<LimitGate>>,
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

    /// Returns the gate that holds all connections together to the limits of the server, and makes it for the first of them.
    pub(crate) fn limit(&self, make: impl FnOnce() -> LimitGate) -> LimitGate {
        self.limit.get_or_init(make).clone()
    }

    /// Returns whether both are of the same server, between two changes of its configuration.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.indexed, &other.indexed)
    }
}
