//! The state that a fleet and the connections of its servers share, so that neither has to know the other for it: the current
//! servers, the routes of callbacks to clients, and of their answers back.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use mgp_stream::callback::CallbackRelay;
use mgp_types::mgp::ServerId;
use mgp_types::{BoxedService, ClientSessionId, Context, Error, Params, StreamId};
use parking_lot::Mutex;
use tokio::time::Instant;

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

/// The routes of the callbacks of all servers to clients, and of their answers back: to the connection that asked,
/// which may be that of a server that is being replaced or removed.
#[derive(Default)]
pub(crate) struct CallbackRoutes {
    relay: CallbackRelay,
    /// The ways back, by the call that the callback is about and the server that sent it.
    ways: HashMap<(StreamId, ServerId), BoxedService, RandomState>,
}

impl CallbackRoutes {
    /// Returns the params under which a callback goes on to the client whose call `front` is. The answer goes `way`.
    ///
    /// # Errors
    /// Fails if it cannot go on.
    pub(crate) fn pass_on(
        &mut self,
        (server, way): (&ServerId, BoxedService),
        front: &Context,
        params: &Params,
        now: Instant,
    ) -> Result<Params, Error> {
        let passed = self.relay.pass_on(server, front, params, now)?;
        self.ways.insert((front.outbox.stream(), server.clone()), way);
        Ok(passed)
    }

    /// Returns the way back to the server whose callback an `mgp/callback/respond` answers, and the params as that
    /// server knows them; `None` if it answers nothing that the sender was asked.
    pub(crate) fn answered(&mut self, context: &Context, params: &Params) -> Option<(BoxedService, Params)> {
        let routed = self.relay.route(context, params, Instant::now())?;
        Some((self.ways.get(&(routed.stream, routed.server))?.clone(), routed.params))
    }

    /// Removes the ways back that no answer will go any more; the caller drops them without a lock.
    #[must_use]
    pub(crate) fn over(&mut self) -> Vec<BoxedService> {
        let Self { relay, ways } = self;
        ways.extract_if(|(stream, server), _| !relay.waits(*stream, server)).map(|(_, way)| way).collect()
    }

    /// Forgets the callbacks about a call that is over. Returns the ways back, which the caller drops without a lock.
    #[must_use]
    pub(crate) fn end_of_call(&mut self, stream: StreamId) -> Vec<BoxedService> {
        self.relay.end_of_call(stream);
        self.ways.extract_if(|(call, _), _| *call == stream).map(|(_, way)| way).collect()
    }
}
