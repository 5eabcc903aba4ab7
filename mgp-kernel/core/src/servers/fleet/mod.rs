//! The fleet: all servers of the kernel, and their changes.

mod applied;
mod tables;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::config::nearest;
use mgp_types::mgp::{ServerId, ShutdownReason};
use mgp_types::{ClientSession, ClientSessionId, Error, Principal};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::task::JoinSet;

pub use self::applied::AppliedConfig;
use self::tables::CallbackRoutes;
pub(crate) use self::tables::FleetTables;
use crate::StartError;
use crate::servers::events::ToolsChange;
use crate::servers::task_table::TaskTable;
use crate::servers::upstream::{AgentLists, ConnectionKey, ListKind, ServerSupport, ServerView, Upstream};

type ServerMap = BTreeMap<ServerId, Arc<Upstream>>;

/// The fleet of servers, kept as a snapshot: readers never wait.
pub(crate) struct Fleet {
    support: Arc<ServerSupport>,
    servers: ArcSwap<ServerMap>,
    /// True if servers wait until somebody needs them.
    is_holding: AtomicBool,
    /// A lock that is held while the next snapshot is made.
    change: Mutex<()>,
    /// A lock that is held from the request for other servers to the change, so that of two concurrent requests the
    /// later one takes effect last.
    pub(crate) turn: tokio::sync::Mutex<()>,
    /// The servers that were registered while the kernel runs, beside those of the configuration.
    registered: Mutex<BTreeMap<ServerId, ServerConfig>>,
    /// The tasks that bring servers up and down.
    moves: Mutex<JoinSet<()>>,
    /// The end of the last move of each id, which is signalled by dropping the other half.
    turns: Mutex<HashMap<ServerId, oneshot::Receiver<()>, RandomState>>,
    /// The changes of the configuration that took effect since an operator last reloaded it.
    pub(crate) unreported: Mutex<AppliedConfig>,
}

/// The next state of a fleet. None of it has begun.
pub(crate) struct PreparedFleet {
    next: ServerMap,
    /// The new servers, each with the one that it replaces.
    beginning: Vec<(Option<Arc<Upstream>>, Arc<Upstream>)>,
    gone: ServerMap,
}

impl Fleet {
    /// Returns a fleet without servers; those that are added are made with `support`.
    pub(crate) fn new(support: Arc<ServerSupport>) -> Self {
        Self {
            support,
            servers: ArcSwap::default(),
            is_holding: AtomicBool::new(false),
            change: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            registered: Mutex::default(),
            moves: Mutex::default(),
            turns: Mutex::default(),
            unreported: Mutex::default(),
        }
    }

    pub(crate) fn support(&self) -> &Arc<ServerSupport> {
        &self.support
    }

    /// Has servers wait until somebody needs them, in place of their start.
    pub(crate) fn hold(&self) {
        self.is_holding.store(true, Ordering::Release);
    }

    /// Returns whether servers wait until somebody needs them, so that no agent's client has made a request yet.
    pub(crate) fn is_holding(&self) -> bool {
        self.is_holding.load(Ordering::Acquire)
    }

    /// Starts all servers that wait, and those to come at once.
    pub(crate) fn release(&self) {
        if self.is_holding() && self.is_holding.swap(false, Ordering::AcqRel) {
            self.all().iter().for_each(|server| server.release());
        }
    }

    /// Returns the session of a client that begins now.
    pub(crate) fn client_session(self: &Arc<Self>) -> Arc<ClientSession> {
        let fleet = Arc::downgrade(self);
        ClientSession::new(move |client| {
            if let Some(fleet) = fleet.upgrade() {
                fleet.support.tables.set_folder(client, None);
                fleet.servers.load().values().for_each(|server| server.client_ended(client));
            }
        })
    }

