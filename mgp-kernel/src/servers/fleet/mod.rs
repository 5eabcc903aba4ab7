//! All servers that the kernel has to do with.

mod books;
mod callbacks;
mod near;
mod task_owners;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use mgp_discovery::config::model::ServerConfig;
use mgp_types::Principal;
use mgp_types::mgp::{ServerId, ShutdownReason};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::task::JoinSet;

pub(crate) use self::books::FleetBooks;
use self::callbacks::CallbackRoutes;
use crate::StartError;
use crate::servers::upstream::{AgentLists, ConnectionKey, ListKind, ServerSupport, ServerView, Upstream};

type ServerMap = BTreeMap<ServerId, Arc<Upstream>>;

/// The servers, as a snapshot: readers never wait.
pub(crate) struct Fleet {
    support: Arc<ServerSupport>,
    servers: ArcSwap<ServerMap>,
    /// Held by whoever makes the next snapshot.
    change: Mutex<()>,
    /// Held from the wish for other servers to the change, so that of two who want it at once the later one has the later wish.
    turn: tokio::sync::Mutex<()>,
    /// Servers that were registered while the kernel runs, beside those of the configuration.
    registered: Mutex<BTreeMap<ServerId, ServerConfig>>,
    /// What brings servers up and down.
    moves: Mutex<JoinSet<()>>,
    /// The end of the last move of each id, which is told by dropping the other half.
    turns: Mutex<HashMap<ServerId, oneshot::Receiver<()>, RandomState>>,
}

/// What came of a change of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppliedConfig {
    /// Servers that are new.
    pub added: Vec<ServerId>,
    /// Servers that are connected to anew, as what is said about them is something else.
    pub changed: Vec<ServerId>,
    /// Servers that are gone.
    pub removed: Vec<ServerId>,
    /// Sections of which something else is wanted that stays as it was until the kernel is started anew.
    pub needs_restart: Vec<&'static str>,
}

/// What a fleet is to become. None of it has begun.
pub(crate) struct PreparedFleet {
    next: ServerMap,
    /// Those that are new, each with the one whose place it takes.
    beginning: Vec<(Option<Arc<Upstream>>, Arc<Upstream>)>,
    gone: ServerMap,
}

