//! The servers and their states: listed, started and stopped, with what they wrote to their standard error.

use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_discovery::config::ProcessEnvironment;
use mgp_discovery::config::model::ServerConfig;
use mgp_security::definition::DefinitionGuard;
use mgp_types::mgp::{AuditTarget, ServerId, ServerState, ShutdownReason};
use mgp_types::{Error, code};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::definition_status::HeldCounts;
use super::process_memory::ProcessGroups;
use super::request::OperatorRequest;
use crate::catalog::ToolCatalog;
use crate::servers::fleet::Fleet;
use crate::servers::upstream::Upstream;

/// The params that ask for the list of servers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ListServers {
    /// The servers that start if they wait until somebody needs them.
    #[serde(default)]
    pub(crate) begin: ServersToBegin,
}

/// A choice of servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ServersToBegin {
    #[default]
    None,
    All,
    Only(Vec<ServerId>),
}

/// The list of all servers, by id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerList {
    pub(crate) servers: Vec<ServerRow>,
}

/// A server, or a connection to it where agents have their own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerRow {
    pub(crate) id: ServerId,
    /// The agent whose connection it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent_id: Option<String>,
    pub(crate) state: ServerState,
    /// True if the server is being connected to for the first time.
    #[serde(default)]
    pub(crate) starting: bool,
    /// True if the configuration lets the server be used.
    pub(crate) enabled: bool,
    /// The number of its tools that are offered.
    pub(crate) tools: u64,
    /// True while the server is asked again for what has changed.
    #[serde(default)]
    pub(crate) listing: bool,
    /// The number of its tools, prompts, templates and resources that are held until they are approved.
    #[serde(default)]
    pub(crate) held: u64,
    /// The number of its definitions that are offered and flagged.
    #[serde(default)]
    pub(crate) flagged: u64,
    /// The transport by which the server is reached.
    pub(crate) transport: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// The negotiated version of MGP; `None` for a plain MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mgp: Option<String>,
    /// The revision of MCP that is spoken with the server, while it is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<String>,
    /// The reason why this revision was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) protocol_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_error: Option<String>,
    /// The reason why a start takes long, while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<String>,
    /// The reason why the server cannot be started as it is configured, such as a variable that is not set where the
    /// kernel runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fault: Option<String>,
    #[serde(default)]
    pub(crate) restarts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uptime_secs: Option<u64>,
    #[serde(default)]
    pub(crate) calls: CallCounts,
    /// The connections to the server, each with the program behind it: one, or one for each client that uses it.
    #[serde(default)]
    pub(crate) instances: Vec<ServerInstance>,
}

/// A connection to a server, and the program behind it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerInstance {
    /// The client that has it to itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<String>,
    pub(crate) state: ServerState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    /// The resident memory of the program, with all processes that it has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_bytes: Option<u64>,
}

impl ServerRow {
    /// Returns the memory of all its programs, in bytes; `None` if it is not known.
    pub(crate) fn memory_bytes(&self) -> Option<u64> {
        self.instances.iter().filter_map(|instance| instance.memory_bytes).reduce(u64::saturating_add)
    }
}

impl ServerRow {
    /// Returns the state as a word for people, which also says what is wrong with the configuration.
    pub(crate) fn state_word(&self) -> &'static str {
        match (self.enabled, &self.fault) {
            (false, _) => "disabled",
            (true, Some(_)) => "faulty",
            (true, None) if self.starting => "starting",
            (true, None) => self.state.as_str(),
        }
    }

    /// Returns whether nothing is known of what the server offers, from this start or the last one, and it has not failed.
    pub(crate) fn is_unheard(&self) -> bool {
        let begins = self.starting || self.state == ServerState::Registered;
        begins && self.enabled && self.fault.is_none() && self.tools + self.held == 0
    }
}

/// The counts of a server's calls, of all its connections together.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CallCounts {
    pub(crate) ended: u64,
    pub(crate) failed: u64,
    pub(crate) in_work: u64,
    /// The time in microseconds that half of the calls took at most, as far as it was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p50_micros: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p95_micros: Option<u64>,
}

/// The params that name a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedServer {
    pub(crate) server_id: ServerId,
}

/// The state of a server after it was started or stopped.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerStateChanged {
    pub(crate) state: ServerState,
}

/// The params that ask for the last lines that a server wrote to its standard error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ReadServerLog {
    pub(crate) server_id: ServerId,
    pub(crate) lines: u32,
}

/// The last lines of a server, the oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerLog {
    pub(crate) lines: Vec<String>,
    /// The state of the server, over all of its connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<ServerState>,
    /// The reason why the server does not run, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

impl ServersToBegin {
    /// Returns whether the server with this id is one of them.
    pub(crate) fn has(&self, id: &ServerId) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(ids) => ids.contains(id),
        }
    }
}

