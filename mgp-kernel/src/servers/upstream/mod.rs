//! A server behind the kernel: its connections, the layers in front of it, and the messages that it sends.

mod agents;
mod asking_again;
mod audit;
mod confined;
mod connect;
mod connection_key;
mod connection_shared;
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
mod publish;
mod published_events;
mod reports;
mod server_connection;
mod server_notifications;
mod server_shared;
mod size;
mod stale_lists;
mod support;
mod task_progress;
mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_discovery::catalog::Catalog;
use mgp_discovery::config::model::{ServerConfig, Sharing};
use mgp_security::definition::DefinitionKind;
use mgp_types::mgp::{ServerId, ServerState, ShutdownReason};
use mgp_types::{BoxFuture, Error, Object, Principal, Request, Response, Session, StreamId};
use tower_service::Service;

use self::agents::{AgentConnections, PerAgentService};
pub(crate) use self::confined::clear_scratch;
pub(crate) use self::connection_key::ConnectionKey;
pub(crate) use self::environment::is_needed;
pub(crate) use self::fallback_tool::FallbackToolGate;
use self::first_start::WaitForStart;
pub(crate) use self::first_start::{FirstStart, WaitingCall};
pub(crate) use self::last_tools::list_last_tools;
pub(crate) use self::offered_lists::AgentLists;
use self::server_connection::ServerConnection;
pub(crate) use self::server_notifications::{ListKind, ServerNotifications};
pub(crate) use self::server_shared::ServerShared;
pub(crate) use self::size::ResultSizeGate;
use self::support::ServerClient;
pub(crate) use self::support::{BareWay, CurrentClient, ServerStack, ServerSupport};
pub use self::view::{MgpView, ServerView};
use crate::StartError;
use crate::call::meter::Meter;
use crate::settings;

/// A server of the kernel, connected or not. Dropping it ends all its connections at once.
pub(crate) struct Upstream {
    id: ServerId,
    config: Arc<ServerConfig>,
    catalog: Catalog,
    of_server: ServerShared,
    /// True if the server has ended for good.
    is_over: AtomicBool,
    /// True if the server waits until somebody needs it.
    is_held: AtomicBool,
    connections: UpstreamConnections,
}

