//! The statistics of the kernel: its calls, and the tokens that it saves.

use std::io::{self, Write as _};
use std::time::Duration;

use clap::Args;
use mgp_discovery::Config;
use mgp_toolindex::Snapshot;
use mgp_toolindex::discovery::Sizes;
use mgp_toolindex::level::Level;
use mgp_toolindex::session::{SessionKey, ToolView};
use mgp_types::Error;
use mgp_types::mgp::ServerId;
use serde::{Deserialize, Serialize};

use super::command::{KernelNeed, ServersToBegin};
use super::operation::{Operation, OperatorCall, ProofNeed};
use super::servers::CallCounts;
use crate::sections::Sections;
use crate::terminal::{TextForm, TextWriter, or_dash};
use crate::{StartError, settings};

/// Counts calls, times, and the tokens that tool lists save.
#[derive(Debug, Args, Serialize, Deserialize)]
pub(crate) struct ReadStats {}

/// The statistics of the kernel.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stats {
    version: String,
    uptime_secs: u64,
    servers: u64,
    tools: u64,
    /// The number of tokens that the definitions of all tools take in a model's context.
    tool_tokens: u64,
    /// The level at which a session that begins now lists the tools.
    level: Level,
    /// The number of tokens that this list takes: the kernel's own tools, and the pinned ones.
    listed_tokens: u64,
    /// The number of tokens that each list saves.
    saved_tokens: u64,
    /// The number of events that the record has had.
    audit_events: u64,
    /// The number of questions that wait for an operator.
    pending: u64,
    /// The calls of each server, by its id.
    calls: Vec<ServerCalls>,
}

/// The counts of a server's calls.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServerCalls {
    server_id: ServerId,
    #[serde(flatten)]
    calls: CallCounts,
}

/// The numbers of tokens that all tools take, and that a list of them takes at `level`.
struct Tokens {
    all: u64,
    level: Level,
    listed: u64,
}

impl Operation for ReadStats {
    const NAME: &'static str = "kernel/stats";
    const PROOF: ProofNeed = ProofNeed::None;
    // What lists save follows from the tools of all servers.
    const NEED: KernelNeed = KernelNeed::Servers(ServersToBegin::All);
    type Reply = Stats;

    async fn run(self, call: &OperatorCall) -> Result<Stats, Error> {
        let Sections { config, tools, fleet, audit, policies, lifecycle, .. } = &*call.kernel;
        let tokens = Tokens::count(&config.load(), &tools.index.snapshot())
            .map_err(|error| Error::internal("the lists of tools cannot be counted").with_source(error))?;
        let servers = fleet.all();
        let calls = servers
            .iter()
            .map(|server| ServerCalls { server_id: server.id().clone(), calls: CallCounts::of(server) });
        Ok(Stats {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_secs: lifecycle.life.uptime().as_secs(),
            servers: servers.len() as u64,
            tools: tools.catalog.snapshot().tools().len() as u64,
            tool_tokens: tokens.all,
            level: tokens.level,
            listed_tokens: tokens.listed,
            saved_tokens: tokens.all.saturating_sub(tokens.listed),
            audit_events: audit.log.head().seq,
            pending: policies.pending.list().len() as u64,
            calls: calls.collect(),
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
        let time = |micros: Option<u64>| {
            or_dash(micros.map(|micros| format!("{:?}", Duration::from_micros(micros))))
        };
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

impl Tokens {
    /// Counts the tokens of what a model sees of a tool: name, description and arguments.
    fn count(config: &Config, snapshot: &Snapshot) -> Result<Self, StartError> {
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
        Ok(Self { all: sizes.definition_tokens, level, listed })
    }
}
