use std::collections::BTreeMap;
use std::fmt;

use mgp_types::mgp::{Permission, RiskLevel, TrustLevel, ValidatorName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::Names;
use super::{RestartPolicy, ServerAgent, ServerLimits, Sharing, ToolRule, TransportKind, words};

/// One server.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerConfig {
    /// What the server is called everywhere: up to 64 letters, digits, `.`, `_` and `-`. Every server needs one. Neither
    /// `mgp` nor one that begins with `mgp.` or `mgp_` can be had.
    pub id: String,
    /// The program to start. A server has either this, or `url`, or `socket`.
    pub command: Option<String>,
    /// What the program is given. Every user of the machine can read it while the program runs, so secrets belong into
    /// `env`.
    pub args: Vec<String>,
    /// Where the program starts; where the kernel did, if left out.
    pub cwd: Option<String>,
    /// Variables that the program finds in its environment, beside those that every program needs (`PATH`, `HOME` and
    /// the like). Values may refer to the environment of the kernel, `${NAME}` and `${NAME:-otherwise}`, and to secrets that
    /// `mgp secrets set NAME` stores, `${secret:NAME}`.
    pub env: BTreeMap<String, String>,
    /// Whether the program is confined by the system: it reads the system's programs and libraries and its own folder,
    /// writes to a temporary folder of its own, and reaches no network, beside what it is permitted. It is not started
    /// where the system cannot do that. Programs of servers that are trusted as `sandboxed` are, if left out.
    pub confine: Option<bool>,
    /// What a confined program may reach without being permitted. The table confines it where `confine` is left out.
    pub confinement: Option<ServerConfinement>,
    /// Where the server is reached over HTTP.
    pub url: Option<String>,
    /// Headers of requests over HTTP. Values may refer to the environment and to secrets, as those of `env`.
    pub headers: BTreeMap<String, String>,
    /// The path of the Unix socket at which the server listens.
    pub socket: Option<String>,
    /// How to talk to the server. What `command`, `url` or `socket` ask for, if left out.
    pub transport: Option<TransportKind>,
    /// Whether the server is used.
    pub enabled: bool,
    /// What the server is for, in a line; models find tools by it.
    pub description: Option<String>,
    /// What is known of the server before it is connected (§15.3). A server without it is taken for plain MCP.
    pub mgp: Option<ServerMgp>,
    /// When the server is started again; `on_failure` if left out. The same key in `[servers.mgp]` will do.
    pub restart_policy: Option<RestartPolicy>,
    /// How often it is started again within the window; 5 if left out.
    pub max_restarts: Option<u32>,
    /// How far back restarts are counted, in seconds; 300 if left out.
    #[schemars(range(min = 1))]
    pub restart_window_secs: Option<u64>,
    /// How long to wait before the first restart; 1000 if left out. Each further one waits twice as long.
    pub backoff_base_ms: Option<u64>,
    /// How long to wait before a restart at most; 30000 if left out.
    pub backoff_max_ms: Option<u64>,
    /// How far the server is trusted, and what is asked of its tools whatever it says itself.
    pub security: ServerSecurity,
    /// How much may be asked of the server.
    pub limits: ServerLimits,
    /// What calls of its tools may reach beside the public network.
    pub network: ServerNetwork,
    /// How the definitions of its tools are judged.
    pub definitions: ServerDefinitions,
    /// Methods beyond MCP and MGP that the server is passed: names such as `vendor/status`, or `vendor/*` for all that begin
    /// so. Notifications are named in full, as `notifications/vendor/ready`. Nothing else that MCP does not know passes, in
    /// either direction.
    pub pass_methods: Vec<String>,
    /// Those of `pass_methods` that change nothing. Nobody confirms them; all others count as dangerous.
    pub safe_methods: Vec<String>,
    /// The settings that are different for single tools, by the names that the server gives them. A `*` in a name stands for
    /// any characters where `enabled` is concerned.
    pub tools: BTreeMap<String, ToolRule>,
    /// Agents that have a connection of their own, with credentials of their own. When there are any, nobody else
    /// reaches the server.
    pub agents: BTreeMap<String, ServerAgent>,
    /// Who shares a connection.
    pub sharing: Sharing,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            id: String::new(),
            command: None,
            args: Vec::new(),
            cwd: None,
            env: BTreeMap::new(),
            confine: None,
            confinement: None,
            url: None,
            headers: BTreeMap::new(),
            socket: None,
            transport: None,
            enabled: true,
            description: None,
            mgp: None,
            restart_policy: None,
            max_restarts: None,
            restart_window_secs: None,
            backoff_base_ms: None,
            backoff_max_ms: None,
            security: ServerSecurity::default(),
            limits: ServerLimits::default(),
            network: ServerNetwork::default(),
            definitions: ServerDefinitions::default(),
            pass_methods: Vec::new(),
            safe_methods: Vec::new(),
            tools: BTreeMap::new(),
            agents: BTreeMap::new(),
            sharing: Sharing::default(),
        }
    }
}

