//! The connections of a server: one for all, or one for each agent or client.
//!
//! Clients of a server without MGP are kept apart, because a revision without sessions says nothing of the memory of
//! a program. A client that needs a place takes that of the instance unused for longest: one that left without a
//! word would hold it for ever. Calls, tasks and subscriptions are never ended for another client.

mod starts_and_ends;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use mgp_discovery::catalog::Catalog;
use mgp_discovery::config::model::{ServerConfig, Sharing};
use mgp_types::mgp::{ServerState, ShutdownReason};
use mgp_types::{
    Error, Method, Object, Principal, PrincipalRole, Request, RequestKind, Session, agent_family, code,
};
use tokio::time::Instant;

pub(super) use self::starts_and_ends::sweep;
use super::Upstream;
use super::connection_key::{ClientKey, ConnectionKey};
use super::connection_shared::ConnectionShared;
use super::first_start::FirstStart;
use super::server_connection::ServerConnection;
use super::server_shared::AgentLists;
use crate::StartError;
use crate::call::meter::OpenRequest;

/// The connections of a server.
#[derive(Default)]
pub(super) struct ConnectionTable {
    /// The connection that lists for all, where clients have their own.
    pub(super) first: Option<OwnConnection>,
    by_key: HashMap<ConnectionKey, OwnConnection, RandomState>,
    begin: ConnectPolicy,
    /// The number of times that the server was stopped.
    stops: u64,
}

/// The policy of whether connections begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ConnectPolicy {
    #[default]
    Yes,
    /// The first connection begins as soon as somebody needs the server, and others from then on.
    WhenNeeded,
    /// No connection begins until the server is started again.
    NotNow,
    /// No connection begins any more: the server is being removed.
    Never,
}

/// A connection, with its use by a client.
pub(super) struct OwnConnection {
    instance: Arc<ServerConnection>,
    /// The client that uses it, where clients have their own.
    client: Option<ClientKey>,
    /// The name under which the server has the credentials of its agent, where agents have credentials of their own.
    credentials: Option<Box<str>>,
    /// True if the session of its client is over.
    is_left: bool,
    /// True if it stands in the place of the first connection, whose client has left.
    is_renewed: bool,
    used_at: Instant,
}

impl Upstream {
    /// Returns whether each agent has its own connection, with lists of its own.
    pub(crate) fn is_by_agent(&self) -> bool {
        !lists_for_all(&self.config)
    }

    /// Returns whether this agent may have a connection.
    pub(crate) fn admits(&self, agent: &Principal) -> bool {
        !self.config.only_for_its_agents()
            || agent.agent_name().is_some_and(|name| self.configured(name).is_some())
    }

    /// Returns the name under which the server has credentials for this agent: its own, or that of a group or its family.
    fn configured(&self, agent: &str) -> Option<&str> {
        if !self.config.only_for_its_agents() {
            return None;
        }
        let of = |name: &str| self.config.agents.get_key_value(name).map(|(name, _)| name.as_str());
        self.support.policies.access.groups().find(agent, of)
    }

    /// Returns whether this agent may have a connection, and may use anything on it.
    pub(crate) fn reaches(&self, agent: &Principal) -> bool {
        self.admits(agent) && self.support.policies.access.reaches(&agent.access_id(), &self.config.id)
    }

    /// Returns the part of the server's lists that this agent has.
    pub(crate) fn share(&self, agent: &Principal) -> AgentLists {
        let offered = &self.of_server.offered;
        if self.is_by_agent() {
            if !self.reaches(agent) {
                return AgentLists::Nothing;
            }
            return offered.of(&self.connection_key(agent)).map_or(AgentLists::Coming, AgentLists::Own);
        }
        // Until somebody has a second connection, everybody has the lists of the first.
        if offered.count() <= 1 {
            return AgentLists::Everything;
        }
        let own = offered.of(&self.connection_key(agent)).or_else(|| offered.of(&self.shared_key()));
        own.map_or(AgentLists::Everything, AgentLists::Own)
    }

