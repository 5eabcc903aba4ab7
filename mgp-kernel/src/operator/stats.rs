//! What the kernel has done and saved, in numbers.

use mgp_toolindex::budget::default_counter;
use serde::{Deserialize, Serialize};

use crate::parts::Parts;

/// Numbers about the kernel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stats {
    pub(crate) version: String,
    pub(crate) uptime_secs: u64,
    pub(crate) servers: u64,
    pub(crate) tools: u64,
    /// How many tokens the definitions of all tools take in a model's context.
    pub(crate) tool_tokens: u64,
    /// How many events the record has had.
    pub(crate) audit_events: u64,
    /// How many questions wait for an operator.
    pub(crate) pending: u64,
}

pub(super) fn stats(parts: &Parts) -> Stats {
    let snapshot = parts.catalog.snapshot();
    let counter = default_counter();
    let tokens = |definition: &[u8]| u64::from(counter.count(&String::from_utf8_lossy(definition)));
    Stats {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime_secs: parts.life.uptime().as_secs(),
        servers: parts.fleet.all().len() as u64,
        tools: snapshot.tools().len() as u64,
        tool_tokens: snapshot.tools().iter().map(|tool| tokens(tool.definition.as_bytes())).sum(),
        audit_events: parts.audit.head().seq,
        pending: parts.pending.list().len() as u64,
    }
}
