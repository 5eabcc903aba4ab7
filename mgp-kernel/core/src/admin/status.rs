//! The status of a running kernel as a process: since when and for whom it runs, and when it ends; and its statistics: the
//! calls, and the tokens that it saves.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use mgp_discovery::Config;
use mgp_toolindex::Snapshot;
use mgp_toolindex::discovery::Sizes;
use mgp_toolindex::level::Level;
use mgp_toolindex::session::{SessionKey, ToolView};
use mgp_types::Error;
use mgp_types::mgp::{ServerId, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::audit::{Callers, callers};
use super::operation::{KernelNeed, Operation, OperatorCall, ServersToBegin};
use super::servers::{CallCounts, ServerList, ServerRow};
use crate::catalog::EncoderProgress;
use crate::lifecycle::{HttpListening, Lifecycle, ServedKernel};
use crate::record::PushLag;
use crate::replicas::LinkStatus;
use crate::sections::Sections;
use crate::state::folder::DiskSpace;
use crate::state::kernel_note::KernelNote;
use crate::terminal::{TextForm, TextWriter, or_dash};
use crate::{StartError, settings};

/// Reads the status of the kernel.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadStatus {}

/// Stops the kernel once calls in work have ended, as a signal does. The reply is its last status.
#[derive(Debug, Serialize, Deserialize)]
pub struct StopKernel {}

/// Lets the program at the path of the kernel's take over from it, with its sockets. The reply is the last status of the kernel.
#[derive(Debug, Serialize, Deserialize)]
pub struct RestartKernel {}

/// The status of a kernel.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a member of the JSON that `mgp status --json` prints"
)]
#[derive(Debug, Serialize, Deserialize)]
pub struct KernelStatus {
    pub(crate) running: bool,
    /// True if the kernel was told to end.
    #[serde(default)]
    pub draining: bool,
    /// The process of the kernel.
    pub pid: u32,
    /// The version of `mgp`.
    pub version: String,
    /// The time of the start.
    pub since: Timestamp,
    /// The files of the configuration.
    pub files: Vec<PathBuf>,
    /// The state directory.
    pub state: PathBuf,
    /// The number of seconds for which the kernel goes on after the last client and command have left; left out where
    /// it does not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linger_secs: Option<u64>,
    /// The address for clients over HTTP, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpListening>,
    /// True if every program of the account may decide, without the operator passphrase.
    pub without_proof: bool,
    /// True if no operator passphrase is set and a client has connected, so that nobody can approve calls.
    #[serde(default)]
    pub locked: bool,
    /// The keys of the changed configuration that wait until an operator reloads it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<String>,
    /// The number of questions that wait for an operator.
    #[serde(default)]
    pub pending: u64,
    /// The events of the record that wait to be pushed, where the record is pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<PushLag>,
    /// The link to the kernels with which this one shares its decisions, if it shares them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkStatus>,
    /// The room on the disk of the state, where the system tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskSpace>,
    /// The progress of the encoder, if searches do not use it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder: Option<EncoderProgress>,
    /// The clients that are connected.
    pub clients: Vec<ClientRow>,
    /// The servers.
    pub servers: Vec<ServerRow>,
}

/// A client of an agent that shares the kernel.
#[derive(Debug, Serialize, Deserialize)]
pub struct ClientRow {
    /// The agent that the client is.
    pub agent_id: String,
    /// The name and version that the client gives of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The process number of the `mgp serve` that the client has started, where the system tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    /// The program that has started that process, where the system tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The time since the client connected, in seconds.
    pub connected_secs: u64,
}

/// Has a kernel in the background read its configuration, which it follows anyway, and ends the kernel if that is not enough
/// and nobody but the caller uses it.
#[derive(Debug, Serialize, Deserialize)]
pub struct StepAside {
    /// The process number of the kernel that is meant.
    pub pid: Option<u32>,
    /// The digest of the configuration that the caller wants; the kernel stays if it can apply that. `None` if the caller
    /// wants another kernel in any case.
    #[serde(default)]
    pub config: Option<String>,
}

/// The answer of a kernel that was asked to make way for another one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SteppedAside {
    /// True if the kernel ends.
    pub ends: bool,
    /// The reason why the kernel keeps its previous configuration, if it does.
    #[serde(default)]
    pub error: Option<String>,
}

impl Operation for ReadStatus {
    type Reply = KernelStatus;