    /// Returns whether this client has lists of its own, beside those for all.
    pub(crate) fn lists_for(&self, client: &Principal) -> bool {
        let offered = &self.of_server.offered;
        !self.is_by_agent() && offered.count() > 1 && offered.of(&self.connection_key(client)).is_some()
    }

    /// Returns the key of the connection that this agent uses, or would use.
    pub(crate) fn connection_key(&self, agent: &Principal) -> ConnectionKey {
        if self.is_by_agent() {
            return ConnectionKey::of_agent(self.id.clone(), &self.owner(agent));
        }
        self.key_of(&self.connections.lock(), agent)
    }

    fn key_of(&self, connections: &ConnectionTable, caller: &Principal) -> ConnectionKey {
        let client = ClientKey::of(caller);
        let is_firsts = |first: &OwnConnection| {
            self.shares(first, caller) || first.client.as_ref().is_some_and(|own| *own == client)
        };
        if connections.first.as_ref().is_none_or(is_firsts) {
            return self.shared_key();
        }
        // A client stays with what it has, although the first connection may be free by now.
        let is_free = connections.first.as_ref().is_some_and(|first| first.client.is_none());
        // The program of a client may run in another folder than the first one, that in which the client works.
        let follows = self.config.command.is_some() && self.config.cwd.is_none();
        let has_own_folder = || follows && self.support.tables.folder(client.session).is_some();
        let is_free = is_free && !self.is_elsewhere() && !has_own_folder();
        let own = ConnectionKey { client: Some(client), ..self.shared_key() };
        if is_free && !connections.by_key.contains_key(&own) { self.shared_key() } else { own }
    }

    /// Returns whether another kernel runs the server. Its first connection leads to that kernel without a client: the
    /// connection of a client says there whose it is.
    fn is_elsewhere(&self) -> bool {
        self.support.peers(&self.config).is_some_and(|peers| peers.leases.is_elsewhere(&self.config.id))
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
        match self.config.sharing {
            Some(sharing) => sharing == Sharing::Shared,
            None => first.instance.session().as_deref().is_some_and(holds_nothing),
        }
    }

    fn shared_key(&self) -> ConnectionKey {
        ConnectionKey::shared(self.id.clone())
    }

    /// Returns the agent whose connection this agent uses: all clients of the user use one, unless the configuration has
    /// credentials for one of them.
    fn owner(&self, agent: &Principal) -> Principal {
        match agent_family(agent.as_str()) {
            Some(family) if self.configured(agent.as_str()).is_none_or(|name| name == family) => {
                Principal::of(agent.kind(), family)
            }
            _ => agent.clone(),
        }
    }