/// Starts servers that wait until somebody needs them, and has searches find what was listed so far.
pub(super) async fn begin(tools: &ToolCatalog, fleet: &Fleet, wanted: &ServersToBegin) {
    if *wanted == ServersToBegin::None {
        return;
    }
    fleet.all().iter().filter(|server| wanted.has(server.id())).for_each(|server| server.release());
    tools.index.settled().await;
}

pub(super) fn list(config: &Config, definitions: &DefinitionGuard, fleet: &Fleet) -> ServerList {
    let of = |id: &ServerId| config.servers.iter().find(|server| server.id == id.as_str());
    let counts = HeldCounts::of(definitions);
    let processes = ProcessGroups::read();
    let mut servers: Vec<ServerRow> = Vec::new();
    for view in fleet.views() {
        let instance = ServerInstance {
            client: view.client,
            state: view.state,
            pid: view.pid,
            memory_bytes: view.pid.and_then(|pid| processes.memory(pid)),
        };
        // The instances of clients follow the first one, which lists for all.
        let is_same = |row: &&mut ServerRow| row.id == view.id && view.agent.is_none();
        if let Some(row) = servers.last_mut().filter(is_same) {
            row.restarts += view.restarts;
            if view.state == ServerState::Connected {
                (row.state, row.starting, row.last_error, row.delay) = (view.state, false, None, None);
            }
            row.instances.push(instance);
            continue;
        }
        let configured = of(&view.id);
        let (held, flagged) = counts.of_server(&view.id, view.agent.as_deref());
        servers.push(ServerRow {
            held,
            flagged,
            instances: vec![instance],
            agent_id: view.agent,
            state: view.state,
            starting: fleet.get(view.id.as_str()).is_some_and(|server| server.is_starting()),
            listing: fleet.get(view.id.as_str()).is_some_and(|server| server.is_listing()),
            enabled: true,
            tools: view.tools as u64,
            transport: configured.map_or("registered", way).to_owned(),
            description: configured.and_then(|server| server.description.clone()),
            mgp: view.mgp.map(|mgp| mgp.version),
            protocol: view.protocol.map(|protocol| protocol.revision.to_string()),
            protocol_reason: view.protocol.map(|protocol| protocol.reason.to_owned()),
            last_error: view.last_error,
            delay: view.delay,
            fault: configured.and_then(fault),
            restarts: view.restarts,
            pid: view.pid,
            uptime_secs: view.uptime.map(|uptime| uptime.as_secs()),
            calls: fleet.get(view.id.as_str()).map(|server| CallCounts::of(&server)).unwrap_or_default(),
            id: view.id,
        });
    }
    // Servers that do not run are shown as well, so that nobody looks for them.
    for server in &config.servers {
        if !servers.iter().any(|running| running.id.as_str() == server.id) {
            let id = ServerId::from(server.id.as_str());
            let (held, flagged) = counts.of_server(&id, None);
            servers.push(ServerRow {
                id,
                held,
                flagged,
                agent_id: None,
                instances: Vec::new(),
                state: ServerState::Registered,
                starting: false,
                listing: false,
                enabled: server.enabled,
                tools: 0,
                transport: way(server).to_owned(),
                description: server.description.clone(),
                mgp: None,
                protocol: None,
                protocol_reason: None,
                last_error: None,
                delay: None,
                fault: Some(server).filter(|server| server.enabled).and_then(fault),
                restarts: 0,
                pid: None,
                uptime_secs: None,
                calls: CallCounts::default(),
            });
        }
    }
    servers.sort_by(|one, other| (&one.id, &one.agent_id).cmp(&(&other.id, &other.agent_id)));
    ServerList { servers }
}

/// Connects to a server with a URL anew, by the login that it has now. One that was stopped stays so.
pub(super) async fn reconnect(
    asked: &OperatorRequest,
    config: &Config,
    fleet: &Fleet,
    named: NamedServer,
) -> Result<ServerStateChanged, Error> {
    let server = known(config, fleet, &named.server_id)?;
    let has_url = config.server(named.server_id.as_str()).is_some_and(|server| server.url.is_some());
    if has_url && server.state() != ServerState::Disconnected {
        return restart(asked, config, fleet, named).await;
    }
    Ok(ServerStateChanged { state: server.state() })
}

pub(super) async fn restart(
    asked: &OperatorRequest,
    config: &Config,
    fleet: &Fleet,
    named: NamedServer,
) -> Result<ServerStateChanged, Error> {
    let server =
        recorded(asked, known(config, fleet, &named.server_id)?, &named, "dev.cloto.mgp.server_restarted")
            .await?;
    server.restart(ShutdownReason::OperatorRequest).await?;
    Ok(ServerStateChanged { state: server.state() })
}

