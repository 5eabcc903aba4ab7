//! The list of servers, with their states, their programs and the memory of these.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::config::{ProcessEnvironment, Reach};
use mgp_types::Error;
use mgp_types::mgp::{ServerId, ServerState};
use serde::{Deserialize, Serialize};

use super::definition_status::HeldCounts;
use super::operation::{Operation, OperatorCall, ServersToBegin};
use crate::peer::Process;
use crate::sections::Sections;
use crate::servers::upstream::{ServerView, Upstream, reach_here};
use crate::terminal::{TextForm, TextWriter, or_dash, printable};

/// Lists all servers by id.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ListServers {
    /// The servers that start if they wait until somebody needs them.
    #[serde(default)]
    pub begin: ServersToBegin,
}

/// The list of all servers.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServerList {
    /// The servers.
    pub servers: Vec<ServerRow>,
    /// The changes of the configuration that do not take effect yet, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingChanges>,
}

/// The changes of the configuration that wait for an operator.
#[derive(Debug, Serialize, Deserialize)]
pub struct WaitingChanges {
    /// The keys, such as `servers.files`.
    keys: Vec<String>,
    /// The command that applies them.
    command: String,
}

/// The part of a server's configuration that waits until an operator accepts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingPart {
    /// The whole server, which does not run yet.
    Server,
    /// A change; the server runs as it was configured before.
    Change,
}

/// A server, or a connection to it where agents have their own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerRow {
    /// The id of the server.
    pub id: ServerId,
    /// The agent whose connection it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent_id: Option<String>,
    /// The state of the server.
    pub state: ServerState,
    /// True if the server is being connected to for the first time.
    pub starting: bool,
    /// True if the configuration lets the server be used.
    pub enabled: bool,
    /// The part of its configuration that waits until an operator accepts it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingPart>,
    /// The number of its tools that are offered.
    pub tools: u64,
    /// True while the server is asked again for what has changed.
    pub listing: bool,
    /// The number of its tools, prompts, templates and resources that are held until they are approved.
    pub(crate) held: u64,
    /// The number of its definitions that are offered and flagged.
    pub(crate) flagged: u64,
    /// A sentence about each of its definitions that only the server can correct.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<String>,
    /// The transport by which the server is reached.
    pub(crate) transport: String,
    /// The reach of its program, if the kernel starts one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reach: Option<Reach>,
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
    /// The last error of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The reason why a start takes long, while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<String>,
    /// The reason why the server cannot be started as it is configured, such as a variable that is not set where the
    /// kernel runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    pub(crate) restarts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uptime_secs: Option<u64>,
    /// The calls of the server since the kernel started.
    pub calls: CallCounts,
    /// The connections to the server, each with the program behind it: one, or one for each client that uses it.
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

/// The counts of a server's calls, of all its connections together.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct CallCounts {
    /// The number of calls that ended.
    pub ended: u64,
    /// The number of calls that ended in an error.
    pub failed: u64,
    /// The number of calls in progress.
    pub in_work: u64,
    /// The time in microseconds that half of the calls took at most, as far as it was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_micros: Option<u64>,
    /// The time in which 95 of 100 calls ended, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_micros: Option<u64>,
}

impl Operation for ListServers {
    type Reply = ServerList;

    async fn run(self, call: &OperatorCall) -> Result<ServerList, Error> {
        let Sections { fleet, tools, .. } = &*call.kernel;
        if self.begin != ServersToBegin::None {
            for server in fleet.all().iter().filter(|server| self.begin.has(server.id())) {
                server.release();
            }
            // Searches find what was listed so far.
            tools.index.settled().await;
        }
        Ok(ServerList::of(&call.kernel))
    }
}

