//! The connections of a server to which each agent, or each client, has its own.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_discovery::catalog::Catalog;
use mgp_discovery::config::model::{ServerConfig, Sharing};
use mgp_security::access::AccessGate;
use mgp_types::mgp::{ServerState, ShutdownReason};
use mgp_types::{
    ClientSessionId, Error, Gate, Method, Object, Principal, PrincipalRole, Request, RequestKind, Session,
    agent_family, code, gates,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::connection_key::{ClientKey, ConnectionKey};
use super::fallback_tool::FallbackToolGate;
use super::first_start::FirstStart;
use super::offered_lists::AgentLists;
use super::own_connection_service::NoConnection;
use super::server_connection::ServerConnection;
use super::server_shared::ServerShared;
use super::support::ServerSupport;
use crate::StartError;
use crate::call::erased::ErasedService;
use crate::call::meter::MeterGate;

/// A server to which agents have connections of their own, each with the credentials of that agent and no other's; or
/// clients, each with a session or a program of its own.
///
/// A connection begins when its owner first uses the server, and ends when it was not used for some time, or its client
/// session is over. Where agents are configured nobody else has one. Where clients have their own, the first connection
/// is there before any client is, and lists for all of them: the first client takes it over, so that one client alone
/// needs one program.
pub(super) struct OwnConnections {
    support: Arc<ServerSupport>,
    /// A reference for the connections, which report the state of all of them.
    own: Weak<Self>,
    config: Arc<ServerConfig>,
    of_server: ServerShared,
    connections: Mutex<ConnectionTable>,
    /// The service for calls for which no connection begins; it refuses them as a connection would.
    refusing: ErasedService,
    runtime: Handle,
    /// The ends of connections that go on, and the sweeper.
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct ConnectionTable {
    /// The connection that lists for all, where clients have their own.
    first: Option<OwnConnection>,
    by_key: HashMap<ConnectionKey, OwnConnection, RandomState>,
    begin: ConnectPolicy,
}

/// The policy of whether connections begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ConnectPolicy {
    #[default]
    Yes,
    /// No connection begins until the server is started again.
    NotNow,
    /// No connection begins any more: the server is being removed.
    Never,
}

struct OwnConnection {
    instance: Arc<ServerConnection>,
    /// The client that uses it, where clients have their own.
    client: Option<ClientKey>,
    /// True if the session of its client is over.
    is_left: bool,
    used_at: Instant,
}

impl OwnConnections {
    /// Returns the connections of each agent, or of each client.
    ///
    /// # Errors
    /// Fails if the configuration asks for something that there is not.
    pub(super) fn new(
        support: &Arc<ServerSupport>,
        config: &Arc<ServerConfig>,
        of_server: &ServerShared,
    ) -> Result<Arc<Self>, StartError> {
        let connections = Arc::new_cyclic(|own| {
            let mut tasks = JoinSet::new();
            tasks.spawn(sweep(Weak::clone(own)));
            let refusing = gates![
                FallbackToolGate::new(config),
                MeterGate(of_server.meter.clone()),
                AccessGate::new(support.policies.access.clone()).for_server(config.id.as_str().into()),
            ];
            Self {
                support: Arc::clone(support),
                own: Weak::clone(own),
                config: Arc::clone(config),
                of_server: of_server.clone(),
                connections: Mutex::default(),
                refusing: ErasedService::new(refusing.layer(NoConnection)),
                runtime: Handle::current(),
                tasks: Mutex::new(tasks),
            }
        });
        if lists_for_all(config) {
            let first = connections.new_first(Arc::default())?;
            connections.connections.lock().first = Some(first);
        }
        Ok(connections)
    }

    /// Returns whether each agent has its own connection, with lists of its own.
    pub(super) fn is_by_agent(&self) -> bool {
        !lists_for_all(&self.config)
    }

    pub(super) fn refusing(&self) -> ErasedService {
        self.refusing.clone()
    }

    /// Returns whether this agent may have a connection.
    pub(super) fn admits(&self, agent: &Principal) -> bool {
        !self.config.only_for_its_agents()
            || agent.agent_name().is_some_and(|name| self.configured(name).is_some())
    }

    /// Returns the name under which the server has credentials for this agent: its own, or that of its family.
    fn configured<'a>(&self, agent: &'a str) -> Option<&'a str> {
        let names = [Some(agent), agent_family(agent)];
        names.into_iter().flatten().find(|name| self.config.agents.contains_key(*name))
    }

    /// Returns whether this agent may have a connection, and may use anything on it.
    pub(super) fn reaches(&self, agent: &Principal) -> bool {
        self.admits(agent) && self.support.policies.access.reaches(&agent.access_id(), &self.config.id)
    }

    /// Returns the part of the server's lists that this agent has.
    pub(super) fn share(&self, agent: &Principal) -> AgentLists {
        let offered = &self.of_server.offered;
        if self.is_by_agent() {
            if !self.reaches(agent) {
                return AgentLists::Nothing;
            }
            return offered.of(&self.line(agent)).map_or(AgentLists::Coming, AgentLists::Own);
        }
        // Until somebody has a second connection, everybody has the lists of the first.
        if offered.count() <= 1 {
            return AgentLists::Everything;
        }
        let own = offered.of(&self.line(agent)).or_else(|| offered.of(&self.shared_line()));
        own.map_or(AgentLists::Everything, AgentLists::Own)
    }

    /// Returns whether this client has lists of its own.
    pub(super) fn lists_for(&self, client: &Principal) -> bool {
        let offered = &self.of_server.offered;
        !self.is_by_agent() && offered.count() > 1 && offered.of(&self.line(client)).is_some()
    }

    /// Returns the key of the connection that this agent uses, or would use.
    pub(super) fn line(&self, agent: &Principal) -> ConnectionKey {
        if self.is_by_agent() {
            return ConnectionKey::of_agent(self.config.id.as_str().into(), &self.owner(agent));
        }
        self.line_of(&self.connections.lock(), agent)
    }

    fn line_of(&self, connections: &ConnectionTable, caller: &Principal) -> ConnectionKey {
        let client = ClientKey::of(caller);
        match &connections.first {
            Some(first)
                if !self.shares(first, caller)
                    && (first.client.as_ref().is_some_and(|own| *own != client)
                        || self.runs_elsewhere(&client)) =>
            {
                ConnectionKey::of_client(self.config.id.as_str().into(), client)
            }
            _ => self.shared_line(),
        }
    }

    /// Returns whether the program of this client runs in another folder than the first one, that in which it works.
    fn runs_elsewhere(&self, client: &ClientKey) -> bool {
        let follows = self.config.command.is_some() && self.config.cwd.is_none();
        follows && self.support.books.folder(client.session).is_some()
    }

    /// Returns whether this caller shares the first connection with whoever else uses it: an operator does, and everybody
    /// at a server of which it is known that its connections hold nothing of one client.
    fn shares(&self, first: &OwnConnection, caller: &Principal) -> bool {
        caller.role() == PrincipalRole::Operator || self.is_for_many(first)
    }

    fn is_for_many(&self, first: &OwnConnection) -> bool {
        let holds_nothing = |session: &Session| {
            session.mgp.is_some() || (self.config.command.is_none() && session.describes_each_request())
        };
        self.config.sharing.is_none() && first.instance.session().as_deref().is_some_and(holds_nothing)
    }

    fn shared_line(&self) -> ConnectionKey {
        ConnectionKey::shared(self.config.id.as_str().into())
    }

    /// Returns the agent whose connection this agent uses: all clients of the user use one, unless the configuration has
    /// credentials for one of them.
    fn owner(&self, agent: &Principal) -> Principal {
        match agent_family(agent.as_str()) {
            Some(family) if self.configured(agent.as_str()) != Some(agent.as_str()) => {
                Principal::of(agent.kind(), family)
            }
            _ => agent.clone(),
        }
    }

    /// Returns the connection of this agent or client, which begins if there is none.
    ///
    /// # Errors
    /// 1001 if the agent may have no connection. Fails as well if there are too many.
    pub(super) fn connection(&self, agent: &Principal) -> Result<Arc<ServerConnection>, Error> {
        if !self.admits(agent) {
            return Err(Error::new(
                code::ACCESS_DENIED,
                format!(
                    "the server `{}` is for agents with credentials of their own; `servers.agents` names them",
                    self.config.id
                ),
            ));
        }
        let mut connections = self.connections.lock();
        let line = match connections.first {
            Some(_) => self.line_of(&connections, agent),
            None => ConnectionKey::of_agent(self.config.id.as_str().into(), &self.owner(agent)),
        };
        let ConnectionTable { first, by_key, begin } = &mut *connections;
        if let Some(first) = first.as_mut().filter(|_| !line.is_own()) {
            let client = ClientKey::of(agent);
            if !self.shares(first, agent) && first.client.as_ref() != Some(&client) {
                first.client = Some(client);
                self.tell_roots(&first.instance);
            }
            return Ok(first.used());
        }
        if let Some(connection) = by_key.get_mut(&line) {
            return Ok(connection.used());
        }
        match begin {
            ConnectPolicy::Yes => {}
            ConnectPolicy::NotNow => return Err(Error::disconnected("the server was stopped")),
            ConnectPolicy::Never => return Err(Error::disconnected("the server is being removed")),
        }
        if by_key.len() + usize::from(first.is_some()) >= self.max_connections() {
            if let Some(first) = self.make_room(first, by_key, agent)? {
                return Ok(first);
            }
        }
        let lists = Arc::<Catalog>::default();
        if let Some(first) = first {
            // The client has had the lists of the first connection until now.
            let listed = first.instance.shared.lists.snapshot();
            let same = lists.put_shares(&line.server, &[listed]);
            debug_assert!(same.is_ok(), "the server has these lists already");
            self.of_server.offered.put(&line, &lists);
            self.support.books.shares_changed();
        }
        let mut connection = self.begin(line.clone(), lists).map_err(|error| {
            tracing::error!(server = self.config.id, %error, "a connection cannot begin");
            Error::internal("the server is configured in a way that leads nowhere")
        })?;
        connection.instance.supervised.start();
        let instance = connection.used();
        by_key.insert(line, connection);
        Ok(instance)
    }

    /// Ends the connection that was unused for longest, so that there is room for one of this caller. Returns the first
    /// connection, made anew, if the caller has that from now on.
    ///
    /// # Errors
    /// 3001 if all connections are in use.
    fn make_room(
        &self,
        first: &mut Option<OwnConnection>,
        by_key: &mut HashMap<ConnectionKey, OwnConnection, RandomState>,
        caller: &Principal,
    ) -> Result<Option<Arc<ServerConnection>>, Error> {
        let Some(first) = first else {
            let message =
                "too many agents have connections to this server; try again when some of them are done";
            return Err(Error::new(code::RESOURCE_EXHAUSTED, message));
        };
        let unused = by_key.values().chain([&*first]).filter(|connection| !self.is_in_use(connection));
        let Some(longest) = unused.min_by_key(|connection| (!connection.is_left, connection.used_at)) else {
            return Err(Error::new(
                code::RESOURCE_EXHAUSTED,
                format!(
                    "all {} instances of the server `{id}` are in use, each by another client; \
                     `max_instances` in the entry of `{id}` under `servers` allows more, and `sharing = \"shared\"` has \
                     all clients use one",
                    self.max_connections(),
                    id = self.config.id
                ),
            ));
        };
        let line = longest.instance.shared.line.clone();
        tracing::info!(server = %line, client = ?longest.client, "an instance ends: another client needs its place");
        if let Some(ended) = by_key.remove(&line) {
            self.end(ended.instance, ShutdownReason::IdleTimeout);
            return Ok(None);
        }
        self.renew(first);
        first.client = Some(ClientKey::of(caller));
        Ok(Some(first.used()))
    }

    fn max_connections(&self) -> usize {
        let usual =
            if self.config.command.is_some() && !self.is_by_agent() { MAX_PROGRAMS } else { MAX_CONNECTIONS };
        self.config.max_instances.and_then(|most| usize::try_from(most).ok()).unwrap_or(usual)
    }

    /// Returns the connection that a request of `caller` goes to.
    pub(super) fn route(&self, caller: &Principal, request: &Request) -> Result<ConnectionRoute, Error> {
        {
            let connections = self.connections.lock();
            if let Some(first) = &connections.first {
                let mut all = connections.by_key.values().chain([first]);
                let has_task = |connection: &&OwnConnection| {
                    connection.instance.shared.back.get().is_some_and(|back| back.tasks.has_task_of(request))
                };
                // A task outlives the session that began it.
                if request.method.as_str().starts_with("tasks/")
                    && let Some(found) = all.find(has_task)
                {
                    return Ok(ConnectionRoute::To(Arc::clone(&found.instance)));
                }
                let line = self.line_of(&connections, caller);
                let own = connections.by_key.get(&line);
                if !is_use(request) {
                    return Ok(ConnectionRoute::To(Arc::clone(&own.unwrap_or(first).instance)));
                }
                // Only a server that has connected says whether clients can share it.
                let start = &first.instance.shared.start;
                if line.is_own() && own.is_none() && self.config.sharing.is_none() && !start.is_over() {
                    return Ok(ConnectionRoute::After(start.clone()));
                }
            }
        }
        self.connection(caller).map(ConnectionRoute::To)
    }

    /// Returns the start of the connection that this agent uses; a connection of the agent's own begins, and none of a
    /// client's.
    pub(super) fn start_for(&self, agent: &Principal) -> Option<FirstStart> {
        if let Some(first) = &self.connections.lock().first {
            return Some(first.instance.shared.start.clone());
        }
        let begun = self.reaches(agent).then(|| self.connection(agent))?;
        let begun = begun.inspect_err(|error| {
            tracing::debug!(server = self.config.id, %error, "an agent has no connection");
        });
        begun.ok().map(|instance| instance.shared.start.clone())
    }

    /// Returns the connection with this key, if it has begun.
    pub(super) fn on(&self, line: &ConnectionKey) -> Option<Arc<ServerConnection>> {
        let connections = self.connections.lock();
        let first = connections.first.as_ref().filter(|_| !line.is_own());
        first.or_else(|| connections.by_key.get(line)).map(|connection| Arc::clone(&connection.instance))
    }

    /// Returns the first connection, where clients have their own.
    pub(super) fn first(&self) -> Option<Arc<ServerConnection>> {
        self.connections.lock().first.as_ref().map(|first| Arc::clone(&first.instance))
    }

    /// Returns all connections, the first one first.
    pub(super) fn all(&self) -> Vec<Arc<ServerConnection>> {
        let connections = self.connections.lock();
        let all = connections.first.iter().chain(connections.by_key.values());
        all.map(|connection| Arc::clone(&connection.instance)).collect()
    }

    /// Returns the client that uses a connection, where clients have their own.
    pub(super) fn client_on(&self, line: &ConnectionKey) -> Option<ClientKey> {
        let connections = self.connections.lock();
        let first = connections.first.as_ref().filter(|_| !line.is_own());
        first.or_else(|| connections.by_key.get(line))?.client.clone()
    }

    /// Ends the connections of a client session that is over. A connection on which something goes on ends after that.
    pub(super) fn client_ended(&self, client: ClientSessionId) {
        let mut connections = self.connections.lock();
        let ConnectionTable { first, by_key, .. } = &mut *connections;
        let all = by_key.values_mut().chain(first);
        for left in all.filter(|own| own.client.as_ref().is_some_and(|own| own.session == Some(client))) {
            left.is_left = true;
        }
        let ended = self.take_unused(&mut connections, |connection| connection.is_left);
        drop(connections);
        for instance in ended {
            self.end(instance, ShutdownReason::IdleTimeout);
        }
    }

    /// Lets connections begin again.
    pub(super) fn open(&self) {
        let mut connections = self.connections.lock();
        if connections.begin == ConnectPolicy::NotNow {
            connections.begin = ConnectPolicy::Yes;
        }
    }

    /// Lets connections begin, the first one at once.
    pub(super) fn start(&self) {
        self.open();
        if let Some(first) = self.first() {
            first.supervised.start();
        }
    }

    /// Lets no connection begin any more.
    pub(super) fn close(&self) {
        self.connections.lock().begin = ConnectPolicy::Never;
    }

    pub(super) async fn stop(&self, reason: ShutdownReason, timeout: Duration) {
        let (connections, first) = {
            let mut connections = self.connections.lock();
            if connections.begin == ConnectPolicy::Yes {
                connections.begin = ConnectPolicy::NotNow;
            }
            let first = connections.first.as_mut().map(|first| {
                (first.client, first.is_left) = (None, false);
                Arc::clone(&first.instance)
            });
            (std::mem::take(&mut connections.by_key), first)
        };
        let mut stopping = JoinSet::new();
        for connection in connections.into_values() {
            stopping.spawn(async move { connection.instance.end(reason, timeout).await });
        }
        if let Some(first) = first {
            stopping.spawn(async move { first.stop(reason, timeout).await });
        }
        while stopping.join_next().await.is_some() {}
    }

    /// Returns the state of the server: that of the best connection counts.
    fn state(&self) -> ServerState {
        let states = self.all().into_iter().map(|instance| instance.supervised.state());
        states.max_by_key(|state| *state == ServerState::Connected).unwrap_or(ServerState::Registered)
    }

    fn begin(&self, line: ConnectionKey, lists: Arc<Catalog>) -> Result<OwnConnection, StartError> {
        let own = Weak::clone(&self.own);
        let by_all = Box::new(move || Some(own.upgrade()?.state()));
        let (support, of_server, client) = (&self.support, &self.of_server, line.client.clone());
        let instance = ServerConnection::new(support, &self.config, line, of_server, lists, Some(by_all))?;
        Ok(OwnConnection { instance: Arc::new(instance), client, is_left: false, used_at: Instant::now() })
    }

    fn new_first(&self, lists: Arc<Catalog>) -> Result<OwnConnection, StartError> {
        self.begin(self.shared_line(), lists)
    }

    /// Replaces the first connection, which holds what its client left there, by a new one with the same lists.
    fn renew(&self, first: &mut OwnConnection) {
        let fresh = match self.new_first(Arc::clone(&first.instance.shared.lists)) {
            Ok(fresh) => fresh,
            // It could begin before, with the same configuration.
            Err(error) => {
                return tracing::error!(server = self.config.id, %error, "a connection cannot begin");
            }
        };
        let own = Weak::clone(&self.own);
        let (starting, old) = (Arc::clone(&fresh.instance), std::mem::replace(first, fresh).instance);
        old.shared.is_over.store(true, Ordering::Release);
        self.run(async move {
            // Both may need the same files and ports.
            old.stop(ShutdownReason::IdleTimeout, STOP_TIMEOUT).await;
            drop(old);
            if own.upgrade().is_some_and(|own| own.connections.lock().begin == ConnectPolicy::Yes) {
                starting.supervised.start();
            }
        });
    }

    fn end(&self, instance: Arc<ServerConnection>, reason: ShutdownReason) {
        self.run(async move { instance.end(reason, STOP_TIMEOUT).await });
    }

    /// Has a server that was connected to before its client came ask for the roots, which are that client's.
    fn tell_roots(&self, instance: &ServerConnection) {
        let lasts = instance.session().is_some_and(|session| session.lasts());
        if let Some(server) = instance.client().filter(|_| lasts) {
            self.run(async move {
                if let Err(error) = server.notify(Method::ROOTS_CHANGED, Object::new()).await {
                    tracing::debug!(%error, "a server was not told of the roots of its client");
                }
            });
        }
    }

    /// Runs a task on the kernel's runtime: a client session may end anywhere.
    fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, &self.runtime);
    }

    /// Returns whether something goes on, on the connection.
    fn is_in_use(&self, connection: &OwnConnection) -> bool {
        let instance = &connection.instance;
        instance.supervised.in_flight() > 0
            || instance.has_unfinished_tasks()
            || (!connection.is_left && self.support.told.is_watched(&instance.shared.line))
    }

    /// Takes out the connections that nobody has used for some time.
    fn idle(&self) -> Vec<Arc<ServerConnection>> {
        self.support.told.forget_gone();
        let longest = if self.is_by_agent() { IDLE } else { IDLE_OF_CLIENT };
        self.take_unused(&mut self.connections.lock(), |connection| {
            connection.is_left || connection.used_at.elapsed() >= longest
        })
    }

    /// Takes out the connections that are over and not in use, and renews the first one if its client has left it.
    fn take_unused(
        &self,
        connections: &mut ConnectionTable,
        is_over: impl Fn(&OwnConnection) -> bool,
    ) -> Vec<Arc<ServerConnection>> {
        let ConnectionTable { first, by_key, begin } = connections;
        if let Some(first) = first.as_mut().filter(|first| first.is_left && !self.is_in_use(first)) {
            if *begin == ConnectPolicy::Yes && !self.is_for_many(first) {
                self.renew(first);
            } else {
                (first.client, first.is_left) = (None, false);
            }
        }
        let ended = by_key.extract_if(|_, connection| is_over(connection) && !self.is_in_use(connection));
        ended.map(|(_, connection)| connection.instance).collect()
    }
}

