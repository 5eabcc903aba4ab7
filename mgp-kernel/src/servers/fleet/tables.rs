//! The state that a fleet and the connections of its servers share, so that neither has to know the other for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use mgp_types::ClientSessionId;
use mgp_types::mgp::ServerId;
use parking_lot::Mutex;

use super::callbacks::CallbackRoutes;
use crate::servers::task_table::TaskTable;
use crate::servers::upstream::ServerShared;

/// The state that a fleet and the connections of its servers share.
#[derive(Default)]
pub(crate) struct FleetTables {
    /// The current servers.
    current: ArcSwap<BTreeMap<ServerId, Arc<ServerShared>>>,
    /// A lock that is held while lists are published, so that nothing is offered by a server that is gone.
    publishing: Mutex<()>,
    /// A number that grows with each change of the servers, and of which agents have which of their lists.
    revision: AtomicU64,
    pub(crate) callbacks: Mutex<CallbackRoutes>,
    pub(crate) tasks: TaskTable,
    /// The folders of the clients that work elsewhere than this process.
    folders: ArcSwap<BTreeMap<ClientSessionId, PathBuf>>,
}

impl FleetTables {
    /// Returns a number that differs after each change of the servers, and of which agents have which of their lists.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Notes that agents have other parts of a server's lists than before.
    pub(crate) fn shares_changed(&self) {
        self.revision.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes the folder in which a client works; `None` once its session is over.
    pub(crate) fn set_folder(&self, client: ClientSessionId, folder: Option<&Path>) {
        self.folders.rcu(|folders| {
            let mut folders = BTreeMap::clone(folders);
            folders.remove(&client);
            folders.extend(folder.map(|folder| (client, folder.to_owned())));
            folders
        });
    }

    /// Returns the folder in which a client works, if that is not the one of this process.
    pub(crate) fn folder(&self, client: Option<ClientSessionId>) -> Option<PathBuf> {
        self.folders.load().get(&client?).cloned()
    }

    /// Makes `change` while no server offers anything new, and none comes or goes.
    pub(super) fn unpublished<T>(&self, change: impl FnOnce() -> T) -> T {
        let _turn = self.publishing.lock();
        change()
    }

    /// Replaces the current servers.
    pub(super) fn replace(&self, servers: BTreeMap<ServerId, Arc<ServerShared>>) {
        self.current.store(servers.into());
    }

    /// Changes what `server` offers, if it is still the server that `of_server` belongs to.
    pub(crate) fn publish<T>(
        &self,
        server: &ServerId,
        of_server: &Arc<ServerShared>,
        change: impl FnOnce() -> T,
    ) -> Option<T> {
        let _turn = self.publishing.lock();
        self.is_current(server, of_server).then(change)
    }

    /// Returns whether `server` is still the server that `of_server` belongs to.
    pub(crate) fn is_current(&self, server: &ServerId, of_server: &Arc<ServerShared>) -> bool {
        self.current.load().get(server).is_some_and(|current| Arc::ptr_eq(current, of_server))
    }

    /// Returns the server of a channel. Ids of servers may contain dots; the longest id that fits is meant.
    pub(crate) fn owner_of_channel(&self, channel: &str) -> Option<ServerId> {
        let current = self.current.load();
        channel.rmatch_indices('.').find_map(|(at, _)| Some(current.get_key_value(&channel[..at])?.0.clone()))
    }
}
