//! A server behind the kernel: its connections, the layers in front of it, and the messages that it sends.

mod audit;
mod confined;
mod connect;
mod connection_key;
mod connection_shared;
mod connections;
#[cfg(test)]
pub(crate) mod fake_server;
mod first_start;
mod for_peers;
mod forward;
mod inbound;
mod kept_out;
mod kernel_members;
mod last_tools;
mod outcome;
mod publish;
mod server_connection;
mod server_events;
mod server_shared;
mod stale_lists;
mod start_attempt;
mod start_queue;
mod support;
mod view;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mgp_discovery::config::model::ServerConfig;
use mgp_security::access::AccessGate;
use mgp_security::definition::DefinitionKind;
use mgp_types::mgp::{Extension, ServerId, ServerState, ShutdownReason};
use mgp_types::{
    BoxFuture, BoxedService, Error, Gate as _, Object, Principal, Request, Response, Session, StreamId, code,
    gates,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tower_service::Service as _;

pub use self::confined::{copies, granted, inherited, is_needed, reach_here, scratch, unused_homes};
pub(crate) use self::connection_key::ConnectionKey;
pub(crate) use self::connection_shared::ConnectionShared;
use self::connections::{ConnectionRoute, ConnectionTable, lists_for_all, sweep};
pub(crate) use self::first_start::{FirstStart, WaitingCall};
pub(crate) use self::for_peers::DecidedCalls;
pub(crate) use self::last_tools::list_last_tools;
pub(crate) use self::outcome::{FallbackToolGate, ServerOutcomeGate};
use self::server_connection::ServerConnection;
pub(crate) use self::server_shared::{AgentLists, ServerShared};
pub(crate) use self::stale_lists::ListKind;
pub(crate) use self::start_queue::StartQueue;
use self::support::ServerClient;
pub(crate) use self::support::{ServerNotifications, ServerStack, ServerSupport, UpstreamTransport};
pub use self::view::{MgpView, ProtocolView, ServerView};
use crate::call::RefusingService;
use crate::servers::confine::kept_by;
use crate::{StartError, settings};

/// A server of the kernel, connected or not. Dropping it ends all its connections at once.
///
/// A server has one connection for all; or one for each agent, with the credentials of that agent alone; or one for each
/// client, with a session or a program of its own. An own connection begins when its owner first uses the server, and ends
/// when it was not used for some time, or its client session is over. Where agents are configured nobody else has one. Where
/// clients have their own, the first connection is there before any client is, and lists for all of them: the first client
/// takes it over, so that one client alone needs one program.
pub(crate) struct Upstream {
    support: Arc<ServerSupport>,
    /// A reference for the connections, which report the state of all of them.
    own: Weak<Self>,
    id: ServerId,
    config: Arc<ServerConfig>,
    pub(crate) of_server: Arc<ServerShared>,
    connections: Mutex<ConnectionTable>,
    /// The service for calls for which no connection begins; it refuses them as a connection would.
    refusing: BoxedService,
    runtime: Handle,
    /// The ends of connections that go on, and the sweeper.
    tasks: Mutex<JoinSet<()>>,
}

impl Upstream {
    /// Returns a server that waits to be [started](Self::start).
    ///
    /// # Errors
    /// Fails if the configuration asks for something that there is not.
    pub(crate) fn new(support: &Arc<ServerSupport>, config: ServerConfig) -> Result<Arc<Self>, StartError> {
        let upstream = Arc::new_cyclic(|own| {
            let mut tasks = JoinSet::new();
            tasks.spawn(sweep(Weak::clone(own)));
            let (id, of_server) = (ServerId::from(config.id.as_str()), Arc::<ServerShared>::default());
            let refusing = gates![
                FallbackToolGate::new(&config),
                AccessGate::new(support.policies.access.clone()).for_server(id.clone()),
            ];
            let refusal = Error::new(code::ACCESS_DENIED, "no access to this server");
            Self {
                support: Arc::clone(support),
                own: Weak::clone(own),
                id,
                config: Arc::new(config),
                of_server,
                connections: Mutex::default(),
                refusing: BoxedService::new(refusing.layer(RefusingService(refusal))),
                runtime: Handle::current(),
                tasks: Mutex::new(tasks),
            }
        });
        if lists_for_all(&upstream.config) {
            let first = upstream.new_first(Arc::default())?;
            upstream.connections.lock().first = Some(first);
        }
        Ok(upstream)
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
        self.connections.lock().open();
        let mut outcome = Ok(());
        for instance in self.all() {
            outcome = outcome.and(instance.supervised.restart(reason).await);
        }
        outcome
    }

    /// Lists definitions of `kind` again in a moment: definitions that were held back may be shown now.
    pub(crate) fn list_anew(&self, kind: DefinitionKind) {
        let what = match kind {
            // The texts of a server are read again with its tools.
            DefinitionKind::Tool | DefinitionKind::Text => ListKind::Tools,
            DefinitionKind::Prompt => ListKind::Prompts,
            DefinitionKind::Template | DefinitionKind::Resource => ListKind::Resources,
        };
        for instance in self.all() {
            instance.shared.state.changed.mark([what]);
        }
    }

    /// Returns whether the server is asked again for lists that changed.
    pub(crate) fn is_listing(&self) -> bool {
        self.up().any(|instance| instance.shared.state.changed.are_stale())
    }

    pub(crate) fn id(&self) -> &ServerId {
        &self.id
    }

    pub(crate) fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Makes a request of the server, through all layers in front of it, on the connection of its sender.
    pub(crate) fn call(self: &Arc<Self>, request: Request) -> BoxFuture<'static, Result<Response, Error>> {
        match self.route(&request) {
            Ok(ConnectionRoute::To(used)) => used.connection.call(request, used.held),
            Ok(ConnectionRoute::Refused) => self.refusing.clone().call(request),
            Ok(ConnectionRoute::After(start)) => {
                let this = Arc::clone(self);
                Box::pin(async move {
                    start.awaited_by(&WaitingCall::of(&request)).await;
                    let used = this.connection_for(&request)?;
                    used.connection.call(request, used.held).await
                })
            }
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// Returns the session that was negotiated with the server, if it is connected.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        self.up().find_map(|instance| instance.session())
    }

    /// Takes note of the status of a task on this connection. Returns the owner, and puts the owner's id into the status.
    pub(crate) fn record_task_status(
        &self,
        connection: &ConnectionKey,
        status: &mut Object,
    ) -> Option<Principal> {
        self.on(connection)?.shared.record_task_status(status)
    }

    /// Returns all connections that are up, each with its session and the server's capabilities on it.
    pub(crate) fn open_sessions(&self) -> Vec<(ConnectionKey, Arc<Session>, Object)> {
        let open = |instance: Arc<ServerConnection>| {
            let client = instance.client()?;
            Some((instance.shared.key.clone(), client.session()?, client.capabilities()))
        };
        self.up().filter_map(open).collect()
    }

    /// Waits until the server was asked for all channels that clients had named up to the request of this number, on the
    /// connection of this agent. A server without a connection, or without events, is not asked.
    pub(crate) async fn asked_for_channels(&self, agent: &Principal, request: u64) {
        let Some(connection) = self.of(agent) else { return };
        connection.shared.start.over().await;
        if connection.session().is_some_and(|session| session.has(&Extension::Events)) {
            let mut asked = connection.shared.state.asked_channels.subscribe();
            // Waiting fails only if the connection has ended for good.
            let _ = asked.wait_for(|last| *last >= request).await;
        }
    }

    /// Returns the session that was negotiated last on this connection.
    pub(crate) fn session_on(&self, connection: &ConnectionKey) -> Option<Arc<Session>> {
        self.on(connection)?.session()
    }

    /// Returns the client of the connection that carries the call with `stream` now, past all layers in front.
    pub(crate) fn carrying(&self, stream: StreamId) -> Option<Arc<ServerClient>> {
        self.all().into_iter().find(|instance| instance.shared.state.calls.has(stream))?.client()
    }

    /// Returns the client of the server, past all layers in front; of several connections that of any which is up.
    pub(crate) fn client(&self) -> Option<Arc<ServerClient>> {
        self.up().find_map(|instance| instance.client())
    }

    /// Returns the server's capabilities on the connection of this agent, if that is up.
    pub(crate) fn capabilities(&self, agent: &Principal) -> Object {
        let said = self.of(agent).and_then(|instance| instance.shared.description());
        said.unwrap_or_default().capabilities
    }

    /// Returns the server's instructions for a model on the connection of this agent, if that is up and nothing is
    /// hidden in them.
    pub(crate) fn instructions(&self, agent: &Principal) -> Option<Arc<str>> {
        self.of(agent)?.shared.description()?.instructions
    }

    /// Returns the layers in front of the connection of this agent, if that has begun.
    pub(crate) fn stack(&self, agent: &Principal) -> Option<ServerStack> {
        self.on(&self.connection_key(agent))?.shared.state.stack.get().cloned()
    }

    /// Returns the last lines that the server wrote to its standard error, the oldest first.
    pub(crate) fn log(&self, lines: usize) -> Vec<String> {
        self.of_server.log.last(lines)
    }

    /// Returns the views of all its connections; one view for a server without any.
    pub(crate) fn views(&self) -> Vec<ServerView> {
        let instances = self.all();
        if instances.is_empty() {
            return vec![self.view(None)];
        }
        instances.iter().map(|instance| self.view(Some(instance))).collect()
    }

    fn view(&self, instance: Option<&ServerConnection>) -> ServerView {
        let shared = instance.map(|instance| &instance.shared);
        let agent = shared.and_then(|shared| shared.key.agent.as_ref());
        let tools = shared.map_or(0, |shared| self.tools_on(shared));
        let client = shared.and_then(|shared| self.client_on(&shared.key));
        let session = instance.and_then(ServerConnection::session);
        let trust = settings::trust(&self.config, session.as_deref());
        let revision = session.as_deref().map(|session| session.revision);
        let mgp = session.and_then(|session| {
            let agreed = session.mgp.as_ref()?;
            let extensions = agreed.extensions().names().map(ToString::to_string).collect();
            Some(MgpView { version: agreed.version().to_string(), extensions })
        });
        let own = shared.map(|shared| &shared.state);
        let pid = own.map_or(0, |own| own.pid.load(Ordering::Relaxed));
        let state = instance.map_or(ServerState::Registered, |instance| instance.supervised.state());
        let is_up = state == ServerState::Connected;
        let since = own.and_then(|own| *own.connected_at.lock());
        let starting = own.filter(|_| state == ServerState::Connecting);
        let delay = starting.and_then(|own| own.attempt.lock().delay());
        ServerView {
            id: self.id.clone(),
            agent: agent.map(|agent| agent.access_id().into_owned()),
            client: client.map(|client| client.agent.access_id().into_owned()),
            state,
            last_error: own.and_then(|own| own.last_error.lock().clone()).filter(|_| !is_up),
            delay,
            restarts: own.map_or(0, |own| own.connects.load(Ordering::Relaxed).saturating_sub(1)),
            mgp,
            protocol: revision.map(|revision| ProtocolView::new(self.config.protocol, revision)),
            trust,
            tools,
            pid: (is_up && pid > 0).then(|| kept_by(pid)),
            // The time is noted a moment after the state.
            uptime: is_up.then(|| since.map_or(Duration::ZERO, |since| since.elapsed())),
        }
    }

    /// Returns the connections that are up.
    fn up(&self) -> impl Iterator<Item = Arc<ServerConnection>> {
        let is_up = |instance: &Arc<ServerConnection>| instance.supervised.state() == ServerState::Connected;
        self.all().into_iter().filter(is_up)
    }
}
