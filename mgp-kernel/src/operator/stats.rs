//! The statistics of the kernel: its calls, and the tokens that it saves.

use std::time::Duration;

use mgp_discovery::Config;
use mgp_security::permission::PendingApprovals;
use mgp_toolindex::Snapshot;
use mgp_toolindex::level::{Level, Sizes};
use mgp_toolindex::session::{SessionKey, ToolView};
use mgp_types::Error;
use mgp_types::mgp::ServerId;
use serde::{Deserialize, Serialize};

use super::servers::CallCounts;
use crate::catalog::ToolCatalog;
use crate::record::AuditTrail;
use crate::servers::fleet::Fleet;
use crate::{StartError, settings};

/// The statistics of the kernel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stats {
    pub(crate) version: String,
    pub(crate) uptime_secs: u64,
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
    pub(crate) calls: Vec<ServerCalls>,
}

/// The counts of a server's calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerCalls {
    pub(crate) server_id: ServerId,
    #[serde(flatten)]
    pub(crate) calls: CallCounts,
}

/// The numbers of tokens that all tools take, and that a list of them takes at `level`.
struct Tokens {
    all: u64,
    level: Level,
    listed: u64,
}

pub(super) fn stats(
    config: &Config,
    tools: &ToolCatalog,
    fleet: &Fleet,
    uptime: Duration,
    audit: &AuditTrail,
    pending: &PendingApprovals,
) -> Result<Stats, Error> {
    let tokens = Tokens::count(config, &tools.index.snapshot())
        .map_err(|error| Error::internal("the lists of tools cannot be counted").with_source(error))?;
    let servers = fleet.all();
    let calls = |server: &crate::servers::upstream::Upstream| ServerCalls {
        server_id: server.id().clone(),
        calls: CallCounts::of(server),
    };
    Ok(Stats {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime_secs: uptime.as_secs(),
        servers: servers.len() as u64,
        tools: tools.catalog.snapshot().tools().len() as u64,
        tool_tokens: tokens.all,
        level: tokens.level,
        listed_tokens: tokens.listed,
        saved_tokens: tokens.all.saturating_sub(tokens.listed),
        audit_events: audit.log.head().seq,
        pending: pending.list().len() as u64,
        calls: servers.iter().map(|server| calls(server)).collect(),
    })
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
