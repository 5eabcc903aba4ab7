//! All servers that the kernel has to do with.

mod callbacks;
mod near;
mod owners;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use mgp_discovery::config::model::ServerConfig;
use mgp_security::access::TaskOwnersGate;
use mgp_types::Principal;
use mgp_types::mgp::{ServerId, ShutdownReason};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::task::JoinSet;

use self::callbacks::Callbacks;
use self::owners::Owners;
use crate::StartError;
use crate::parts::Parts;
use crate::upstream::{Line, OfServer, ServerView, Share, Upstream, What};

type Servers = BTreeMap<ServerId, Arc<Upstream>>;

/// The servers, as a snapshot: readers never wait.
#[derive(Default)]
pub(crate) struct Fleet {
    servers: ArcSwap<Servers>,
    /// Held by whoever makes the next snapshot.
    change: Mutex<()>,
    /// Grows with each change of the servers, and of what of their lists is whose.
    revision: AtomicU64,
    /// Held by whoever changes what servers offer, so that nothing is offered by one that is gone.
    publishing: Mutex<()>,
    callbacks: Mutex<Callbacks>,
    /// Servers that were registered while the kernel runs, beside those of the configuration.
    registered: Mutex<BTreeMap<ServerId, ServerConfig>>,
    task_owners: Owners,
    /// What brings servers up and down.
    moves: Mutex<JoinSet<()>>,
    /// The end of the last move of each id, which is told by dropping the other half.
    turns: Mutex<HashMap<ServerId, oneshot::Receiver<()>, RandomState>>,
}

/// What came of a change of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
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
pub(crate) struct Prepared {
    next: Servers,
    /// Those that are new, each with the one whose place it takes.
    beginning: Vec<(Option<Arc<Upstream>>, Arc<Upstream>)>,
    gone: Servers,
}

impl Fleet {
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
    pub(crate) fn callbacks(&self) -> &Mutex<Callbacks> {
        &self.callbacks
    }

    /// Whose the tasks are that were begun on `line`, however often that was connected anew, with the server at `place`.
    pub(crate) fn task_owners(&self, line: &Line, place: &str) -> TaskOwnersGate {
        self.task_owners.of(line, place)
    }

    /// Keeps them from the first connection on.
    pub(crate) fn keep_task_owners(&self, line: &Line, place: &str, tasks: &TaskOwnersGate) {
        self.task_owners.keep(line, place, tasks);
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
    pub(crate) fn share(&self, server: &str, agent: &Principal) -> Share {
        self.servers.load().get(server).map_or(Share::Nothing, |server| server.share(agent))
    }

    /// A number that is another one after each change of the servers, and of what of their lists is whose.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Changes what `server` offers, if it is still the one `of_server` belongs to.
    pub(crate) fn publish<T>(
        &self,
        server: &ServerId,
        of_server: &OfServer,
        change: impl FnOnce() -> T,
    ) -> Option<T> {
        let _turn = self.publishing.lock();
        if !self.servers.load().get(server).is_some_and(|upstream| upstream.is_of(of_server)) {
            return None;
        }
        Some(change())
    }

    /// What of a server's lists is whose has changed.
    pub(crate) fn shares_changed(&self) {
        self.revision.fetch_add(1, Ordering::AcqRel);
    }

    /// What the fleet is to become by `wanted`, if nobody else makes it something else meanwhile. Servers about which
    /// nothing has changed are left alone, unless `all` are to be connected to anew. Changes nothing yet.
    ///
    /// # Errors
    /// The configuration asks for something that there is not.
    pub(crate) fn prepare(
        &self,
        parts: &Arc<Parts>,
        wanted: &[ServerConfig],
        all: bool,
    ) -> Result<Prepared, StartError> {
        let mut gone = Servers::clone(&self.servers.load());
        let (mut next, mut beginning) = (Servers::new(), Vec::new());
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
            let upstream = Arc::new(Upstream::new(parts, config.clone())?);
            next.insert(id, Arc::clone(&upstream));
            beginning.push((before, upstream));
        }
        Ok(Prepared { next, beginning, gone })
    }

    /// Makes the fleet what was prepared. Waits for none of its servers.
    pub(crate) fn install(&self, parts: &Arc<Parts>, prepared: Prepared) -> Applied {
        let Prepared { next, beginning, gone } = prepared;
        let _change = self.change.lock();
        let mut applied = Applied { removed: gone.keys().cloned().collect(), ..Applied::default() };
        let mut emptied = Vec::new();
        let publishing = self.publishing.lock();
        self.servers.store(Arc::new(next));
        for (before, upstream) in &beginning {
            // What it was is judged by what it was, and may have been one agent's alone: whoever calls a tool waits until it
            // is known what it is now.
            if before.is_some() && parts.catalog.remove_server(upstream.id()) {
                emptied.push(upstream.id().clone());
            }
        }
        self.shares_changed();
        drop(publishing);
        for (before, upstream) in beginning {
            let list = if before.is_some() { &mut applied.changed } else { &mut applied.added };
            list.push(upstream.id().clone());
            self.begin(before, upstream);
        }
        self.tell_gone(parts, emptied);
        for gone in gone.into_values() {
            self.end(parts, gone);
        }
        applied
    }

    /// Takes in a server that was registered, beside those of the configuration.
    ///
    /// # Errors
    /// The server cannot be as it is described.
    pub(crate) fn admit(&self, parts: &Arc<Parts>, server: ServerConfig) -> Result<Applied, StartError> {
        self.registered.lock().insert(ServerId::from(server.id.as_str()), server);
        Ok(self.install(parts, self.prepare(parts, &parts.config.load().servers, false)?))
    }

    /// Lets go of a server that was registered.
    ///
    /// # Errors
    /// The configuration asks for something that there is not.
    pub(crate) fn dismiss(&self, parts: &Arc<Parts>, server: &ServerId) -> Result<Applied, StartError> {
        self.registered.lock().remove(server);
        Ok(self.install(parts, self.prepare(parts, &parts.config.load().servers, false)?))
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
        let servers = self.servers.swap(Arc::default());
        servers.values().cloned().collect()
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
    fn end(&self, parts: &Arc<Parts>, server: Arc<Upstream>) {
        let id = server.id().clone();
        let publishing = self.publishing.lock();
        let had_something = parts.catalog.remove_server(&id);
        drop(publishing);
        self.task_owners.end_of_server(&id);
        if had_something {
            self.tell_gone(parts, vec![id.clone()]);
        }
        let index = parts.index.clone();
        server.close();
        self.go_in_turn(id.clone(), async move {
            index.remove_server(id).await;
            server.end(ShutdownReason::ConfigurationChange, REPLACE_TIMEOUT).await;
        });
    }

    /// Has clients told that what these servers offered is not offered any more.
    fn tell_gone(&self, parts: &Arc<Parts>, servers: Vec<ServerId>) {
        let parts = Arc::clone(parts);
        self.go(async move {
            for line in servers.into_iter().map(Line::shared) {
                for what in [What::Tools, What::Prompts, What::Resources] {
                    parts.changes.changed(&parts.fleet, &line, what);
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
    pub(crate) fn put(&self, upstream: Upstream) {
        let mut servers = Servers::clone(&self.servers.load());
        servers.insert(upstream.id().clone(), Arc::new(upstream));
        self.servers.store(Arc::new(servers));
    }
}

/// How long calls have to end when their server is replaced.
const REPLACE_TIMEOUT: Duration = Duration::from_secs(10);
