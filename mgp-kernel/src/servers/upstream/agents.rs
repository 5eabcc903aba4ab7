//! The connections of a server to which each agent has its own.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_discovery::config::model::ServerConfig;
use mgp_security::access::AccessGate;
use mgp_types::mgp::{ServerState, ShutdownReason};
use mgp_types::{BoxFuture, Error, Gate, Principal, Request, Response, code, gates};
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower_service::Service;

use super::connection_key::ConnectionKey;
use super::fallback_tool::FallbackToolGate;
use super::offered_lists::AgentLists;
use super::server_connection::ServerConnection;
use super::server_shared::ServerShared;
use super::support::ServerSupport;
use crate::StartError;
use crate::call::erased::ErasedService;
use crate::call::meter::MeterGate;

/// A server to which agents have connections of their own, each with the credentials of that agent and no other's.
///
/// A connection begins when its agent first calls, and ends when the agent has not called for some time. Where agents
/// are configured nobody else has one.
pub(super) struct AgentConnections {
    support: Arc<ServerSupport>,
    /// A reference for the connections, which report the state of all of them.
    own: Weak<Self>,
    config: Arc<ServerConfig>,
    of_server: ServerShared,
    connections: Mutex<AgentConnectionTable>,
    /// The service for calls for which no connection begins; it refuses them as a connection would.
    refusing: ErasedService,
    _sweeper: JoinSet<()>,
}

#[derive(Default)]
struct AgentConnectionTable {
    by_agent: HashMap<Principal, AgentConnection, RandomState>,
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

struct AgentConnection {
    instance: Arc<ServerConnection>,
    used_at: Instant,
}

impl AgentConnections {
    pub(super) fn new(
        support: &Arc<ServerSupport>,
        config: &Arc<ServerConfig>,
        of_server: &ServerShared,
    ) -> Arc<Self> {
        Arc::new_cyclic(|agents| {
            let mut sweeper = JoinSet::new();
            sweeper.spawn(sweep(Weak::clone(agents)));
            let refusing = gates![
                FallbackToolGate::new(config),
                MeterGate(of_server.meter.clone()),
                AccessGate::new(support.policies.access.clone()).for_server(config.id.as_str().into()),
            ];
            Self {
                support: Arc::clone(support),
                own: Weak::clone(agents),
                config: Arc::clone(config),
                of_server: of_server.clone(),
                connections: Mutex::default(),
                refusing: ErasedService::new(refusing.layer(NoConnection)),
                _sweeper: sweeper,
            }
        })
    }

    /// Returns whether this agent may have a connection.
    pub(super) fn admits(&self, agent: &Principal) -> bool {
        !self.config.only_for_its_agents()
            || agent.agent_name().is_some_and(|name| self.config.agents.contains_key(name))
    }

    /// Returns whether this agent may have a connection, and may use anything on it.
    pub(super) fn reaches(&self, agent: &Principal) -> bool {
        self.admits(agent) && self.support.policies.access.reaches(&agent.access_id(), &self.config.id)
    }

    /// Returns the part of the server's lists that this agent has.
    pub(super) fn share(&self, agent: &Principal) -> AgentLists {
        if !self.reaches(agent) {
            return AgentLists::Nothing;
        }
        self.of_server.offered.of(agent).map_or(AgentLists::Coming, AgentLists::Own)
    }

    /// Returns the connection of this agent, which begins if there is none.
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
        if let Some(connection) = connections.by_agent.get_mut(agent) {
            connection.used_at = Instant::now();
            return Ok(Arc::clone(&connection.instance));
        }
        match connections.begin {
            ConnectPolicy::Yes => {}
            ConnectPolicy::NotNow => return Err(Error::disconnected("the server was stopped")),
            ConnectPolicy::Never => return Err(Error::disconnected("the server is being removed")),
        }
        if connections.by_agent.len() >= MAX_CONNECTIONS {
            return Err(Error::new(
                code::RESOURCE_EXHAUSTED,
                "too many agents have connections to this server; try again when some of them are done",
            ));
        }
        let instance = self.begin(agent).map_err(|error| {
            tracing::error!(server = self.config.id, %error, "a connection cannot begin");
            Error::internal("the server is configured in a way that leads nowhere")
        })?;
        let instance = Arc::new(instance);
        instance.supervised.start();
        let connection = AgentConnection { instance: Arc::clone(&instance), used_at: Instant::now() };
        connections.by_agent.insert(agent.clone(), connection);
        Ok(instance)
    }