impl Fleet {
    /// A fleet without servers; those that come are made with `support`.
    pub(crate) fn new(support: Arc<ServerSupport>) -> Self {
        Self {
            support,
            servers: ArcSwap::default(),
            change: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            registered: Mutex::default(),
            moves: Mutex::default(),
            turns: Mutex::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn support(&self) -> &Arc<ServerSupport> {
        &self.support
    }

    /// Waits for the turn to make the fleet another one.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    pub(crate) fn get(&self, server: &str) -> Option<Arc<Upstream>> {
        self.servers.load().get(server).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Upstream>> {
        self.servers.load().values().cloned().collect()
    }

    /// How all of them do.
    pub(crate) fn views(&self) -> Vec<ServerView> {
        self.servers.load().values().flat_map(|server| server.views()).collect()
    }

    /// Whether a server that all agents share is being connected to for the first time.
    pub(crate) fn is_starting(&self) -> bool {
        self.servers.load().values().any(|server| server.is_starting())
    }

    /// A few ids that are written nearly like `server`.
    pub(crate) fn near(&self, server: &str) -> Vec<ServerId> {
        near::near(server, self.servers.load().keys())
    }

    /// The callbacks of all servers, on their way to clients.
    pub(crate) fn callbacks(&self) -> &Mutex<CallbackRoutes> {
        self.support.books.callbacks()
    }

    /// Whether this agent reaches the server at all.
    pub(crate) fn admits(&self, server: &str, agent: &Principal) -> bool {
        self.servers.load().get(server).is_some_and(|server| server.admits(agent))
    }

    /// The id under which the definitions are pinned that this agent's own connection lists, if it is to have one.
    pub(crate) fn holder(&self, server: &str, agent: &Principal) -> Option<ServerId> {
        let servers = self.servers.load();
        let upstream = servers.get(server).filter(|server| server.is_by_agent())?;
        Some(upstream.line(agent).holder())
    }

    /// What of a server's lists is this agent's.
    pub(crate) fn share(&self, server: &str, agent: &Principal) -> AgentLists {
        self.servers.load().get(server).map_or(AgentLists::Nothing, |server| server.share(agent))
    }

    /// A number that is another one after each change of the servers, and of what of their lists is whose.
    pub(crate) fn revision(&self) -> u64 {
        self.support.books.revision()
    }

    /// What the fleet is to become by `wanted`, if nobody else makes it something else meanwhile. Servers about which
    /// nothing has changed are left alone, unless `all` are to be connected to anew. Changes nothing yet.
    ///
    /// # Errors
    /// The configuration asks for something that there is not.
    pub(crate) fn prepare(&self, wanted: &[ServerConfig], all: bool) -> Result<PreparedFleet, StartError> {
        let mut gone = ServerMap::clone(&self.servers.load());
        let (mut next, mut beginning) = (ServerMap::new(), Vec::new());
        let registered = self.registered.lock().clone();
        let wanted = wanted.iter().filter(|config| config.enabled).chain(registered.values());
        for config in wanted {
            let id = ServerId::from(config.id.as_str());
            if next.contains_key(&id) {
                return Err(StartError::Config(format!("there are two servers with the id `{id}`")));
            }
            let before = gone.remove(&id);
            if let Some(same) = before.as_ref().filter(|before| !all && before.config() == config) {
                next.insert(id, Arc::clone(same));
                continue;
            }
            let upstream = Arc::new(Upstream::new(&self.support, config.clone())?);
            next.insert(id, Arc::clone(&upstream));
            beginning.push((before, upstream));
        }
        Ok(PreparedFleet { next, beginning, gone })
    }

    /// Makes the fleet what was prepared. Waits for none of its servers.
    pub(crate) fn install(&self, prepared: PreparedFleet) -> AppliedConfig {
        let PreparedFleet { next, beginning, gone } = prepared;
        let _change = self.change.lock();
        let mut applied =
            AppliedConfig { removed: gone.keys().cloned().collect(), ..AppliedConfig::default() };
        let mut emptied = Vec::new();
        self.support.books.unpublished(|| {
            self.set_servers(next);
            for (before, upstream) in &beginning {
                // What it was is judged by what it was, and may have been one agent's alone: whoever calls a tool waits until
                // it is known what it is now.
                if before.is_some() && self.support.tools.catalog.remove_server(upstream.id()) {
                    emptied.push(upstream.id().clone());
                }
            }
            self.support.books.shares_changed();
        });
        for (before, upstream) in beginning {
            let list = if before.is_some() { &mut applied.changed } else { &mut applied.added };
            list.push(upstream.id().clone());
            self.begin(before, upstream);
        }
        self.tell_gone(emptied);
        for gone in gone.into_values() {
            self.end(gone);
        }
        applied
    }

    /// Takes in a server that was registered, beside those of the configuration.
    ///
    /// # Errors
    /// The server cannot be as it is described.
    pub(crate) fn admit(&self, server: ServerConfig) -> Result<AppliedConfig, StartError> {
        self.registered.lock().insert(ServerId::from(server.id.as_str()), server);
        Ok(self.install(self.prepare(&self.support.config.load().servers, false)?))
    }

    /// Lets go of a server that was registered.
    ///
    /// # Errors
    /// The configuration asks for something that there is not.
    pub(crate) fn dismiss(&self, server: &ServerId) -> Result<AppliedConfig, StartError> {
        self.registered.lock().remove(server);
        Ok(self.install(self.prepare(&self.support.config.load().servers, false)?))
    }

    /// Stops all servers, each with so long to finish its calls, and forgets them.
    pub(crate) async fn shut_down(&self, reason: ShutdownReason, timeout: Duration) {
        let servers = self.take();
        let mut stopping = JoinSet::new();
        for server in servers {
            stopping.spawn(async move { server.end(reason, timeout).await });
        }
        while stopping.join_next().await.is_some() {}
        let mut moves = std::mem::take(&mut *self.moves.lock());
        let _ = tokio::time::timeout(timeout, async { while moves.join_next().await.is_some() {} }).await;
    }

    /// Drops all servers, which ends their connections and processes at once.
    pub(crate) fn abandon(&self) {
        self.moves.lock().abort_all();
        drop(self.take());
    }

    fn take(&self) -> Vec<Arc<Upstream>> {
        let _change = self.change.lock();
        let servers = self.servers.load_full();
        self.set_servers(ServerMap::new());
        servers.values().cloned().collect()
    }

    fn set_servers(&self, servers: ServerMap) {
        let current = servers.values().map(|server| (server.id().clone(), server.of_server().clone()));
        self.support.books.replace(current.collect());
        self.servers.store(Arc::new(servers));
    }

    /// Starts a server, after those of its id have let go of what both may need.
    fn begin(&self, before: Option<Arc<Upstream>>, server: Arc<Upstream>) {
        if before.is_none() && !self.is_moving(server.id()) {
            return server.start();
        }
        if let Some(before) = &before {
            before.close();
        }
        let id = server.id().clone();
        self.go_in_turn(id, async move {
            if let Some(before) = before {
                before.end(ShutdownReason::ConfigurationChange, REPLACE_TIMEOUT).await;
            }
            server.start();
        });
    }

    /// Whether a server of this id is still brought up or down.
    fn is_moving(&self, id: &ServerId) -> bool {
        self.turns.lock().get_mut(id).is_some_and(|last| last.try_recv() == Err(TryRecvError::Empty))
    }

    /// Ends a server; what it offered goes at once.
    fn end(&self, server: Arc<Upstream>) {
        let id = server.id().clone();
        let ServerSupport { books, tools, .. } = &*self.support;
        let had_something = books.unpublished(|| tools.catalog.remove_server(&id));
        books.forget_tasks(&id);
        if had_something {
            self.tell_gone(vec![id.clone()]);
        }
        let index = tools.index.clone();
        server.close();
        self.go_in_turn(id.clone(), async move {
            index.remove_server(id).await;
            server.end(ShutdownReason::ConfigurationChange, REPLACE_TIMEOUT).await;
        });
    }

    /// Has clients told that what these servers offered is not offered any more.
    fn tell_gone(&self, servers: Vec<ServerId>) {
        let told = Arc::clone(&self.support.told);
        self.go(async move {
            for line in servers.into_iter().map(ConnectionKey::shared) {
                for what in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
                    told.changed(&line, what);
                }
            }
        });
    }

    /// Does a step with a server after all earlier ones with servers of its id.
    fn go_in_turn(&self, id: ServerId, step: impl Future<Output = ()> + Send + 'static) {
        let (done, is_done) = oneshot::channel();
        let mut turns = self.turns.lock();
        turns.retain(|_, last| last.try_recv() == Err(TryRecvError::Empty));
        let before = turns.insert(id, is_done);
        drop(turns);
        self.go(async move {
            if let Some(before) = before {
                // It is never sent, but dropped.
                let _ = before.await;
            }
            step.await;
            drop::<oneshot::Sender<()>>(done);
        });
    }

    fn go(&self, step: impl Future<Output = ()> + Send + 'static) {
        let mut moves = self.moves.lock();
        // Those that are done are forgotten here.
        while moves.try_join_next().is_some() {}
        moves.spawn(step);
    }

    /// Adds a server that is none.
    #[cfg(test)]
    pub(crate) fn put(&self, id: &str, fake: crate::servers::upstream::fake_server::FakeServer) {
        let upstream = Upstream::fake(&self.support, id, fake);
        let mut servers = ServerMap::clone(&self.servers.load());
        servers.insert(upstream.id().clone(), Arc::new(upstream));
        self.set_servers(servers);
    }
}

/// How long calls have to end when their server is replaced.
const REPLACE_TIMEOUT: Duration = Duration::from_secs(10);
