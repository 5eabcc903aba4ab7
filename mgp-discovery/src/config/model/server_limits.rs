//! The settings of single tools, and the limits and agents of a server.

use std::collections::BTreeMap;

use mgp_types::mgp::RestartPolicy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ServerConfig;

/// The settings of one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolRule {
    /// Offers the tool to clients. A tool that an entry with a `*` switches off stays off.
    pub enabled: bool,
    /// The maximum number of calls in a minute, of all agents together; no limit if left out.
    #[schemars(range(min = 1))]
    pub calls_per_minute: Option<u32>,
    /// The tool of another server that is tried when this one fails, as `server.tool`.
    pub fallback: Option<String>,
    /// The scopes that a call requires, besides those in the tool's definition, of agents that have `scopes`.
    pub required_scopes: Vec<String>,
}

impl Default for ToolRule {
    fn default() -> Self {
        Self { enabled: true, calls_per_minute: None, fallback: None, required_scopes: Vec::new() }
    }
}

/// The limits on calls of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerLimits {
    /// The maximum number of calls that the server works on at once; others wait in a queue, for two minutes at most.
    /// 64 if left out.
    #[schemars(range(min = 1))]
    pub concurrency: Option<u32>,
    /// The maximum time of a call, with all attempts and its time in the queue, in milliseconds; 300,000 if left out.
    /// If left out, calls of the tool registry's clients have 30 seconds.
    #[schemars(range(min = 1))]
    pub timeout_ms: Option<u64>,
    /// The maximum number of calls in a minute, of all agents together; no limit if left out.
    #[schemars(range(min = 1))]
    pub calls_per_minute: Option<u32>,
    /// The time that the server has to start and to answer, in milliseconds; 30,000 if left out. A call that needs it
    /// waits as long. A list of tools that is incomplete by then is an error.
    pub startup_timeout_ms: Option<u64>,
}

/// The credentials of an agent that has a connection of its own.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerAgent {
    /// The variables of this connection; they replace those of the server that have the same name.
    pub env: BTreeMap<String, String>,
    /// The headers of this connection; they replace those of the server that have the same name.
    pub headers: BTreeMap<String, String>,
}

/// Which clients share a connection to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Sharing {
    /// Each client session has a connection of its own, from its first use of the server.
    Client,
    /// All sessions share one connection.
    Shared,
    /// The sessions of one agent share a connection.
    Agent,
}

mgp_types::partial_debug!(ServerAgent, self => env: self.env.keys(), headers: self.headers.keys());

impl ServerConfig {
    /// Returns the cases in which the server is started again. The key of the server takes precedence over the key in
    /// `[servers.mgp]`; a file in which the two differ is refused.
    pub fn restart_policy(&self) -> RestartPolicy {
        let declared = self.mgp.as_ref().and_then(|mgp| mgp.restart_policy);
        self.restart_policy.or(declared).unwrap_or_default()
    }
}