    /// Has the instances of servers that begin for this client run in `folder`, unless their entry names another one.
    pub(crate) fn set_folder(&self, client: &ClientSession, folder: &Path) {
        let own = std::env::current_dir().and_then(|own| own.canonicalize());
        if own.is_ok_and(|own| own != folder) {
            self.support.tables.set_folder(client.id(), Some(folder));
        }
    }

    pub(crate) fn get(&self, server: &str) -> Option<Arc<Upstream>> {
        self.servers.load().get(server).cloned()
    }

    /// Returns the server with this id, to which a request goes.
    ///
    /// # Errors
    /// Fails if the server is gone.
    pub(crate) fn upstream(&self, server: &ServerId) -> Result<Arc<Upstream>, Error> {
        self.get(server.as_str()).ok_or_else(|| Error::disconnected(format!("the server {server} is gone")))
    }

    pub(crate) fn all(&self) -> Vec<Arc<Upstream>> {
        self.servers.load().values().cloned().collect()
    }

    /// Returns the views of all servers.
    pub(crate) fn views(&self) -> Vec<ServerView> {
        self.servers.load().values().flat_map(|server| server.views()).collect()
    }

    /// Returns whether a server that all agents share is being connected to for the first time.
    pub(crate) fn is_starting(&self) -> bool {
        self.servers.load().values().any(|server| server.is_starting())
    }

    /// Returns a few ids that are written nearly like `server`.
    pub(crate) fn near(&self, server: &str) -> Vec<ServerId> {
        near(server, self.servers.load().keys())
    }

    /// Returns the routes of the callbacks of all servers.
    pub(crate) fn callbacks(&self) -> &Mutex<CallbackRoutes> {
        &self.support.tables.callbacks
    }

    /// Returns the tasks of all servers.
    pub(crate) fn tasks(&self) -> &TaskTable {
        &self.support.tables.tasks
    }

    /// Returns the id under which the definitions of this agent's own connection are pinned, if it is to have one.
    pub(crate) fn holder(&self, server: &str, agent: &Principal) -> Option<ServerId> {
        let servers = self.servers.load();
        let upstream = servers.get(server).filter(|server| server.is_by_agent())?;
        Some(upstream.connection_key(agent).holder())
    }

    /// Returns whether messages on the connection are for this agent: whether it uses the connection.
    pub(crate) fn is_connection_of(&self, connection: &ConnectionKey, agent: &Principal) -> bool {
        let is_its = |server: &Arc<Upstream>| server.connection_key(agent) == *connection;
        connection.is_for(agent)
            && (connection.is_own() || self.servers.load().get(&connection.server).is_none_or(is_its))
    }

    /// Returns the client session of this caller, if it has lists of its own at some server.
    pub(crate) fn lists_for(&self, caller: &Principal) -> Option<ClientSessionId> {
        let own = || self.servers.load().values().any(|server| server.lists_for(caller));
        caller.client().filter(|_| own())
    }

    /// Returns the part of a server's lists that this agent has.
    pub(crate) fn share(&self, server: &str, agent: &Principal) -> AgentLists {
        self.servers.load().get(server).map_or(AgentLists::Nothing, |server| server.share(agent))
    }

    /// Returns a number that differs after each change of the servers, and of which agents have which of their lists.
    pub(crate) fn revision(&self) -> u64 {
        self.support.tables.revision()
    }