    async fn run(self, call: &OperatorCall) -> Result<KernelStatus, Error> {
        let Sections { lifecycle, policies, config, audit, link, .. } = &*call.kernel;
        let served = served(lifecycle)?;
        let clients = lifecycle.connections.clients().into_iter().map(|client| {
            let (pid, program) = client.process.map(|(pid, program)| (pid, program.into_string())).unzip();
            ClientRow {
                agent_id: client.session.principal(&client.agent, None).access_id().into_owned(),
                said: client.session.said().map(str::to_owned),
                pid,
                program,
                connected_secs: client.since.elapsed().as_secs(),
            }
        });
        Ok(KernelStatus {
            running: true,
            draining: lifecycle.is_stopping(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            since: served.since,
            files: served.files.clone(),
            state: config.state().to_owned(),
            linger_secs: served.linger.map(|linger| linger.as_secs()),
            http: served.http.lock().clone(),
            without_proof: policies.proofs.is_without_proof(),
            locked: policies.proofs.is_locked(),
            waiting: config.waiting(),
            pending: policies.pending.list().len() as u64,
            push: audit.push_lag(),
            link: link.as_ref().map(|link| link.freshness.status()),
            disk: DiskSpace::of(config.state()),
            encoder: call.kernel.tools.encoder_progress(),
            clients: clients.collect(),
            servers: ServerList::of(&call.kernel).servers,
        })
    }
}

impl Operation for StopKernel {
    type Reply = KernelStatus;

    async fn run(self, call: &OperatorCall) -> Result<KernelStatus, Error> {
        let status = ReadStatus {}.run(call).await?;
        call.record_act("dev.cloto.mgp.kernel_stopped", &[]).await?;
        served(&call.kernel.lifecycle)?.stop.notify_one();
        Ok(status)
    }
}

impl Operation for RestartKernel {
    type Reply = KernelStatus;

    async fn run(self, call: &OperatorCall) -> Result<KernelStatus, Error> {
        let served = served(&call.kernel.lifecycle)?;
        served.check_restart().await.map_err(Error::invalid_request)?;
        let status = ReadStatus {}.run(call).await?;
        call.record_act("dev.cloto.mgp.kernel_restarted", &[]).await?;
        served.restart.notify_one();
        Ok(status)
    }
}

impl Operation for StepAside {
    type Reply = SteppedAside;

    async fn run(self, call: &OperatorCall) -> Result<SteppedAside, Error> {
        let lifecycle = &call.kernel.lifecycle;
        let served = served(lifecycle)?;
        let follows = served.linger.is_some() && !lifecycle.is_stopping();
        let reread = if follows { reread(&call.kernel).await } else { Ok(()) };
        if let Some(wanted) = self.config.filter(|_| follows) {
            let is_current = || {
                let note = KernelNote::read(call.kernel.config.state());
                note.is_some_and(|note| note.has_read(&wanted))
            };
            if reread.is_err() || is_current() {
                return Ok(SteppedAside { ends: false, error: reread.err().map(|error| error.to_string()) });
            }
        }
        let connections = &lifecycle.connections;
        let mut is_used = served.http.lock().is_some() || !connections.clients().is_empty();
        if !is_used {
            // A command that has just ended leaves a moment later.
            is_used = timeout(LONGEST_LEAVE, connections.at_most(1)).await.is_err()
                || !connections.clients().is_empty();
        }
        let is_meant = self.pid == Some(std::process::id());
        let yields = is_meant && served.linger.is_some() && !is_used;
        if yields {
            served.stop.notify_one();
        }
        // A kernel that another one follows leaves its sockets to that one, which does not end.
        let stops = lifecycle.is_stopping() && !lifecycle.is_restarting();
        Ok(SteppedAside { ends: yields || stops, error: None })
    }
}

/// Reads the configuration again. If it is invalid now, logs the error and keeps the previous one.
pub async fn reread(kernel: &Sections) -> Result<(), StartError> {
    let reread = kernel.reread_config().await;
    reread.inspect_err(|error| tracing::error!(%error, "the configuration stays as it was"))
}

fn served(lifecycle: &Lifecycle) -> Result<Arc<ServedKernel>, Error> {
    let served = lifecycle.served.get().cloned();
    served.ok_or_else(|| Error::invalid_request("this kernel is the command's own, and ends with it"))
}

/// The longest time that other commands have to leave a kernel that is to make way.
const LONGEST_LEAVE: Duration = Duration::from_secs(1);

/// Counts calls, times, and the tokens that tool lists save.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct ReadStats {}

/// The statistics of the kernel.
#[derive(Debug, Serialize, Deserialize)]
pub struct Stats {
    version: String,
    uptime_secs: u64,
    pub(crate) servers: u64,
    pub(crate) tools: u64,
    /// The number of tokens that the definitions of all tools take in a model's context.
    pub(crate) tool_tokens: u64,
    /// The level at which a session that begins now lists the tools.
    pub(crate) level: Level,
    /// The number of tokens that this list takes: the kernel's own tools, and the pinned ones.
    pub(crate) listed_tokens: u64,
    /// The number of tokens that each list saves.
    pub(crate) saved_tokens: u64,
    /// The number of events that the record has had.
    pub(crate) audit_events: u64,
    /// The number of questions that wait for an operator.
    pub(crate) pending: u64,
    /// The calls of each server, by its id.
    calls: Vec<ServerCalls>,
    pub(crate) callers: Callers,
}

/// The counts of a server's calls.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServerCalls {
    server_id: ServerId,
    #[serde(flatten)]
    calls: CallCounts,
}

