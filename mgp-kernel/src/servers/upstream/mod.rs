//! A server behind the kernel: its connections, the layers in front of it, and the messages that it sends.

mod asking_again;
mod audit;
mod confined;
mod connect;
mod connection_key;
mod connection_shared;
mod connections;
mod connections_service;
mod ends;
mod environment;
#[cfg(test)]
pub(crate) mod fake_server;
mod fallback_tool;
mod first_start;
mod forward;
mod inbound;
mod last_tools;
mod log;
mod offered_lists;
mod own_name;
mod publish;
mod published_events;
mod reports;
mod server_connection;
mod server_notifications;
mod server_shared;
mod size;
mod stale_lists;
mod start_attempt;
mod support;
mod task_progress;
mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mgp_discovery::config::model::ServerConfig;
use mgp_security::definition::DefinitionKind;
use mgp_security::permission::PermissionGate;
use mgp_types::mgp::{ServerId, ServerState, ShutdownReason};
use mgp_types::{ClientSessionId, Error, Object, Principal, Session, StreamId};

pub(crate) use self::confined::clear_scratch;
pub(crate) use self::connection_key::ConnectionKey;
use self::connections::UpstreamConnections;
pub(crate) use self::connections_service::UpstreamService;
pub(crate) use self::ends::ServerEnds;
pub(crate) use self::environment::is_needed;
pub(crate) use self::fallback_tool::FallbackToolGate;
pub(crate) use self::first_start::{FirstStart, WaitingCall};
pub(crate) use self::last_tools::list_last_tools;
pub(crate) use self::offered_lists::AgentLists;
pub(crate) use self::own_name::OwnNameGate;
use self::server_connection::ServerConnection;
pub(crate) use self::server_notifications::{ListKind, ServerNotifications};
pub(crate) use self::server_shared::ServerShared;
pub(crate) use self::size::ResultSizeGate;
use self::support::ServerClient;
pub(crate) use self::support::{BareWay, CurrentClient, ServerStack, ServerSupport};
pub use self::view::{MgpView, ProtocolView, ServerView};
use crate::StartError;
use crate::call::meter::Meter;
use crate::settings;

/// A server of the kernel, connected or not. Dropping it ends all its connections at once.
pub(crate) struct Upstream {
    id: ServerId,
    config: Arc<ServerConfig>,
    of_server: ServerShared,
    /// True if the server has ended for good.
    is_over: AtomicBool,
    connections: Arc<UpstreamConnections>,
    /// The server that lives within a test, in place of the connections.
    #[cfg(test)]
    fake: Option<fake_server::FakeServer>,
}

impl Upstream {
    /// Returns a server that waits to be [started](Self::start).
    ///
    /// # Errors
    /// Fails if the configuration asks for something that there is not.
    pub(crate) fn new(support: &Arc<ServerSupport>, config: ServerConfig) -> Result<Self, StartError> {
        let config = Arc::new(config);
        let id = ServerId::from(config.id.as_str());
        let of_server = ServerShared::default();
        let connections = UpstreamConnections::new(support, &config, &of_server)?;
        Ok(Self {
            id,
            config,
            of_server,
            is_over: AtomicBool::new(false),
            connections,
            #[cfg(test)]
            fake: None,
        })
    }

    /// Connects to the server, and keeps it connected. Connections of agents' or clients' own wait for them, and a server
    /// that was [closed](Self::close) does not start.
    pub(crate) fn start(&self) {
        if !self.is_over.load(Ordering::Acquire) {
            self.connections.start();
        }
    }

    /// Has the server wait until somebody needs it, or it is [released](Self::release), in place of its start.
    pub(crate) fn hold(&self) {
        self.connections.hold();
    }

    /// Returns whether the server waits until somebody needs it.
    pub(crate) fn is_held(&self) -> bool {
        self.connections.is_held()
    }

    /// Starts the server if it was [held](Self::hold).
    pub(crate) fn release(&self) {
        self.connections.release();
    }

    /// Stops the server until it is started again: calls in work have `timeout` to end, then its processes are ended.
    pub(crate) async fn stop(&self, reason: ShutdownReason, timeout: Duration) {
        self.connections.stop(reason, timeout).await;
    }

    /// Closes the server, so that it does not start any more; connections stay until its [end](Self::end).
    pub(crate) fn close(&self) {
        self.is_over.store(true, Ordering::Release);
        self.connections.close();
    }

    /// Stops the server for good.
    pub(crate) async fn end(&self, reason: ShutdownReason, timeout: Duration) {
        self.close();
        self.stop(reason, timeout).await;
    }