pub(super) async fn start(
    asked: &OperatorRequest,
    config: &Config,
    fleet: &Fleet,
    named: NamedServer,
) -> Result<ServerStateChanged, Error> {
    let server =
        recorded(asked, known(config, fleet, &named.server_id)?, &named, "dev.cloto.mgp.server_started")
            .await?;
    server.start();
    let end = Instant::now() + LONGEST_START;
    // The order to start is carried out later, so the state of a server that was stopped is none to answer with.
    let is_on_its_way = |state| {
        use ServerState::{Connecting, Disconnected, Registered};
        matches!(state, Registered | Connecting | Disconnected)
    };
    while is_on_its_way(server.state()) && Instant::now() < end {
        sleep(LOOK_EVERY).await;
    }
    Ok(ServerStateChanged { state: server.state() })
}

pub(super) async fn stop(
    asked: &OperatorRequest,
    config: &Config,
    fleet: &Fleet,
    named: NamedServer,
) -> Result<ServerStateChanged, Error> {
    let server =
        recorded(asked, known(config, fleet, &named.server_id)?, &named, "dev.cloto.mgp.server_stopped")
            .await?;
    server.stop(ShutdownReason::OperatorRequest, DRAIN).await;
    Ok(ServerStateChanged { state: server.state() })
}

pub(super) fn logs(
    config: &Config,
    definitions: &DefinitionGuard,
    fleet: &Fleet,
    asked: &ReadServerLog,
) -> Result<ServerLog, Error> {
    let server = known(config, fleet, &asked.server_id)?;
    let lines = server.log(asked.lines.min(MOST_LINES) as usize);
    let (mut state, mut reason) = (None, None);
    for row in list(config, definitions, fleet).servers.into_iter().filter(|row| row.id == asked.server_id) {
        state = Some(row.state);
        reason = reason.or_else(|| row.why().map(str::to_owned));
    }
    Ok(ServerLog { lines, state, reason })
}

/// Records what is about to be done with the server, and returns the server.
async fn recorded(
    asked: &OperatorRequest,
    server: Arc<Upstream>,
    named: &NamedServer,
    what: &str,
) -> Result<Arc<Upstream>, Error> {
    let target = AuditTarget::new(Some(named.server_id.clone()), None);
    asked.record(what, target, &[("state", server.state().as_str())]).await?;
    Ok(server)
}

fn known(config: &Config, fleet: &Fleet, id: &ServerId) -> Result<Arc<Upstream>, Error> {
    fleet.get(id.as_str()).ok_or_else(|| {
        if config.servers.iter().any(|server| server.id == id.as_str() && !server.enabled) {
            let message =
                format!("the server `{id}` is switched off; `enabled = true` in its configuration starts it");
            return Error::new(code::INVALID_PARAMS, message);
        }
        let near: Vec<_> = fleet.near(id.as_str()).iter().map(ToString::to_string).collect();
        let message = if near.is_empty() {
            format!("there is no server `{id}`; `mgp servers` shows those there are")
        } else {
            format!("there is no server `{id}`; did you mean {}?", near.join(", "))
        };
        Error::new(code::INVALID_PARAMS, message)
    })
}

impl ServerRow {
    /// Returns why the server does not run, or not yet, if that is known.
    pub(crate) fn why(&self) -> Option<&str> {
        self.fault.as_deref().or(self.last_error.as_deref()).or(self.delay.as_deref())
    }

    /// Returns the commands that say more about a server that does not run.
    pub(crate) fn remedy(&self) -> String {
        let id = &self.id;
        if self.fault.is_some() {
            "correct this where the kernel runs, and restart the kernel".to_owned()
        } else if self.transport == "stdio" {
            format!("`mgp logs {id}` shows what it wrote, `mgp restart {id}` starts it again at once")
        } else {
            format!(
                "`mgp config check` shows the file with its address, `mgp restart {id}` tries again at once"
            )
        }
    }
}

impl CallCounts {
    pub(super) fn of(server: &Upstream) -> Self {
        let reading = server.meter().read();
        let micros = |part| {
            let took = reading.quantile(part)?;
            Some(u64::try_from(took.as_micros()).unwrap_or(u64::MAX))
        };
        Self {
            p50_micros: micros(0.5),
            p95_micros: micros(0.95),
            ended: reading.calls,
            failed: reading.failed,
            in_work: reading.in_work,
        }
    }
}

fn fault(server: &ServerConfig) -> Option<String> {
    server.expanded(&ProcessEnvironment).err().map(|fault| fault.to_string())
}

fn way(server: &ServerConfig) -> &'static str {
    match (&server.command, &server.url) {
        (Some(_), _) => "stdio",
        (None, Some(_)) => "http",
        (None, None) => "unix",
    }
}

/// The longest time that the answer to an order to start waits for the server's state.
const LONGEST_START: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);
const DRAIN: Duration = Duration::from_secs(10);
const MOST_LINES: u32 = 1_000;
