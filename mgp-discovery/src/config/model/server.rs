use std::collections::BTreeMap;

use mgp_types::mgp::{Permission, RiskLevel, TrustLevel, ValidatorName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerConfig {
    /// What the server is called everywhere: letters, digits, `.`, `_` and `-`.
    pub id: String,
    /// The program to start. A server has either this, or `url`, or `socket`.
    pub command: Option<String>,
    /// What the program is given.
    pub args: Vec<String>,
    /// Where the program starts; where the kernel did, if left out.
    pub cwd: Option<String>,
    /// Variables that the program finds in its environment, beside those that every program needs (`PATH`, `HOME` and
    /// the like). Values may refer to the environment of the kernel: `${NAME}`, `${NAME:-otherwise}`.
    pub env: BTreeMap<String, String>,
    /// Where the server is reached over HTTP.
    pub url: Option<String>,
    /// Headers of requests over HTTP. Values may refer to the environment.
    pub headers: BTreeMap<String, String>,
    /// The path of the Unix socket at which the server listens.
    pub socket: Option<String>,
    /// How to talk to the server. What `command`, `url` or `socket` ask for, if left out.
    pub transport: Option<TransportKind>,
    /// Whether the server is used.
    #[serde(default = "yes")]
    #[schemars(default = "yes")]
    pub enabled: bool,
    /// What the server is for, in a line; models find tools by it.
    pub description: Option<String>,
    /// What is known of the server before it is connected (§15.3). A server without it is taken for plain MCP.
    pub mgp: Option<ServerMgp>,
    /// When the server is started again: `never`, `on_failure` or `always`. The same key in `[servers.mgp]` will do.
    pub restart_policy: Option<String>,
    /// How often it is started again within the window.
    pub max_restarts: Option<u32>,
    /// How far back restarts are counted.
    pub restart_window_secs: Option<u64>,
    /// How long to wait before the first restart; each further one waits twice as long.
    pub backoff_base_ms: Option<u64>,
    /// How long to wait before a restart at most.
    pub backoff_max_ms: Option<u64>,
    /// How far the server is trusted, and what is asked of its tools whatever it says itself.
    pub security: ServerSecurity,
    /// How much may be asked of the server.
    pub limits: ServerLimits,
    /// What is different for single tools, by the names that the server gives them.
    pub tools: BTreeMap<String, ToolRule>,
    /// Agents that have a connection of their own, with credentials of their own. When there are any, nobody else
    /// reaches the server.
    pub agents: BTreeMap<String, ServerAgent>,
    /// Who shares a connection.
    pub sharing: Sharing,
}

/// What a server's `[servers.mgp]` says (§15.2).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerMgp {
    /// The extensions that the server supports.
    pub extensions: Vec<String>,
    /// What the server needs to be permitted.
    pub permissions_required: Vec<String>,
    /// How far it says it may be trusted. It can only lower what `[servers.security]` says.
    #[schemars(with = "Option<String>")]
    pub trust_level: Option<TrustLevel>,
    /// When it is started again.
    pub restart_policy: Option<String>,
}

/// How to talk to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TransportKind {
    /// Over standard input and output.
    Stdio,
    /// Streamable HTTP, and the older HTTP+SSE where the server knows no other.
    #[serde(alias = "streamable-http", alias = "streamable_http")]
    Http,
    /// HTTP+SSE.
    Sse,
    /// Over a Unix socket.
    Unix,
}

/// How far a server is trusted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerSecurity {
    /// `trusted`, `standard` or `sandboxed`; `standard` if left out.
    #[schemars(with = "Option<String>")]
    pub trust_level: Option<TrustLevel>,
    /// Validators of all its tools, beside those that a tool asks for itself.
    #[schemars(with = "Vec<String>")]
    pub validators: Vec<ValidatorName>,
    /// Validators that the kernel would derive from names and schemas, and that this server is spared.
    #[schemars(with = "Vec<String>")]
    pub spared_validators: Vec<ValidatorName>,
    /// Permissions that all its tools need.
    #[schemars(with = "Vec<String>")]
    pub permissions: Vec<Permission>,
    /// The least risk of its tools: `safe`, `moderate` or `dangerous`.
    #[schemars(with = "Option<String>")]
    pub risk_at_least: Option<RiskLevel>,
    /// Whether a human confirms every call.
    pub confirmation: bool,
}

/// What is different for one tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolRule {
    /// Whether the tool exists for anybody.
    #[serde(default = "yes")]
    #[schemars(default = "yes")]
    pub enabled: bool,
    /// Calls a minute, of all agents together.
    pub calls_per_minute: Option<u32>,
    /// The tool of another server that is tried when this one fails, as `server.tool`.
    pub fallback: Option<String>,
}

/// How much may be asked of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerLimits {
    /// How many calls it works on at once; 64 if left out.
    pub concurrency: Option<u32>,
    /// How long one try of a call may take; five minutes if left out.
    pub timeout_ms: Option<u64>,
    /// Calls a minute, of all agents together.
    pub calls_per_minute: Option<u32>,
    /// How long a result may be, in bytes; 16 MiB if left out.
    pub max_result_bytes: Option<u64>,
    /// How long to wait for it to start, when a call needs it; 30 seconds if left out.
    pub startup_timeout_ms: Option<u64>,
}

/// An agent that has a connection of its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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

const fn yes() -> bool {
    true
}