    /// Stops the server and starts it again, however often that was done before.
    ///
    /// # Errors
    /// Fails if the server cannot be connected to; of several connections some may be up all the same.
    pub(crate) async fn restart(&self, reason: ShutdownReason) -> Result<(), Error> {
        self.connections.open();
        let mut outcome = Ok(());
        for instance in self.connections.all() {
            outcome = outcome.and(instance.supervised.restart(reason).await);
        }
        outcome
    }

    /// Ends the connections of a client session that is over.
    pub(crate) fn client_ended(&self, client: ClientSessionId) {
        self.connections.client_ended(client);
    }

    /// Lists definitions of `kind` again in a moment: definitions that were held back may be shown now.
    pub(crate) fn list_anew(&self, kind: DefinitionKind) {
        let what = match kind {
            // The texts of a server are read again with its tools.
            DefinitionKind::Tool | DefinitionKind::Text => ListKind::Tools,
            DefinitionKind::Prompt => ListKind::Prompts,
            DefinitionKind::Template | DefinitionKind::Resource => ListKind::Resources,
        };
        for instance in self.connections.all() {
            instance.shared.changed.mark(what);
        }
    }

    /// Returns the start of the connection that this agent uses, if it is not over; a connection of the agent's own
    /// begins, and so does a server that was held.
    pub(crate) fn begun(&self, agent: &Principal) -> Option<FirstStart> {
        #[cfg(test)]
        if let Some(fake) = &self.fake {
            return fake.start.clone().filter(|start| !start.is_over());
        }
        self.connections.start_for(agent).filter(|start| !start.is_over())
    }

    /// Returns whether the server is being connected to for the first time, for all agents together.
    pub(crate) fn is_starting(&self) -> bool {
        #[cfg(test)]
        if self.fake.is_some() {
            return false;
        }
        self.connections.is_starting()
    }

    /// Returns whether the server is asked again for lists that changed.
    pub(crate) fn is_listing(&self) -> bool {
        self.up().any(|instance| instance.shared.changed.are_stale())
    }

    /// Returns whether this agent may have a connection to the server.
    pub(crate) fn admits(&self, agent: &Principal) -> bool {
        self.connections.admits(agent)
    }

    /// Returns the part of the server's lists that this agent has.
    pub(crate) fn share(&self, agent: &Principal) -> AgentLists {
        self.connections.share(agent)
    }

    /// Returns whether agents have connections of their own to the server.
    pub(crate) fn is_by_agent(&self) -> bool {
        self.connections.is_by_agent()
    }

    /// Returns whether this client has lists of its own, beside those for all.
    pub(crate) fn lists_for(&self, client: &Principal) -> bool {
        self.connections.lists_for(client)
    }

    pub(crate) fn of_server(&self) -> &ServerShared {
        &self.of_server
    }

    pub(crate) fn id(&self) -> &ServerId {
        &self.id
    }

    pub(crate) fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Returns the service of the server with all layers in front of it.
    pub(crate) fn service(&self) -> UpstreamService {
        UpstreamService {
            connections: Arc::clone(&self.connections),
            #[cfg(test)]
            fake: self.fake.as_ref().map(|fake| fake.service.clone()),
        }
    }

    /// Returns the state of the server. Of several connections the best one counts.
    pub(crate) fn state(&self) -> ServerState {
        self.connections.state()
    }