impl ServerList {
    pub(super) fn of(kernel: &Sections) -> Self {
        let (fleet, config) = (&kernel.fleet, kernel.config.load());
        let counts = HeldCounts::of(&kernel.policies.definitions);
        let processes = ProcessGroups::read();
        let mut servers: Vec<ServerRow> = Vec::new();
        for view in fleet.views() {
            let instance = ServerInstance {
                client: view.client.clone(),
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
            let configured = config.servers.iter().find(|server| view.id.as_str() == server.id);
            let mut row =
                ServerRow::of(view.id.clone(), Some(&view), fleet.get(view.id.as_str()), configured, &counts);
            row.instances.push(instance);
            servers.push(row);
        }
        // Servers that do not run are shown as well, so that nobody looks for them.
        for server in &config.servers {
            if !servers.iter().any(|running| running.id.as_str() == server.id) {
                servers.push(ServerRow::of(server.id.as_str().into(), None, None, Some(server), &counts));
            }
        }
        let (keys, wanted) = (kernel.config.waiting_when_read().to_vec(), kernel.config.wanted());
        for id in keys.iter().filter_map(|key| key.strip_prefix("servers.")) {
            let part = if config.server(id).is_some() { WaitingPart::Change } else { WaitingPart::Server };
            if part == WaitingPart::Server {
                servers.push(ServerRow::of(id.into(), None, None, wanted.server(id), &counts));
            }
            let rows = servers.iter_mut().filter(|row| row.id.as_str() == id);
            rows.for_each(|row| row.waiting = Some(part));
        }
        for row in &mut servers {
            let server = config.server(row.id.as_str()).or_else(|| wanted.server(row.id.as_str()));
            let started = server.filter(|server| server.command.is_some());
            row.reach = started.map(|server| reach_here(&config, server));
        }
        servers.sort_by(|one, other| (&one.id, &one.agent_id).cmp(&(&other.id, &other.agent_id)));
        let command = "mgp reload".to_owned();
        Self { servers, waiting: (!keys.is_empty()).then_some(WaitingChanges { keys, command }) }
    }
}

impl TextForm for ServerList {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let rows = self.servers.iter().map(|server| {
            [
                server.id.to_string(),
                server.state_word().to_owned(),
                server.instances.len().to_string(),
                or_dash(server.memory_bytes().map(|bytes| format!("{} MiB", bytes >> 20))),
                server.tools.to_string(),
                server.held.to_string(),
                server.flagged.to_string(),
                server.transport.clone(),
                or_dash(server.reach.map(|reach| reach.as_str().to_owned())),
                server.protocol.clone().unwrap_or_default(),
                server.description.clone().unwrap_or_default(),
            ]
        });
        let headings = [
            "SERVER", "STATE", "INSTANCES", "MEMORY", "TOOLS", "HELD", "FLAGGED", "BY", "REACH", "PROTOCOL",
            "FOR",
        ];
        out.table(&headings, rows, "no servers; `mgp add NAME -- COMMAND` adds one")
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for server in self.servers.iter().filter(|server| server.enabled) {
            notes.extend(server.why().map(|why| format!("{}: {}", server.id, printable(why))));
            let left_out = server.left_out.iter().take(MAX_LEFT_OUT);
            notes.extend(left_out.map(|sentence| format!("{}: {}", server.id, printable(sentence))));
            if server.held + server.flagged > 0 {
                let (id, held, flagged) = (&server.id, server.held, server.flagged);
                notes.push(format!(
                    "{id}: {held} held, {flagged} flagged; `mgp pin list {id} --waiting` shows the reasons, \
                     `mgp pin approve {id}` approves all"
                ));
            }
        }
        notes
    }
}

/// The largest number of definitions of a server of which it is said why they are left out.
const MAX_LEFT_OUT: usize = 5;

impl ServerRow {
    /// Returns the row of a server with the `view` of its connection; without a view, it does not run.
    fn of(
        id: ServerId,
        view: Option<&ServerView>,
        server: Option<Arc<Upstream>>,
        configured: Option<&ServerConfig>,
        counts: &HeldCounts,
    ) -> Self {
        let agent_id = view.and_then(|view| view.agent.clone());
        let (held, flagged) = counts.of_server(&id, agent_id.as_deref());
        let protocol = view.and_then(|view| view.protocol.as_ref());
        let of_configured = configured.filter(|server| server.enabled);
        let fault = of_configured.and_then(|server| server.expanded(&ProcessEnvironment).err());
        Self {
            left_out: counts.left_out(&id, agent_id.as_deref()),
            id,
            agent_id,
            state: view.map_or(ServerState::Registered, |view| view.state),
            starting: server.as_ref().is_some_and(|server| server.is_starting()),
            enabled: view.is_some() || of_configured.is_some(),
            waiting: None,
            tools: view.map_or(0, |view| view.tools as u64),
            listing: server.as_ref().is_some_and(|server| server.is_listing()),
            held,
            flagged,
            transport: configured.map_or("registered", transport).to_owned(),
            reach: None,
            description: configured.and_then(|server| server.description.clone()),
            mgp: view.and_then(|view| Some(view.mgp.as_ref()?.version.clone())),
            protocol: protocol.map(|protocol| protocol.revision.to_string()),
            protocol_reason: protocol.map(|protocol| protocol.reason.to_owned()),
            last_error: view.and_then(|view| view.last_error.clone()),
            delay: view.and_then(|view| view.delay.clone()),
            fault: fault.map(|fault| fault.to_string()),
            restarts: view.map_or(0, |view| view.restarts),
            pid: view.and_then(|view| view.pid),
            uptime_secs: view.and_then(|view| Some(view.uptime?.as_secs())),
            calls: server.map(|server| CallCounts::of(&server)).unwrap_or_default(),
            instances: Vec::new(),
        }
    }

