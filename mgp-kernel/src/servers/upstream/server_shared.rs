use std::sync::Arc;

use tokio::sync::Mutex;

use super::log::StderrTail;
use super::offered_lists::OfferedLists;
use crate::call::meter::Meter;

/// What all connections to one server have in common. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct ServerShared {
    pub(super) offered: OfferedLists,
    pub(super) log: StderrTail,
    pub(super) meter: Meter,
    /// Held by whoever tells the index something of the server.
    pub(super) indexed: Arc<Mutex<IndexedDescription>>,
}

/// What the index is told of the server, beside its tools.
#[derive(Default)]
pub(super) struct IndexedDescription {
    /// What the server said that it is for.
    pub(super) description: Option<String>,
}

impl ServerShared {
    /// Whether the two are of the same server, between two changes of its configuration.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.indexed, &other.indexed)
    }
}