enum UpstreamConnections {
    Shared(ServerConnection),
    ByAgent(Arc<AgentConnections>),
    /// A server that lives within a test.
    #[cfg(test)]
    Fake(fake_server::FakeServer),
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
        let connections = if shares_connection(&config) {
            UpstreamConnections::Shared(ServerConnection::new(
                support,
                &config,
                ConnectionKey::shared(id.clone()),
                &of_server,
                None,
            )?)
        } else {
            UpstreamConnections::ByAgent(AgentConnections::new(support, &config, &of_server))
        };
        let catalog = support.tools.catalog.clone();
        let (is_over, is_held) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self { id, config, catalog, of_server, is_over, is_held, connections })
    }

    /// Connects to the server, and keeps it connected. A server to which agents have connections of their own waits for
    /// them, and a server that was [closed](Self::close) does not start.
    pub(crate) fn start(&self) {
        if self.is_over.load(Ordering::Acquire) {
            return;
        }
        self.is_held.store(false, Ordering::Release);
        match &self.connections {
            UpstreamConnections::Shared(instance) => {
                instance.shared.start.begin();
                instance.supervised.start();
            }
            UpstreamConnections::ByAgent(agents) => agents.open(),
            #[cfg(test)]
            UpstreamConnections::Fake(_) => {}
        }
    }

    /// Has the server wait until it is [released](Self::release), in place of its start.
    pub(crate) fn hold(&self) {
        self.is_held.store(true, Ordering::Release);
    }

    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Acquire)
    }

    /// Starts the server if it was [held](Self::hold).
    pub(crate) fn release(&self) {
        if self.is_held() && self.is_held.swap(false, Ordering::AcqRel) {
            self.start();
        }
    }

    /// Stops the server until it is started again: calls in work have `timeout` to end, then its processes are ended.
    pub(crate) async fn stop(&self, reason: ShutdownReason, timeout: Duration) {
        self.is_held.store(false, Ordering::Release);
        match &self.connections {
            UpstreamConnections::Shared(instance) => instance.stop(reason, timeout).await,
            UpstreamConnections::ByAgent(agents) => agents.stop(reason, timeout).await,
            #[cfg(test)]
            UpstreamConnections::Fake(_) => {}
        }
    }

    /// Closes the server, so that it does not start any more; connections stay until its [end](Self::end).
    pub(crate) fn close(&self) {
        self.is_over.store(true, Ordering::Release);
        if let UpstreamConnections::ByAgent(agents) = &self.connections {
            agents.close();
        }
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
        self.is_held.store(false, Ordering::Release);
        if let UpstreamConnections::ByAgent(agents) = &self.connections {
            agents.open();
        }
        let mut outcome = Ok(());
        for instance in self.instances() {
            outcome = outcome.and(instance.supervised().restart(reason).await);
        }
        outcome
    }

    /// Lists definitions of `kind` again in a moment: definitions that were held back may be shown now.
    pub(crate) fn list_anew(&self, kind: DefinitionKind) {
        let what = match kind {
            DefinitionKind::Tool => ListKind::Tools,
            DefinitionKind::Prompt => ListKind::Prompts,
            DefinitionKind::Template | DefinitionKind::Resource => ListKind::Resources,
        };
        for instance in self.instances() {
            instance.get().shared.changed.mark(what);
        }
    }

    /// Returns the start of the connection that this agent uses, if it is not over; a connection of the agent's own
    /// begins, and so does a server that was held.
    pub(crate) fn begun(&self, agent: &Principal) -> Option<FirstStart> {
        self.release();
        let start = match &self.connections {
            UpstreamConnections::Shared(instance) => instance.shared.start.clone(),
            UpstreamConnections::ByAgent(agents) if agents.reaches(agent) => match agents.connection(agent) {
                Ok(instance) => instance.shared.start.clone(),
                Err(error) => {
                    tracing::debug!(server = %self.id, %error, "an agent has no connection");
                    return None;
                }
            },
            UpstreamConnections::ByAgent(_) => return None,
            #[cfg(test)]
            UpstreamConnections::Fake(fake) => fake.start.clone()?,
        };
        (!start.is_over()).then_some(start)
    }

    /// Returns whether the server is being connected to for the first time, for all agents together.
    pub(crate) fn is_starting(&self) -> bool {
        match &self.connections {
            UpstreamConnections::Shared(instance) => !self.is_held() && !instance.shared.start.is_over(),
            UpstreamConnections::ByAgent(_) => false,
            #[cfg(test)]
            UpstreamConnections::Fake(_) => false,
        }
    }

    /// Returns whether this agent may have a connection to the server.
    pub(crate) fn admits(&self, agent: &Principal) -> bool {
        match &self.connections {
            UpstreamConnections::Shared(_) => true,
            UpstreamConnections::ByAgent(agents) => agents.admits(agent),
            #[cfg(test)]
            UpstreamConnections::Fake(_) => true,
        }
    }

    /// Returns the part of the server's lists that this agent has.
    pub(crate) fn share(&self, agent: &Principal) -> AgentLists {
        match &self.connections {
            UpstreamConnections::Shared(_) => AgentLists::Everything,
            UpstreamConnections::ByAgent(agents) => agents.share(agent),
            #[cfg(test)]
            UpstreamConnections::Fake(_) => AgentLists::Everything,
        }
    }

    /// Returns whether agents have connections of their own to the server.
    pub(crate) fn is_by_agent(&self) -> bool {
        matches!(self.connections, UpstreamConnections::ByAgent(_))
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
        match &self.connections {
            UpstreamConnections::Shared(instance) => {
                UpstreamService(UpstreamRoute::Shared(instance.service()))
            }
            UpstreamConnections::ByAgent(agents) => {
                UpstreamService(UpstreamRoute::ByAgent(PerAgentService(Arc::clone(agents))))
            }
            #[cfg(test)]
            UpstreamConnections::Fake(fake) => UpstreamService(UpstreamRoute::Fake(fake.service.clone())),
        }
    }

    /// Returns the state of the server. Of several connections the best one counts.
    pub(crate) fn state(&self) -> ServerState {
        let states = self.instances().into_iter().map(|instance| instance.supervised().state());
        states.max_by_key(|state| *state == ServerState::Connected).unwrap_or(ServerState::Registered)
    }

    /// Returns the session that was negotiated with the server, if it is connected.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        #[cfg(test)]
        if let UpstreamConnections::Fake(fake) = &self.connections {
            return Some(Arc::clone(&fake.session));
        }
        self.up().find_map(|instance| instance.get().session())
    }

    /// Returns the key of the connection that this agent uses, or would use.
    pub(crate) fn line(&self, agent: &Principal) -> ConnectionKey {
        match &self.connections {
            UpstreamConnections::ByAgent(_) => ConnectionKey::of_agent(self.id.clone(), agent),
            UpstreamConnections::Shared(_) => ConnectionKey::shared(self.id.clone()),
            #[cfg(test)]
            UpstreamConnections::Fake(_) => ConnectionKey::shared(self.id.clone()),
        }
    }

    /// Passes the status of a task on this connection to the layers in front of the server.
    pub(crate) fn hear_of_task(&self, line: &ConnectionKey, status: &Object) {
        let connection = self.on(line);
        if let Some(back) = connection.as_ref().and_then(|instance| instance.get().shared.back.get()) {
            back.tasks.hear(status);
        }
    }

    /// Returns all connections that are up, each with its session and the server's capabilities on it.
    pub(crate) fn lines(&self) -> Vec<(ConnectionKey, Arc<Session>, Object)> {
        #[cfg(test)]
        if let UpstreamConnections::Fake(fake) = &self.connections {
            let line = ConnectionKey::shared(self.id.clone());
            return vec![(line, Arc::clone(&fake.session), fake.capabilities.clone())];
        }
        let line = |held: ConnectionRef<'_>| {
            let instance = held.get();
            Some((instance.shared.line.clone(), instance.session()?, instance.capabilities()))
        };
        self.up().filter_map(line).collect()
    }

    /// Returns the session that was negotiated last on this connection.
    pub(crate) fn session_on(&self, line: &ConnectionKey) -> Option<Arc<Session>> {
        #[cfg(test)]
        if let UpstreamConnections::Fake(fake) = &self.connections {
            return line.agent.is_none().then(|| Arc::clone(&fake.session));
        }
        self.on(line)?.get().session()
    }

    /// Returns the client of the connection that carries the call with `stream` now, past all layers in front.
    pub(crate) fn carrying(&self, stream: StreamId) -> Option<Arc<ServerClient>> {
        let mut instances = self.instances().into_iter();
        instances.find(|instance| instance.get().shared.calls.has(stream))?.get().client()
    }

    /// Returns the client of the server, past all layers in front; of several connections that of any which is up.
    pub(crate) fn client(&self) -> Option<Arc<ServerClient>> {
        self.up().find_map(|instance| instance.get().client())
    }

    /// Returns the server's capabilities on the connection of this agent, if that is up.
    pub(crate) fn capabilities(&self, agent: &Principal) -> Object {
        #[cfg(test)]
        if let UpstreamConnections::Fake(fake) = &self.connections {
            return fake.capabilities.clone();
        }
        self.on(&self.line(agent)).map(|instance| instance.get().capabilities()).unwrap_or_default()
    }

    /// Returns the server's instructions for a model on the connection of this agent, if that is up and nothing is
    /// hidden in them.
    pub(crate) fn instructions(&self, agent: &Principal) -> Option<Arc<str>> {
        #[cfg(test)]
        if let UpstreamConnections::Fake(fake) = &self.connections {
            return fake.instructions.clone();
        }
        let connection = self.on(&self.line(agent))?;
        let instance = connection.get();
        instance.client()?;
        let about = instance.shared.about.lock();
        about.instructions.clone()
    }

    /// Returns the counts of the server's calls, on all its connections.
    pub(crate) fn meter(&self) -> &Meter {
        &self.of_server.meter
    }

    /// Returns the last lines that the server wrote to its standard error, the oldest first.
    pub(crate) fn log(&self, lines: usize) -> Vec<String> {
        self.of_server.log.last(lines)
    }

    /// Returns the views of all its connections; one view for a server without any.
    pub(crate) fn views(&self) -> Vec<ServerView> {
        let instances = self.instances();
        if instances.is_empty() {
            return vec![self.view(None)];
        }
        instances.iter().map(|instance| self.view(Some(instance.get()))).collect()
    }

    fn view(&self, instance: Option<&ServerConnection>) -> ServerView {
        let shared = instance.map(|instance| &instance.shared);
        let agent = shared.and_then(|shared| shared.line.agent.as_ref());
        let tools = match agent {
            Some(agent) => self.of_server.offered.of(agent),
            None => Some(self.catalog.snapshot()),
        };
        let session = instance.and_then(ServerConnection::session);
        let trust = settings::trust(&self.config, session.as_deref());
        let mgp = session.and_then(|session| {
            let agreed = session.mgp.as_ref()?;
            let extensions = agreed.extensions().names().map(ToString::to_string).collect();
            Some(MgpView { version: agreed.version().to_string(), extensions })
        });
        let pid = shared.map_or(0, |shared| shared.pid.load(Ordering::Relaxed));
        let state = instance.map_or(ServerState::Registered, |instance| instance.supervised.state());
        let is_up = state == ServerState::Connected;
        ServerView {
            id: self.id.clone(),
            agent: agent.map(|agent| agent.access_id().into_owned()),
            state,
            last_error: shared.and_then(|shared| shared.last_error.lock().clone()).filter(|_| !is_up),
            restarts: shared.map_or(0, |shared| shared.connects.load(Ordering::Relaxed).saturating_sub(1)),
            mgp,
            trust,
            tools: tools.map_or(0, |lists| lists.of_server(self.id.as_str()).len()),
            pid: (is_up && pid > 0).then_some(pid),
            // The time is noted a moment after the state.
            uptime: is_up.then(|| {
                let since = shared.and_then(|shared| *shared.connected_at.lock());
                since.map_or(Duration::ZERO, |since| since.elapsed())
            }),
        }
    }

    /// Returns the connection, if it has begun.
    fn on(&self, line: &ConnectionKey) -> Option<ConnectionRef<'_>> {
        match (&self.connections, &line.agent) {
            (UpstreamConnections::Shared(instance), None) => Some(ConnectionRef::Borrowed(instance)),
            (UpstreamConnections::ByAgent(agents), Some(agent)) => agents.of(agent).map(ConnectionRef::Kept),
            _ => None,
        }
    }

    /// Returns the connections that are up.
    fn up(&self) -> impl Iterator<Item = ConnectionRef<'_>> {
        let is_up = |instance: &ConnectionRef<'_>| instance.supervised().state() == ServerState::Connected;
        self.instances().into_iter().filter(is_up)
    }

    fn instances(&self) -> Vec<ConnectionRef<'_>> {
        match &self.connections {
            UpstreamConnections::Shared(instance) => vec![ConnectionRef::Borrowed(instance)],
            UpstreamConnections::ByAgent(agents) => {
                agents.all().into_iter().map(ConnectionRef::Kept).collect()
            }
            #[cfg(test)]
            UpstreamConnections::Fake(_) => Vec::new(),
        }
    }
}