impl OwnConnection {
    fn used(&mut self) -> Arc<ServerConnection> {
        self.used_at = Instant::now();
        Arc::clone(&self.instance)
    }
}

/// Returns whether one connection lists for all agents.
pub(super) fn lists_for_all(config: &ServerConfig) -> bool {
    config.sharing != Some(Sharing::Agent) && config.agents.is_empty()
}

/// Returns whether a request uses the server: for it, a client's own connection begins. Others are about what is there.
fn is_use(request: &Request) -> bool {
    request.kind == RequestKind::Call
        && request.method != Method::SET_LEVEL
        && request.method.as_str() != "tasks/list"
}

async fn sweep(connections: Weak<OwnConnections>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let Some(idle) = connections.upgrade().map(|connections| connections.idle()) else { return };
        for instance in idle {
            instance.end(ShutdownReason::IdleTimeout, STOP_TIMEOUT).await;
        }
    }
}

/// The place that a request goes to.
pub(super) enum ConnectionRoute {
    To(Arc<ServerConnection>),
    /// The place is known after this start.
    After(FirstStart),
}

const MAX_CONNECTIONS: usize = 256;
/// The number of programs of one server, if the configuration has none.
const MAX_PROGRAMS: usize = 8;
const IDLE: Duration = Duration::from_mins(10);
/// The time for which a client may leave a connection unused. What the server knows of the client ends with it.
const IDLE_OF_CLIENT: Duration = Duration::from_hours(1);
const SWEEP: Duration = Duration::from_mins(1);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