    /// Returns the fleet that follows from `wanted`, if nobody else changes it meanwhile. Servers about which nothing
    /// has changed are left alone, unless `all` are to be connected to anew. Changes nothing yet.
    ///
    /// # Errors
    /// Fails if the configuration asks for something that there is not.
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
            let upstream = Upstream::new(&self.support, config.clone())?;
            next.insert(id, Arc::clone(&upstream));
            beginning.push((before, upstream));
        }
        Ok(PreparedFleet { next, beginning, gone })
    }

    /// Puts a prepared fleet into effect. Waits for none of its servers.
    pub(crate) fn install(&self, prepared: PreparedFleet) -> AppliedConfig {
        let PreparedFleet { next, beginning, gone } = prepared;
        let _change = self.change.lock();
        let mut applied =
            AppliedConfig { removed: gone.keys().cloned().collect(), ..AppliedConfig::default() };
        let mut emptied = Vec::new();
        self.support.tables.unpublished(|| {
            self.set_servers(next);
            for (before, upstream) in &beginning {
                // The old tools are judged by the old configuration, and may have been one agent's alone: callers wait
                // until the new tools are known.
                let tools = self.tools_of(upstream.id());
                if before.is_some() && self.support.tools.catalog.remove_server(upstream.id()) {
                    emptied.push((upstream.id().clone(), tools));
                }
            }
            self.support.tables.shares_changed();
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

    /// Adds a server that was registered, beside those of the configuration.
    ///
    /// # Errors
    /// Fails if the server cannot be as it is described.
    pub(crate) fn admit(&self, server: ServerConfig) -> Result<AppliedConfig, StartError> {
        self.registered.lock().insert(ServerId::from(server.id.as_str()), server);
        Ok(self.install(self.prepare(&self.support.config.load().servers, false)?))
    }

    /// Removes a server that was registered.
    ///
    /// # Errors
    /// Fails if the configuration asks for something that there is not.
    pub(crate) fn dismiss(&self, server: &ServerId) -> Result<AppliedConfig, StartError> {
        self.registered.lock().remove(server);
        Ok(self.install(self.prepare(&self.support.config.load().servers, false)?))
    }

    /// Stops all servers and forgets them. Each has `timeout` to finish its calls.
    pub(crate) async fn shut_down(&self, reason: ShutdownReason, timeout: Duration) {
        let mut stopping = JoinSet::new();
        for server in self.take() {
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
        let current = servers.values().map(|server| (server.id().clone(), Arc::clone(&server.of_server)));
        self.support.tables.replace(current.collect());
        self.servers.store(Arc::new(servers));
    }

    /// Starts a server, after the servers that had its id have released what both may need.
    fn begin(&self, before: Option<Arc<Upstream>>, server: Arc<Upstream>) {
        let is_held = before.as_ref().map_or_else(|| self.is_holding(), |before| before.is_held());
        if is_held {
            server.hold();
        }
        let start = move |server: &Upstream| {
            if !is_held {
                server.start();
            }
        };
        if before.is_none() && !self.is_moving(server.id()) {
            return start(&server);
        }
        if let Some(before) = &before {
            before.close();
        }
        let id = server.id().clone();
        self.go_in_turn(id, async move {
            if let Some(before) = before {
                before.end(ShutdownReason::ConfigurationChange, REPLACE_TIMEOUT).await;
            }
            start(&server);
        });
    }

    /// Returns whether a server of this id is still being brought up or down.
    fn is_moving(&self, id: &ServerId) -> bool {
        self.turns.lock().get_mut(id).is_some_and(|last| last.try_recv() == Err(TryRecvError::Empty))
    }

    /// Ends a server; its offers are withdrawn at once.
    fn end(&self, server: Arc<Upstream>) {
        let id = server.id().clone();
        let ServerSupport { tables, tools, .. } = &*self.support;
        let listed = self.tools_of(&id);
        let had_something = tables.unpublished(|| tools.catalog.remove_server(&id));
        tables.tasks.end_of_server(&id);
        if had_something {
            self.tell_gone(vec![(id.clone(), listed)]);
        }
        let index = tools.index.clone();
        server.close();
        self.go_in_turn(id.clone(), async move {
            index.remove_server(id).await;
            server.end(ShutdownReason::ConfigurationChange, REPLACE_TIMEOUT).await;
        });
    }

    /// Returns the number of the server's tools in the catalog.
    fn tools_of(&self, server: &ServerId) -> usize {
        self.support.tools.catalog.read().of_server(server.as_str()).len()
    }

    /// Notifies clients that these servers' offers are gone, with so many tools among them.
    fn tell_gone(&self, servers: Vec<(ServerId, usize)>) {
        let support = Arc::clone(&self.support);
        self.go(async move {
            let events = &support.events;
            for (server, removed) in servers {
                let connection = ConnectionKey::shared(server.clone());
                events.tell_tools(
                    &connection,
                    &ToolsChange { server_id: server, added: 0, removed, changed: 0 },
                );
                support.tell(|changes| {
                    for what in ListKind::ALL {
                        changes.changed(&connection, what);
                    }
                });
            }
        });
    }

    /// Runs a step with a server after all earlier steps with servers of its id.
    fn go_in_turn(&self, id: ServerId, step: impl Future<Output = ()> + Send + 'static) {
        let (done, is_done) = oneshot::channel();
        let mut turns = self.turns.lock();
        turns.retain(|_, last| last.try_recv() == Err(TryRecvError::Empty));
        let before = turns.insert(id, is_done);
        drop(turns);
        self.go(async move {
            if let Some(before) = before {
                // Nothing is ever sent; the sender is dropped.
                let _ = before.await;
            }
            step.await;
            drop::<oneshot::Sender<()>>(done);
        });
    }

    fn go(&self, step: impl Future<Output = ()> + Send + 'static) {
        let mut moves = self.moves.lock();
        // Moves that are done are forgotten here.
        while moves.try_join_next().is_some() {}
        moves.spawn(step);
    }

    /// Adds a server that a test has connected.
    #[cfg(test)]
    pub(crate) fn put(&self, upstream: Arc<Upstream>) {
        let mut servers = ServerMap::clone(&self.servers.load());
        servers.insert(upstream.id().clone(), upstream);
        self.set_servers(servers);
    }
}

#[cfg(feature = "cluster")]
impl crate::replicas::LeasedServers for Fleet {
    fn ids(&self) -> Vec<String> {
        let runs_once = |server: &&Arc<Upstream>| server.config().runs_once();
        self.all().iter().filter(runs_once).map(|server| server.id().to_string()).collect()
    }

    fn follow_lease(&self, server: &str) {
        if let Some(server) = self.get(server) {
            server.follow_lease();
        }
    }
}

/// Returns the ids that hold `wanted`; if there are none, the id that was most likely meant.
fn near<'a>(wanted: &str, known: impl Iterator<Item = &'a ServerId> + Clone) -> Vec<ServerId> {
    let written = wanted.to_lowercase();
    let holds = |id: &&ServerId| !written.is_empty() && id.as_str().to_lowercase().contains(&written);
    let mut near: Vec<_> = known.clone().filter(holds).take(MAX_NEAR).cloned().collect();
    if near.is_empty() {
        near.extend(nearest(wanted, known.map(ServerId::as_str)).map(ServerId::from));
    }
    near
}

const MAX_NEAR: usize = 3;
/// The time that calls have to end when their server is replaced.
const REPLACE_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_follow_one_another_are_told_as_one() {
        let ids = |ids: &[&str]| ids.iter().map(|id| ServerId::from(*id)).collect::<Vec<_>>();
        let change = |added: &[&str], changed: &[&str], removed: &[&str]| AppliedConfig {
            added: ids(added),
            changed: ids(changed),
            removed: ids(removed),
            ..AppliedConfig::default()
        };
        let first = change(&["new", "brief"], &["old"], &["back", "gone"]);
        let both = first.followed_by(change(&["back"], &["new", "old", "other"], &["brief"]));
        assert_eq!(both, change(&["new"], &["old", "back", "other"], &["gone"]));
    }

    #[test]
    fn ids_with_a_slip_are_found_and_others_are_not() {
        let known: Vec<ServerId> = ["files", "github", "tool.terminal"].map(Into::into).into();
        let near = |wanted| near(wanted, known.iter()).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(near("flies"), ["files"]);
        assert_eq!(near("GitHub"), ["github"]);
        assert_eq!(near("terminal"), ["tool.terminal"]);
        assert!(near("weather").is_empty() && near("").is_empty());
    }
}