    /// Returns the connection of this agent, if there is one.
    pub(super) fn of(&self, agent: &Principal) -> Option<Arc<ServerConnection>> {
        self.connections.lock().by_agent.get(agent).map(|connection| Arc::clone(&connection.instance))
    }

    pub(super) fn all(&self) -> Vec<Arc<ServerConnection>> {
        self.connections.lock().by_agent.values().map(|connection| Arc::clone(&connection.instance)).collect()
    }

    /// Lets connections begin again.
    pub(super) fn open(&self) {
        let mut connections = self.connections.lock();
        if connections.begin == ConnectPolicy::NotNow {
            connections.begin = ConnectPolicy::Yes;
        }
    }

    /// Lets no connection begin any more.
    pub(super) fn close(&self) {
        self.connections.lock().begin = ConnectPolicy::Never;
    }

    pub(super) async fn stop(&self, reason: ShutdownReason, timeout: Duration) {
        let connections = {
            let mut connections = self.connections.lock();
            if connections.begin == ConnectPolicy::Yes {
                connections.begin = ConnectPolicy::NotNow;
            }
            std::mem::take(&mut connections.by_agent)
        };
        let mut stopping = JoinSet::new();
        for connection in connections.into_values() {
            stopping.spawn(async move { connection.instance.end(reason, timeout).await });
        }
        while stopping.join_next().await.is_some() {}
    }

    /// Returns the state of the server: that of the best connection counts.
    fn state(&self) -> ServerState {
        let states = self.all().into_iter().map(|instance| instance.supervised.state());
        states.max_by_key(|state| *state == ServerState::Connected).unwrap_or(ServerState::Registered)
    }

    fn begin(&self, agent: &Principal) -> Result<ServerConnection, StartError> {
        let line = ConnectionKey::of_agent(self.config.id.as_str().into(), agent);
        let own = Weak::clone(&self.own);
        let by_all = Box::new(move || Some(own.upgrade()?.state()));
        ServerConnection::new(&self.support, &self.config, line, &self.of_server, Some(by_all))
    }

    /// Takes out the connections that nobody has used for some time.
    fn idle(&self) -> Vec<Arc<ServerConnection>> {
        self.support.told.forget_gone();
        let mut connections = self.connections.lock();
        let idle = |connection: &AgentConnection| {
            connection.used_at.elapsed() >= IDLE
                && connection.instance.supervised.in_flight() == 0
                && !connection.instance.has_unfinished_tasks()
                && !self.support.told.is_watched(&connection.instance.shared.line)
        };
        let ended = connections.by_agent.extract_if(|_, connection| idle(connection));
        ended.map(|(_, connection)| connection.instance).collect()
    }
}

async fn sweep(agents: Weak<AgentConnections>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let Some(idle) = agents.upgrade().map(|agents| agents.idle()) else { return };
        for instance in idle {
            instance.end(ShutdownReason::IdleTimeout, STOP_TIMEOUT).await;
        }
    }
}

/// A service that sends each call to the connection of the agent that makes it.
#[derive(Clone)]
pub(super) struct PerAgentService(pub(super) Arc<AgentConnections>);

