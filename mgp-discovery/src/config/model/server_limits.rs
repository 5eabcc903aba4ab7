use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::Names;

/// What is different for one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolRule {
    /// Whether the tool exists for anybody. One that a rule with a `*` in its name switches off is off, whatever others say.
    pub enabled: bool,
    /// Calls a minute, of all agents together.
    #[schemars(range(min = 1))]
    pub calls_per_minute: Option<u32>,
    /// The tool of another server that is tried when this one fails, as `server.tool`.
    pub fallback: Option<String>,
}

impl Default for ToolRule {
    fn default() -> Self {
        Self { enabled: true, calls_per_minute: None, fallback: None }
    }
}

/// How much may be asked of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerLimits {
    /// How many calls it works on at once; 64 if left out. More wait in line.
    #[schemars(range(min = 1))]
    pub concurrency: Option<u32>,
    /// How many more calls wait in line; `waiting_calls` of `[limits]` if left out.
    pub waiting_calls: Option<u32>,
    /// How long a call waits in line before it is refused; `waiting_ms` of `[limits]` if left out.
    pub waiting_ms: Option<u32>,
    /// How long one try of a call may take; five minutes if left out.
    #[schemars(range(min = 1))]
    pub timeout_ms: Option<u64>,
    /// Calls a minute, of all agents together.
    #[schemars(range(min = 1))]
    pub calls_per_minute: Option<u32>,
    /// How long a result may be, in bytes; `max_message_bytes` of `[limits]` if left out.
    #[schemars(range(min = 1))]
    pub max_result_bytes: Option<u64>,
    /// How long to wait for it to start, when a call needs it; 30 seconds if left out.
    pub startup_timeout_ms: Option<u64>,
}

/// An agent that has a connection of its own.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerAgent {
    /// Variables, beside those of the server, and before them.
    pub env: BTreeMap<String, String>,
    /// Headers, beside those of the server, and before them.
    pub headers: BTreeMap<String, String>,
}

/// Who shares a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Sharing {
    /// Everybody.
    #[default]
    Shared,
    /// Only the sessions of one agent.
    Agent,
}

impl fmt::Debug for ServerAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerAgent")
            .field("env", &Names(&self.env))
            .field("headers", &Names(&self.headers))
            .finish()
    }
}