impl fmt::Debug for ServerConfig {
    /// Values of variables and headers are not shown: somebody may have written a secret there in full.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("id", &self.id)
            .field("command", &self.command)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .field("env", &Names(&self.env))
            .field("confine", &self.confine)
            .field("confinement", &self.confinement)
            .field("url", &self.url)
            .field("headers", &Names(&self.headers))
            .field("socket", &self.socket)
            .field("transport", &self.transport)
            .field("enabled", &self.enabled)
            .field("description", &self.description)
            .field("mgp", &self.mgp)
            .field("restart_policy", &self.restart_policy)
            .field("max_restarts", &self.max_restarts)
            .field("restart_window_secs", &self.restart_window_secs)
            .field("backoff_base_ms", &self.backoff_base_ms)
            .field("backoff_max_ms", &self.backoff_max_ms)
            .field("security", &self.security)
            .field("limits", &self.limits)
            .field("network", &self.network)
            .field("definitions", &self.definitions)
            .field("pass_methods", &self.pass_methods)
            .field("safe_methods", &self.safe_methods)
            .field("tools", &self.tools)
            .field("agents", &self.agents)
            .field("sharing", &self.sharing)
            .finish()
    }
}

/// What a server's `[servers.mgp]` says (§15.2).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerMgp {
    /// The extensions that the server supports.
    #[schemars(schema_with = "words::extensions")]
    pub extensions: Vec<String>,
    /// What the server needs to be permitted.
    #[schemars(schema_with = "words::permissions")]
    pub permissions_required: Vec<String>,
    /// How far it says it may be trusted. It can only lower what `[servers.security]` says.
    #[schemars(schema_with = "words::trust_level")]
    pub trust_level: Option<TrustLevel>,
    /// When it is started again; `on_failure` if left out. It may not differ from the server's own key.
    pub restart_policy: Option<RestartPolicy>,
}

/// What a confined program may reach without being permitted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerConfinement {
    /// Files and folders that it may read, with all that is below them: absolute paths, or `~/…`.
    pub read: Vec<String>,
    /// Files and folders that it may also change.
    pub write: Vec<String>,
    /// Whether it may change modes, owners and times of files by their paths. The system does not bound by folder which
    /// files those are.
    pub change_modes: bool,
    /// TCP ports that it may connect to, at whatever host. Names are looked up then, by TCP.
    pub connect: Vec<u16>,
    /// TCP ports that it may listen at.
    pub listen: Vec<u16>,
    /// Whether it may open Unix sockets, such as that of a database. The system does not tell them apart.
    pub unix_sockets: bool,
}

/// How far a server is trusted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerSecurity {
    /// How far the operator trusts it; `standard` if left out. `core` is `trusted`, and `experimental` and `untrusted`
    /// are `sandboxed`, in the words of later drafts.
    #[schemars(schema_with = "words::trust_level")]
    pub trust_level: Option<TrustLevel>,
    /// Validators of all its tools, beside those that a tool asks for itself.
    #[schemars(schema_with = "words::validators")]
    pub validators: Vec<ValidatorName>,
    /// Validators that the kernel would derive from names and schemas, and that this server is spared.
    #[schemars(schema_with = "words::validators")]
    pub spared_validators: Vec<ValidatorName>,
    /// Permissions that all its tools need.
    #[schemars(schema_with = "words::permissions")]
    pub permissions: Vec<Permission>,
    /// The least risk of its tools: `safe`, `moderate` or `dangerous`.
    #[schemars(schema_with = "words::risk_level")]
    pub risk_at_least: Option<RiskLevel>,
    /// Whether a human confirms every call.
    pub confirmation: bool,
}

/// What calls of one server may reach beside the public network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerNetwork {
    /// Hosts that calls of this server may reach although they are not public: `localhost:3000`, `*.internal:8443`, `[::1]:*` or
    /// the network `10.0.0.0/8`. Without a port, or with `*`, all ports are meant. A wildcard or a network opens no address of a
    /// cloud's metadata, and `validators.denied_hosts` goes before it.
    pub allow: Vec<String>,
    /// What servers of a kind may reach.
    pub preset: Option<NetworkPreset>,
}

/// What servers of a kind may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NetworkPreset {
    /// This machine at any port, and pages that stand in a `data:` URL. Private networks and the metadata of clouds stay refused.
    Browser,
}

/// How the definitions of one server's tools, prompts and templates are judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerDefinitions {
    /// Rules that neither hold nor flag a definition of this server any more, each for one tool.
    pub allow: Vec<AllowedRule>,
}

/// A rule that an operator ends for one definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AllowedRule {
    /// The tool, by the name that the server gives it; `prompt:NAME`, `template:URI_TEMPLATE` or `resource:URI` for what is none.
    pub tool: String,
    /// The rule, as `mgp pin list` and refusals name it.
    #[schemars(schema_with = "words::definition_rule")]
    pub rule: String,
}