    /// Returns the session that was negotiated with the server, if it is connected.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        #[cfg(test)]
        if let Some(fake) = &self.fake {
            return Some(Arc::clone(&fake.session));
        }
        self.up().find_map(|instance| instance.session())
    }

    /// Returns the key of the connection that this agent uses, or would use.
    pub(crate) fn line(&self, agent: &Principal) -> ConnectionKey {
        self.connections.line(agent)
    }

    /// Passes the status of a task on this connection to the layers in front of the server.
    pub(crate) fn hear_of_task(&self, line: &ConnectionKey, status: &Object) {
        let connection = self.connections.on(line);
        if let Some(back) = connection.as_ref().and_then(|instance| instance.shared.back.get()) {
            back.tasks.hear(status);
        }
    }

    /// Returns all connections that are up, each with its session and the server's capabilities on it.
    pub(crate) fn lines(&self) -> Vec<(ConnectionKey, Arc<Session>, Object)> {
        #[cfg(test)]
        if let Some(fake) = &self.fake {
            let line = ConnectionKey::shared(self.id.clone());
            return vec![(line, Arc::clone(&fake.session), fake.capabilities.clone())];
        }
        let line = |instance: Arc<ServerConnection>| {
            Some((instance.shared.line.clone(), instance.session()?, instance.capabilities()))
        };
        self.up().filter_map(line).collect()
    }

    /// Returns the session that was negotiated last on this connection.
    pub(crate) fn session_on(&self, line: &ConnectionKey) -> Option<Arc<Session>> {
        #[cfg(test)]
        if let Some(fake) = &self.fake {
            return line.agent.is_none().then(|| Arc::clone(&fake.session));
        }
        self.connections.on(line)?.session()
    }

    /// Returns the client of the connection that carries the call with `stream` now, past all layers in front.
    pub(crate) fn carrying(&self, stream: StreamId) -> Option<Arc<ServerClient>> {
        self.connections.all().into_iter().find(|instance| instance.shared.calls.has(stream))?.client()
    }

    /// Returns the client of the server, past all layers in front; of several connections that of any which is up.
    pub(crate) fn client(&self) -> Option<Arc<ServerClient>> {
        self.up().find_map(|instance| instance.client())
    }

    /// Returns the server's capabilities on the connection of this agent, if that is up.
    pub(crate) fn capabilities(&self, agent: &Principal) -> Object {
        #[cfg(test)]
        if let Some(fake) = &self.fake {
            return fake.capabilities.clone();
        }
        let said = self.connections.of(agent).and_then(|instance| instance.shared.description());
        said.unwrap_or_default().capabilities
    }

    /// Returns the server's instructions for a model on the connection of this agent, if that is up and nothing is
    /// hidden in them.
    pub(crate) fn instructions(&self, agent: &Principal) -> Option<Arc<str>> {
        #[cfg(test)]
        if let Some(fake) = &self.fake {
            return fake.instructions.clone();
        }
        self.connections.of(agent)?.shared.description()?.instructions
    }

    /// Returns the gate that decides what the server may do, on the connection of this agent if that has begun.
    pub(crate) fn permissions(&self, agent: &Principal) -> Option<PermissionGate> {
        let connection = self.connections.on(&self.line(agent))?;
        connection.shared.back.get().map(|back| back.permissions.clone())
    }

    /// Returns the counts of the server's calls, on all its connections.
    pub(crate) fn meter(&self) -> &Meter {
        &self.of_server.meter
    }

    /// Returns the counts of the server's ends that nobody ordered.
    pub(crate) fn ends(&self) -> &ServerEnds {
        &self.of_server.ends
    }

    /// Returns the last lines that the server wrote to its standard error, the oldest first.
    pub(crate) fn log(&self, lines: usize) -> Vec<String> {
        self.of_server.log.last(lines)
    }

    /// Returns the views of all its connections; one view for a server without any.
    pub(crate) fn views(&self) -> Vec<ServerView> {
        let instances = self.connections.all();
        if instances.is_empty() {
            return vec![self.view(None)];
        }
        instances.iter().map(|instance| self.view(Some(instance))).collect()
    }

    fn view(&self, instance: Option<&ServerConnection>) -> ServerView {
        let shared = instance.map(|instance| &instance.shared);
        let agent = shared.and_then(|shared| shared.line.agent.as_ref());
        let tools = shared.map_or(0, |shared| self.connections.tools_on(shared));
        let client = shared.and_then(|shared| self.connections.client_on(&shared.line));
        let session = instance.and_then(ServerConnection::session);
        let trust = settings::trust(&self.config, session.as_deref());
        let revision = session.as_deref().map(|session| session.revision);
        let mgp = session.and_then(|session| {
            let agreed = session.mgp.as_ref()?;
            let extensions = agreed.extensions().names().map(ToString::to_string).collect();
            Some(MgpView { version: agreed.version().to_string(), extensions })
        });
        let pid = shared.map_or(0, |shared| shared.pid.load(Ordering::Relaxed));
        let state = instance.map_or(ServerState::Registered, |instance| instance.supervised.state());
        let is_up = state == ServerState::Connected;
        let delay = shared.filter(|_| state == ServerState::Connecting);
        let delay = delay.and_then(|shared| shared.attempt.lock().delay(&shared.config));
        ServerView {
            id: self.id.clone(),
            agent: agent.map(|agent| agent.access_id().into_owned()),
            client: client.map(|client| client.agent.access_id().into_owned()),
            state,
            last_error: shared.and_then(|shared| shared.last_error.lock().clone()).filter(|_| !is_up),
            delay,
            restarts: shared.map_or(0, |shared| shared.connects.load(Ordering::Relaxed).saturating_sub(1)),
            mgp,
            protocol: revision.map(|revision| ProtocolView::new(self.config.protocol, revision)),
            trust,
            tools,
            pid: (is_up && pid > 0).then_some(pid),
            // The time is noted a moment after the state.
            uptime: is_up.then(|| {
                let since = shared.and_then(|shared| *shared.connected_at.lock());
                since.map_or(Duration::ZERO, |since| since.elapsed())
            }),
        }
    }

    /// Returns the connections that are up.
    fn up(&self) -> impl Iterator<Item = Arc<ServerConnection>> {
        let is_up = |instance: &Arc<ServerConnection>| instance.supervised.state() == ServerState::Connected;
        self.connections.all().into_iter().filter(is_up)
    }
}
