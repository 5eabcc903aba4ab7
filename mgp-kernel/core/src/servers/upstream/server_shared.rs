//! The state that all connections to one server share, with the lists that they offer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::ArcSwap;
use mgp_discovery::catalog::{Catalog, CatalogSnapshot};
use tokio::sync::Mutex;

use super::connection_key::ConnectionKey;
use super::start_attempt::StderrTail;
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
    /// The server's description of its purpose, as the index has it. The lock is held while the index is given anything
    /// about the server.
    pub(super) indexed: Mutex<Option<String>>,
}

/// The lists of the agents' or clients' own connections to one server: some may find other things than others.
///
/// Changes happen one at a time; readers never wait.
#[derive(Default)]
pub(super) struct OfferedLists(ArcSwap<BTreeMap<ConnectionKey, Arc<Catalog>>>);

/// The part of a server's lists that an agent has.
pub(crate) enum AgentLists {
    /// All of the lists: the connection is shared by all agents.
    Everything,
    /// The lists of the agent's own connection.
    Own(Arc<CatalogSnapshot>),
    /// The future lists of the agent's own connection, which has not listed anything yet.
    Coming,
    /// The agent does not reach the server, and is offered nothing.
    Nothing,
}

impl OfferedLists {
    /// Returns the number of connections that have lists.
    pub(super) fn count(&self) -> usize {
        self.0.load().len()
    }

    /// Returns the lists of a connection, if it has any yet.
    pub(super) fn of(&self, key: &ConnectionKey) -> Option<Arc<CatalogSnapshot>> {
        self.0.load().get(key).map(|lists| lists.snapshot())
    }

    /// Returns the lists of each connection, in a stable order.
    pub(super) fn all(&self) -> Vec<Arc<CatalogSnapshot>> {
        self.0.load().values().map(|lists| lists.snapshot()).collect()
    }

    /// Notes that the connection has these lists.
    pub(super) fn put(&self, key: &ConnectionKey, lists: &Arc<Catalog>) {
        let shares = self.0.load();
        if !shares.get(key).is_some_and(|known| Arc::ptr_eq(known, lists)) {
            let mut shares = BTreeMap::clone(&shares);
            shares.insert(key.clone(), Arc::clone(lists));
            self.0.store(Arc::new(shares));
        }
    }

    /// Removes the lists of a connection that has ended. Returns whether there is no newer one of this key.
    pub(super) fn end(&self, key: &ConnectionKey, lists: &Arc<Catalog>) -> bool {
        let shares = self.0.load();
        let was_last = shares.get(key).is_some_and(|known| Arc::ptr_eq(known, lists));
        if was_last {
            let mut shares = BTreeMap::clone(&shares);
            shares.remove(key);
            self.0.store(Arc::new(shares));
        }
        was_last
    }
}
