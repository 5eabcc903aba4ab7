//! The notes that a fleet and the connections of its servers share; neither has to know the other for them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use mgp_discovery::config::model::ServerConfig;
use mgp_security::access::TaskOwnersGate;
use mgp_types::mgp::ServerId;
use parking_lot::Mutex;

use super::callbacks::CallbackRoutes;
use super::task_owners::{TaskOwners, place};
use crate::servers::upstream::{ConnectionKey, ServerShared};

/// The notes that a fleet and the connections of its servers share.
#[derive(Default)]
pub(crate) struct FleetBooks {
    /// The servers there are now.
    current: ArcSwap<BTreeMap<ServerId, ServerShared>>,
    /// Held while servers come to offer something else, so that nothing is offered by one that is gone.
    publishing: Mutex<()>,
    /// Grows with each change of the servers, and of what of their lists is whose.
    revision: AtomicU64,
    callbacks: Mutex<CallbackRoutes>,
    task_owners: TaskOwners,
}

impl FleetBooks {
    /// Returns a number that is another one after each change of the servers, and of what of their lists is whose.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Notes that another part of a server's lists is somebody's now.
    pub(crate) fn shares_changed(&self) {
        self.revision.fetch_add(1, Ordering::AcqRel);
    }

    /// Makes `change` while no server offers anything else than before, and none comes or goes.
    pub(super) fn unpublished<T>(&self, change: impl FnOnce() -> T) -> T {
        let _turn = self.publishing.lock();
        change()
    }

    /// Notes the servers there are from now on.
    pub(super) fn replace(&self, servers: BTreeMap<ServerId, ServerShared>) {
        self.current.store(servers.into());
    }

    /// Changes what `server` offers, if it is still the one `of_server` belongs to.
    pub(crate) fn publish<T>(
        &self,
        server: &ServerId,
        of_server: &ServerShared,
        change: impl FnOnce() -> T,
    ) -> Option<T> {
        let _turn = self.publishing.lock();
        self.is_current(server, of_server).then(change)
    }

    /// Says whether `server` is still the one `of_server` belongs to.
    pub(crate) fn is_current(&self, server: &ServerId, of_server: &ServerShared) -> bool {
        self.current.load().get(server).is_some_and(|current| current.is(of_server))
    }

    /// Returns the server that a channel is of. Their ids may have dots in them; the longest is meant.
    pub(crate) fn owner_of_channel(&self, channel: &str) -> Option<ServerId> {
        let current = self.current.load();
        channel.rmatch_indices('.').find_map(|(at, _)| Some(current.get_key_value(&channel[..at])?.0.clone()))
    }

    /// Returns the callbacks of all servers, on their way to clients.
    pub(crate) fn callbacks(&self) -> &Mutex<CallbackRoutes> {
        &self.callbacks
    }

    /// Returns the owners of the tasks that were begun on `line`, however often that was connected anew; none for a program that
    /// the kernel starts, whose tasks end with it.
    pub(crate) fn task_owners(&self, line: &ConnectionKey, server: &ServerConfig) -> TaskOwnersGate {
        place(server).map(|place| self.task_owners.of(line, place)).unwrap_or_default()
    }

    /// Keeps the owners of the tasks of `line` from its first connection on. Returns false for a program that the kernel
    /// starts, whose tasks end with it.
    pub(crate) fn keep_task_owners(
        &self,
        line: &ConnectionKey,
        server: &ServerConfig,
        tasks: &TaskOwnersGate,
    ) -> bool {
        let Some(place) = place(server) else { return false };
        self.task_owners.keep(line, place, tasks);
        true
    }

    /// Forgets whose the tasks of a server are that is gone.
    pub(super) fn forget_tasks(&self, server: &ServerId) {
        self.task_owners.end_of_server(server);
    }
}