/// Returns whether all agents share one connection to the server.
fn shares_connection(config: &ServerConfig) -> bool {
    config.sharing == Sharing::Shared && config.agents.is_empty()
}

/// A reference to a connection.
enum ConnectionRef<'a> {
    Borrowed(&'a ServerConnection),
    Kept(Arc<ServerConnection>),
}

impl ConnectionRef<'_> {
    fn get(&self) -> &ServerConnection {
        match self {
            Self::Borrowed(instance) => instance,
            Self::Kept(instance) => instance,
        }
    }

    fn supervised(&self) -> &mgp_client_sdk::Supervised<ServerClient> {
        &self.get().supervised
    }
}

/// The service of a server. It is always ready: requests that have to wait do so inside of a call.
#[derive(Clone)]
pub(crate) struct UpstreamService(UpstreamRoute);

#[derive(Clone)]
enum UpstreamRoute {
    Shared(WaitForStart),
    ByAgent(PerAgentService),
    #[cfg(test)]
    Fake(crate::call::erased::ErasedService),
}

impl Service<Request> for UpstreamService {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match &mut self.0 {
            UpstreamRoute::Shared(patient) => patient.call(request),
            UpstreamRoute::ByAgent(agents) => agents.call(request),
            #[cfg(test)]
            UpstreamRoute::Fake(service) => service.call(request),
        }
    }
}