    /// Returns the connection of this agent or client, which begins if there is none.
    ///
    /// # Errors
    /// 1001 if the agent may have no connection. Fails as well if there are too many.
    pub(super) fn connection(&self, agent: &Principal) -> Result<UsedConnection, Error> {
        if !self.admits(agent) {
            let message = format!(
                "the server `{}` is for agents with credentials of their own; `servers.agents` names them",
                self.config.id
            );
            return Err(Error::new(code::ACCESS_DENIED, message));
        }
        let mut connections = self.connections.lock();
        connections.release();
        let key = match connections.first {
            Some(_) => self.key_of(&connections, agent),
            None => ConnectionKey::of_agent(self.id.clone(), &self.owner(agent)),
        };
        let ConnectionTable { first, by_key, begin, .. } = &mut *connections;
        if let Some(first) = first.as_mut().filter(|_| !key.is_own()) {
            let client = ClientKey::of(agent);
            if !self.shares(first, agent) && first.client.as_ref() != Some(&client) {
                first.client = Some(client);
                self.tell_roots(&first.instance);
            }
            return Ok(first.used());
        }
        let credentials = self.configured(agent.as_str());
        if let Some(connection) = by_key.get_mut(&key) {
            if connection.credentials.as_deref() == credentials {
                return Ok(connection.used());
            }
            // The agent is in other groups by now, and comes with their credentials no longer.
            if let Some(former) = by_key.remove(&key) {
                self.end_later(former.instance, ShutdownReason::ConfigurationChange);
            }
        }
        match begin {
            ConnectPolicy::Yes | ConnectPolicy::WhenNeeded => {}
            ConnectPolicy::NotNow => return Err(Error::disconnected("the server was stopped")),
            ConnectPolicy::Never => return Err(Error::disconnected("the server is being removed")),
        }
        let is_first_used = first.is_some() && !self.is_elsewhere();
        if by_key.len() + usize::from(is_first_used) >= self.max_connections()
            && let Some(first) = self.make_room(first, by_key, agent)?
        {
            return Ok(first);
        }
        let lists = Arc::<Catalog>::default();
        if let Some(first) = first {
            // The client has had the lists of the first connection until now.
            let listed = first.instance.shared.lists.snapshot();
            let same = lists.put_shares(&key.server, &[listed]);
            debug_assert!(same.is_ok(), "the server has these lists already");
            self.of_server.offered.put(&key, &lists);
            self.support.tables.shares_changed();
        }
        let mut connection = self.begin(key.clone(), lists).map_err(|error| {
            tracing::error!(server = self.config.id, %error, "a connection cannot begin");
            Error::internal("the server is configured in a way that leads nowhere")
        })?;
        connection.credentials = credentials.map(Into::into);
        connection.instance.supervised.start();
        let used = connection.used();
        by_key.insert(key, connection);
        Ok(used)
    }

    /// Returns the place that a request goes to.
    pub(super) fn route(&self, request: &Request) -> Result<ConnectionRoute, Error> {
        {
            let mut connections = self.connections.lock();
            if is_use(request) {
                connections.release();
            }
            if let Some(first) = &connections.first {
                let to = |connection: &OwnConnection| Ok(ConnectionRoute::To(connection.held()));
                let Some(caller) = &request.context.principal else { return to(first) };
                // The access gate of any connection refuses who may use nothing.
                if self.shares(first, caller) || !self.reaches(caller) {
                    return to(first);
                }
                // A task outlives the session that began it.
                if let Some(task) = self.support.tables.tasks.meant_by(request)? {
                    let mut all = connections.by_key.values().chain([first]);
                    if let Some(found) = all.find(|other| other.instance.shared.tasks_at == task.place) {
                        return to(found);
                    }
                }
                let key = self.key_of(&connections, caller);
                let own = connections.by_key.get(&key);
                if !is_use(request) {
                    return to(own.unwrap_or(first));
                }
                // Only a server that has connected says whether clients can share it, and which kernel runs it.
                let start = &first.instance.shared.start;
                let is_open = self.support.peers(&self.config).is_some()
                    || key.is_own() && self.config.sharing.is_none();
                if own.is_none() && is_open && !start.is_over() {
                    return Ok(ConnectionRoute::After(start.clone()));
                }
            } else if let Some(agent) = &request.context.principal
                && self.admits(agent)
                && !self.reaches(agent)
            {
                return Ok(ConnectionRoute::Refused);
            }
        }
        self.connection_for(request).map(ConnectionRoute::To)
    }

    /// Returns the connection of the sender of a request, which begins if there is none.
    ///
    /// # Errors
    /// Fails as [`connection`](Self::connection) does.
    pub(super) fn connection_for(&self, request: &Request) -> Result<UsedConnection, Error> {
        let caller = request.context.principal.as_ref().ok_or_else(|| Error::internal("nobody calls"))?;
        self.connection(caller)
    }

