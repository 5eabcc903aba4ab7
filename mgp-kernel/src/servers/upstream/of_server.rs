use std::sync::Arc;

use tokio::sync::Mutex;

use super::log::ServerLog;
use super::offered::Offered;
use crate::call::meter::Meter;

/// What all connections to one server have in common. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct OfServer {
    pub(super) offered: Offered,
    pub(super) log: ServerLog,
    pub(super) meter: Meter,
    /// Held by whoever tells the index something of the server.
    pub(super) indexed: Arc<Mutex<Indexed>>,
}

/// What the index is told of the server, beside its tools.
#[derive(Default)]
pub(super) struct Indexed {
    /// What the server said that it is for.
    pub(super) description: Option<String>,
}

impl OfServer {
    /// Whether the two are of the same server, between two changes of its configuration.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.indexed, &other.indexed)
    }
}