    /// Returns the clients that have a session of their own at the server, each once. Where clients share a connection, it is
    /// known that the server keeps nothing for one of them, or its operator says so.
    pub fn sessions(&self) -> Vec<String> {
        let of_clients = self.instances.iter().filter(|instance| instance.state == ServerState::Connected);
        let clients: BTreeSet<_> = of_clients.filter_map(|instance| instance.client.clone()).collect();
        clients.into_iter().collect()
    }

    /// Returns the memory of all its programs, in bytes; `None` if it is not known.
    pub(crate) fn memory_bytes(&self) -> Option<u64> {
        self.instances.iter().filter_map(|instance| instance.memory_bytes).reduce(u64::saturating_add)
    }

    /// Returns the state as a word for people, which also says what is wrong with the configuration.
    pub fn state_word(&self) -> &'static str {
        match (self.enabled, &self.fault) {
            (false, _) => "disabled",
            (true, Some(_)) => "faulty",
            (true, None) if self.waiting == Some(WaitingPart::Server) => "waiting",
            (true, None) if self.starting => "starting",
            (true, None) => self.state.as_str(),
        }
    }

    /// Returns whether the server is being connected to, and has not failed yet.
    pub fn is_connecting(&self) -> bool {
        (self.starting || self.state == ServerState::Connecting) && self.fault.is_none()
    }

    /// Returns whether the server could not be connected to, or does not run any more.
    pub fn has_failed(&self) -> bool {
        let runs_or_will = matches!(self.state, ServerState::Connected | ServerState::Registered);
        self.fault.is_some() || !runs_or_will && !self.is_connecting()
    }

    /// Returns whether nothing is known of what the server offers, from this start or the last one, and it has not failed.
    pub fn is_unheard(&self) -> bool {
        let begins = self.starting || self.state == ServerState::Registered;
        begins
            && self.waiting.is_none()
            && self.enabled
            && self.fault.is_none()
            && self.tools + self.held == 0
    }

    /// Returns why the server does not run, or not yet, if that is known.
    pub fn why(&self) -> Option<&str> {
        self.fault.as_deref().or(self.last_error.as_deref()).or(self.delay.as_deref())
    }

    /// Returns the commands that say more about a server that does not run.
    pub fn remedy(&self) -> String {
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
        let reading = server.of_server.meter.read();
        let micros =
            |percent| Some(u64::try_from(reading.percentile(percent)?.as_micros()).unwrap_or(u64::MAX));
        Self {
            p50_micros: micros(50),
            p95_micros: micros(95),
            ended: reading.calls,
            failed: reading.failed,
            in_work: reading.in_work,
        }
    }
}

fn transport(server: &ServerConfig) -> &'static str {
    match (&server.command, &server.url) {
        (Some(_), _) => "stdio",
        (None, Some(_)) => "http",
        (None, None) => "unix",
    }
}

/// The processes of the system, each with its process group. Only Linux shows them.
struct ProcessGroups(HashMap<u32, u32>);

impl ProcessGroups {
    fn read() -> Self {
        let files = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = files.filter_map(|file| file.file_name().to_str()?.parse().ok());
        Self(pids.filter_map(|pid| Some((pid, Process::read(pid)?.group))).collect())
    }

    /// Returns the resident memory of this process and all others of its group but the one that leads it, which is the
    /// kernel's, in bytes; `None` if the system does not show it.
    fn memory(&self, pid: u32) -> Option<u64> {
        let group = self.0.get(&pid)?;
        let members =
            self.0.iter().filter(|(member, of)| *of == group && (**member == pid || *member != group));
        members.filter_map(|(pid, _)| resident_memory(*pid)).reduce(u64::saturating_add)
    }
}

/// Returns the resident memory of a process, in bytes; `None` if the system does not show it.
pub(crate) fn resident_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read(format!("/proc/{pid}/status")).ok()?;
    resident(&String::from_utf8_lossy(&status))
}

/// Returns the resident memory in the text of `/proc/PID/status`, in bytes.
fn resident(status: &str) -> Option<u64> {
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim();
    kibibytes.strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_what_the_system_writes() {
        assert_eq!(resident("Name:\tx\nVmRSS:\t    1234 kB\n"), Some(1234 << 10));
        assert_eq!(resident("Name:\tkthreadd\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory() {
        assert!(ProcessGroups::read().memory(std::process::id()).unwrap() > 1 << 20);
    }
}