    /// Returns the connection with this key, if it has begun.
    pub(super) fn on(&self, key: &ConnectionKey) -> Option<Arc<ServerConnection>> {
        let connections = self.connections.lock();
        let first = connections.first.as_ref().filter(|_| !key.is_own());
        first.or_else(|| connections.by_key.get(key)).map(|connection| Arc::clone(&connection.instance))
    }

    /// Returns the connection of this agent; for a client without one of its own, that which lists for all.
    pub(super) fn of(&self, agent: &Principal) -> Option<Arc<ServerConnection>> {
        self.on(&self.connection_key(agent)).or_else(|| self.first())
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

    /// Returns the number of tools on a connection; on the one that lists for all, as of the last start until it has
    /// listed.
    pub(super) fn tools_on(&self, connection: &ConnectionShared) -> usize {
        let has_listed = connection.key.is_own() || self.of_server.offered.of(&connection.key).is_some();
        let catalog = if has_listed { &connection.lists } else { &self.support.tools.catalog };
        catalog.snapshot().of_server(&self.config.id).len()
    }

    /// Returns the client that uses a connection, where clients have their own.
    pub(super) fn client_on(&self, key: &ConnectionKey) -> Option<ClientKey> {
        let connections = self.connections.lock();
        let first = connections.first.as_ref().filter(|_| !key.is_own());
        first.or_else(|| connections.by_key.get(key))?.client.clone()
    }

    /// Closes the server, so that it does not start any more; connections stay until its [end](Self::end).
    pub(crate) fn close(&self) {
        self.connections.lock().begin = ConnectPolicy::Never;
    }

    /// Returns the state of the server: that of the best connection counts.
    pub(crate) fn state(&self) -> ServerState {
        let states = self.all().into_iter().map(|instance| instance.supervised.state());
        states.max_by_key(|state| *state == ServerState::Connected).unwrap_or(ServerState::Registered)
    }

    /// Returns the state by which tools are found. While the first connection is made anew they can be called, because
    /// calls wait for it.
    fn state_of_tools(&self) -> ServerState {
        let is_renewed = |first: &OwnConnection| first.is_renewed && !first.instance.shared.start.is_over();
        let renews = self.connections.lock().first.as_ref().is_some_and(is_renewed);
        if renews { ServerState::Connected } else { self.state() }
    }

    fn begin(&self, key: ConnectionKey, lists: Arc<Catalog>) -> Result<OwnConnection, StartError> {
        let own = Weak::clone(&self.own);
        let by_all = Box::new(move || Some(own.upgrade()?.state_of_tools()));
        let (support, of_server) = (&self.support, &self.of_server);
        let shared = ConnectionShared::new(support, &self.config, key, of_server, lists, by_all)?;
        Ok(OwnConnection::new(ServerConnection::new(shared)?))
    }

    pub(super) fn new_first(&self, lists: Arc<Catalog>) -> Result<OwnConnection, StartError> {
        self.begin(self.shared_key(), lists)
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
}

impl OwnConnection {
    pub(super) fn new(instance: ServerConnection) -> Self {
        Self {
            client: instance.shared.key.client.clone(),
            credentials: None,
            instance: Arc::new(instance),
            is_left: false,
            is_renewed: false,
            used_at: Instant::now(),
        }
    }

    fn used(&mut self) -> UsedConnection {
        self.used_at = Instant::now();
        self.held()
    }

    fn held(&self) -> UsedConnection {
        let connection = Arc::clone(&self.instance);
        UsedConnection { held: connection.shared.state.uses.begin(), connection }
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

/// A connection that was chosen for a request.
pub(super) struct UsedConnection {
    pub(super) connection: Arc<ServerConnection>,
    pub(super) held: OpenRequest,
}

/// The place that a request goes to.
pub(super) enum ConnectionRoute {
    To(UsedConnection),
    /// No connection begins for this agent, which may use nothing of the server.
    Refused,
    /// The place is known after this start.
    After(FirstStart),
}

#[cfg(test)]
mod tests;