impl Service<Request> for PerAgentService {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Some(agent) = &request.context.principal else {
            return Box::pin(std::future::ready(Err(Error::internal("nobody calls"))));
        };
        if !self.0.reaches(agent) && self.0.admits(agent) {
            return self.0.refusing.clone().call(request);
        }
        match self.0.connection(agent) {
            Ok(instance) => instance.service().call(request),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

/// The service behind the access gate for agents that may use nothing of the server; the gate refuses them before they
/// reach it.
#[derive(Clone)]
struct NoConnection;

impl Service<Request> for NoConnection {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        std::future::ready(Err(Error::new(code::ACCESS_DENIED, "no access to this server")))
    }
}

const MAX_CONNECTIONS: usize = 256;
const IDLE: Duration = Duration::from_mins(10);
const SWEEP: Duration = Duration::from_mins(1);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::test_kernel::{TestClient, TestKernel};
    use mgp_types::{Context as CallContext, Object};

    /// The context of a call of `agent`.
    fn calling(agent: &str) -> CallContext {
        *TestClient::stateless(agent).request("tools/call", "{}").context
    }

    #[tokio::test]
    async fn a_connection_on_which_a_task_goes_on_is_not_idle() {
        let scene = TestKernel::open().await;
        let server = r#"{"id":"mail","url":"http://127.0.0.1:9/mcp","sharing":"agent"}"#;
        let config = Arc::new(serde_json::from_str(server).unwrap());
        let agents = AgentConnections::new(&scene.support, &config, &ServerShared::default());
        let [ada, bob] = ["ada", "bob"].map(TestClient::stateless);
        let connections = [&ada, &bob].map(|peer| agents.connection(&peer.principal).unwrap());
        let remote = scene.server("remote");
        remote.answers(r#"{"resultType":"task","taskId":"1","status":"working"}"#);
        let mut to_adas = connections[0].shared.back.get().unwrap().tasks.layer(remote.clone());
        to_adas.call(ada.request("tools/call", "{}")).await.unwrap();
        tokio::time::pause();
        tokio::time::advance(IDLE).await;
        let ended = |agents: &AgentConnections| {
            let ended = agents.idle();
            ended
                .iter()
                .map(|ended| ended.shared.line.agent.as_ref().unwrap().as_str().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(ended(&agents), ["bob"]);
        remote.answers(r#"{"taskId":"1","status":"completed"}"#);
        to_adas.call(ada.request("tasks/get", r#"{"taskId":"1"}"#)).await.unwrap();
        assert_eq!(ended(&agents), ["ada"]);
        // The server, which goes on, has it still, and it is still hers.
        let again = agents.connection(&ada.principal).unwrap();
        let mut to_adas = again.shared.back.get().unwrap().tasks.layer(remote);
        to_adas.call(ada.request("tasks/get", r#"{"taskId":"1"}"#)).await.unwrap();
        assert!(to_adas.call(bob.request("tasks/get", r#"{"taskId":"1"}"#)).await.is_err());
    }

    #[tokio::test]
    async fn a_connection_that_fails_takes_no_callback_of_anothers_with_it() {
        let scene = TestKernel::open().await;
        let server =
            r#"{"id":"mail","command":"/nowhere/at/all","sharing":"agent","restart_policy":"never"}"#;
        let server = serde_json::from_str(server).unwrap();
        let prepared = scene.fleet.prepare(&[server], false).unwrap();
        scene.fleet.install(prepared);
        let of_bob = calling("bob");
        let asked = Object::parse(r#"{"callback_id":"1","type":"confirmation","message":"?"}"#).unwrap();
        let passed = {
            let way = ("mail".into(), ErasedService::new(NoConnection));
            let mut callbacks = scene.fleet.callbacks().lock();
            callbacks.pass_on((&way.0, way.1), &of_bob, &asked, Instant::now()).unwrap()
        };

        let upstream = scene.fleet.get("mail").unwrap();
        let start = upstream.begun(&Principal::new("ada")).unwrap();
        start.over().await;
        assert!(scene.fleet.callbacks().lock().answered(&of_bob, &passed).is_some());
    }
}