impl Operation for ReadStats {
    // What lists save follows from the tools of all servers.
    const NEED: KernelNeed = KernelNeed::Servers(ServersToBegin::All);
    type Reply = Stats;

    async fn run(self, call: &OperatorCall) -> Result<Stats, Error> {
        let Sections { config, tools, fleet, audit, policies, lifecycle, .. } = &*call.kernel;
        let (all, level, listed) = tokens(&config.load(), &tools.index.snapshot())
            .map_err(|error| Error::internal("the lists of tools cannot be counted").with_source(error))?;
        let servers = fleet.all();
        let calls = servers.iter();
        let calls = calls.map(|it| ServerCalls { server_id: it.id().clone(), calls: CallCounts::of(it) });
        Ok(Stats {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_secs: lifecycle.life.uptime().as_secs(),
            servers: servers.len() as u64,
            tools: tools.catalog.snapshot().tools().len() as u64,
            tool_tokens: all,
            level,
            listed_tokens: listed,
            saved_tokens: all.saturating_sub(listed),
            audit_events: audit.log.head().seq,
            pending: policies.pending.list().len() as u64,
            calls: calls.collect(),
            callers: callers(audit).await?,
        })
    }
}

impl TextForm for Stats {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let sums = [
            ("servers", self.servers.to_string()),
            ("tools", self.tools.to_string()),
            ("tokens of all definitions", self.tool_tokens.to_string()),
            ("tokens that are listed", self.listed_tokens.to_string()),
            ("tokens saved by each list", self.saved_tokens.to_string()),
            ("events in the record", self.audit_events.to_string()),
            ("questions that wait", self.pending.to_string()),
            ("seconds up", self.uptime_secs.to_string()),
            ("level of the list", self.level.to_string()),
        ];
        out.table(&[], sums.map(|(what, count)| [what.to_owned(), count]), "")?;
        if self.calls.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        // Times are counted as upper bounds.
        let time =
            |micros: Option<u64>| or_dash(micros.map(Duration::from_micros).map(|time| format!("{time:?}")));
        let rows = self.calls.iter().map(|row| {
            [
                row.server_id.to_string(),
                row.calls.ended.to_string(),
                row.calls.failed.to_string(),
                row.calls.in_work.to_string(),
                time(row.calls.p50_micros),
                time(row.calls.p95_micros),
            ]
        });
        out.table(&["SERVER", "CALLS", "ERRORS", "IN WORK", "P50", "P95"], rows, "")
    }
}

/// Counts the tokens that all tools take, of what a model sees of a tool, and those that a list of them takes at the level.
fn tokens(config: &Config, snapshot: &Snapshot) -> Result<(u64, Level, u64), StartError> {
    let sessions = settings::tool_sessions(config, &settings::tool_discovery(config))?;
    let view = ToolView::all(snapshot);
    let sizes = Sizes::of(&view, sessions.settings().counter());
    let meta = u64::from(sessions.settings().meta_tokens());
    let level = settings::level(config, sizes.definition_tokens);
    let listed = match level {
        Level::L0 => sizes.definition_tokens,
        Level::L1 => meta + sizes.category_tokens,
        Level::L2 => meta,
        Level::L3 => sessions.listed(&SessionKey::new("", None), &view).tokens.into(),
    };
    Ok((sizes.definition_tokens, level, listed))
}
