//! The tables under `[[servers]]`, those of single tools and agents among them.

use std::collections::BTreeMap;

use mgp_types::Revision;
use mgp_types::mgp::{Permission, RestartPolicy, RiskLevel, TrustLevel, ValidatorName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tables::tables;
use super::{ServerOauth, words};

tables! {
    /// A server, and how the kernel starts, reaches and guards it.
    pub struct ServerConfig {
        /// The server's id, required: up to 64 letters, digits, `.`, `_` and `-`. Reserved are `mgp` and `kernel`,
        /// alone and before a `.` or `_`, and ids that look like them.
        pub id: String,
        /// The program to start. A server has either this, or `url`, or `socket`.
        pub command: Option<String>,
        /// The program's arguments, which every user of the machine can read: secrets belong in `env`.
        pub args: Vec<String>,
        /// The directory in which the program starts; that of its client if left out, or of the kernel where clients
        /// share it.
        pub cwd: Option<String>,
        /// The variables of the program, besides those that every program needs (`PATH`, `HOME` and the like).
        pub env: BTreeMap<String, String>,
        /// Has the operating system confine the program to its own folder, a temporary one and no network, besides what
        /// its permissions or `confinement` allow; with `false`, it is not confined. If left out, programs with
        /// `confinement` or the trust level `sandboxed` are confined so, and others, where the system can, to the
        /// system's files, the folders of their clients and entries, and the network.
        pub confine: Option<bool>,
        /// The files, ports and sockets that a confined program may use without a permission.
        pub confinement: Option<ServerConfinement>,
        /// The URL at which the server is reached over HTTP.
        pub url: Option<String>,
        /// The headers of requests over HTTP.
        pub headers: BTreeMap<String, String>,
        /// How the kernel authorizes itself at the server; with `mgp login` if left out.
        pub oauth: Option<ServerOauth>,
        /// The path of the Unix socket at which the server listens.
        pub socket: Option<String>,
        /// The transport to the server; if left out, that of `command`, `url` or `socket`.
        pub transport: Option<TransportKind>,
        /// The revision of MCP for this server; `mgp servers --json` shows which, and why.
        pub protocol: ServerProtocol,
        /// The dialect of a server that speaks the optional extensions in forms of its own.
        pub dialect: Option<ServerDialect>,
        /// Uses the server. With `false`, the server is neither started nor reached.
        pub enabled: bool = true,
        /// The purpose of the server, in one line. Models find tools by this text.
        pub description: Option<String>,
        /// The server's name and version in the registry, such as `io.github.someone/weather@1.2.3`, for `mgp outdated`
        /// and `mgp upgrade`.
        pub package: Option<String>,
        /// The server's declarations that are known before it connects (§15.3); without them it counts as plain MCP
        /// until then.
        pub mgp: Option<ServerMgp>,
        /// The ends after which the server is started again: none, those in an error, or all; `on_failure` if left out.
        #[schemars(schema_with = "words::restart_policy")]
        pub restart_policy: Option<RestartPolicy>,
        /// The maximum number of restarts within the window; 5 if left out, and no limit with `url` or `socket`.
        pub max_restarts: Option<u32>,
        /// The window in which restarts are counted, in seconds; 300 if left out.
        #[schemars(range(min = 1))]
        pub restart_window_secs: Option<u64>,
        /// The wait before the first restart, in milliseconds; 1000 if left out. Each restart doubles it.
        pub backoff_base_ms: Option<u64>,
        /// The longest wait before a restart, in milliseconds; 30000 if left out. A server with `url` or `socket` is
        /// then tried at least every 10 seconds.
        pub backoff_max_ms: Option<u64>,
        /// The trust in the server, and the rules for its tools that hold whatever the server declares.
        pub security: ServerSecurity,
        /// The limits on calls of the server.
        pub limits: ServerLimits,
        /// The hosts that calls of its tools may reach, besides the public network.
        pub network: ServerNetwork,
        /// The checks of the definitions of its tools, prompts and templates.
        pub definitions: ServerDefinitions,
        /// The further methods that the kernel passes on, in either direction, such as `vendor/status`, `vendor/*` or
        /// `notifications/vendor/ready`.
        pub pass_methods: Vec<String>,
        /// The methods among `pass_methods` that change nothing; the others are dangerous, and a human confirms them.
        pub safe_methods: Vec<String>,
        /// The settings of single tools, by their names at the server. An entry with a `*` (any characters) sets
        /// `enabled` only.
        pub tools: BTreeMap<String, ToolRule>,
        /// The agents with a connection and credentials of their own; if there are any, no other agent reaches the
        /// server.
        pub agents: BTreeMap<String, ServerAgent>,
        /// The clients that share a connection to the server, and its program; if left out, `client`, or `shared` where
        /// the server speaks MGP or is reached without sessions.
        pub sharing: Option<Sharing>,
        /// The most connections at once, where clients have their own: 8 if left out for programs, 256 for `url` and
        /// `socket`.
        #[schemars(range(min = 1))]
        pub max_instances: Option<u32>,
        /// The kernels that run the program, where several share their decisions and `[cluster] listen` is set; `one` if
        /// left out.
        pub instances: Option<Instances>,
    }

    /// The declarations of a server in `[servers.mgp]` (§15.2).
    pub struct ServerMgp: Debug {
        /// The extensions that the server supports.
        #[schemars(schema_with = "words::extensions")]
        pub extensions: Vec<String>,
        /// The permissions that the server needs.
        #[schemars(schema_with = "words::permissions")]
        pub permissions_required: Vec<String>,
        /// The trust level that the server declares, which can only lower that in `[servers.security]`.
        #[schemars(schema_with = "words::trust_level")]
        pub trust_level: Option<TrustLevel>,
        /// The ends after which the server is started again: none, those in an error, or all; `on_failure` if left out.
        /// The server's own key may not differ.
        #[schemars(schema_with = "words::restart_policy")]
        pub restart_policy: Option<RestartPolicy>,
    }

    /// The files, ports and sockets that a confined program may use without a permission.
    pub struct ServerConfinement: Debug, Eq {
        /// Opens what is open to programs without this table: the system's files, the folders of clients and of the
        /// entry, and the network.
        pub folders: bool,
        /// The files and folders that the program may read, with all below them: absolute, or `~/…`.
        pub read: Vec<String>,
        /// The files and folders that the program may read and change.
        pub write: Vec<String>,
        /// Lets the program change modes, owners and times of files, in any folder.
        pub change_modes: bool,
        /// The TCP ports to which the program may connect, at any host. Names are then looked up by TCP.
        pub connect: Vec<u16>,
        /// The TCP ports at which the program may listen.
        pub listen: Vec<u16>,
        /// Lets the program open any Unix socket, such as that of a database.
        pub unix_sockets: bool,
    }

    /// The trust in a server, and the rules for its tools that hold whatever the server declares.
    pub struct ServerSecurity: Debug {
        /// The operator's trust in the server; `standard` if left out. The vectors that a `trusted` server sends with
        /// its tools are used. `core` stands for `trusted`, `experimental` and `untrusted` for `sandboxed`.
        #[schemars(schema_with = "words::trust_level")]
        pub trust_level: Option<TrustLevel>,
        /// The validators of all tools of the server, besides those that tools ask for.
        #[schemars(schema_with = "words::validators")]
        pub validators: Vec<ValidatorName>,
        /// The validators that the kernel does not derive from names and schemas for this server.
        #[schemars(schema_with = "words::validators")]
        pub spared_validators: Vec<ValidatorName>,
        /// The permissions that all tools of the server need.
        #[schemars(schema_with = "words::permissions")]
        pub permissions: Vec<Permission>,
        /// The lowest risk that the server's tools are treated with.
        #[schemars(with = "String", extend("enum" = ["safe", "moderate", "dangerous"]))]
        pub risk_at_least: Option<RiskLevel>,
        /// Asks a human to confirm every call.
        pub confirmation: bool,
    }

    /// The hosts that calls of one server may reach, besides the public network.
    pub struct ServerNetwork: Debug, Eq {
        /// The hosts that calls of this server may reach although not public: `localhost:3000`, `*.internal:8443`,
        /// `[::1]:*` or the network `10.0.0.0/8`; without a port, all ports. Wildcards and networks allow no cloud
        /// metadata; `validators.denied_hosts` takes precedence.
        pub allow: Vec<String>,
        /// The origins, besides that of `url`, of data that this server refers to, such as `https://data.example`; a
        /// private host has to be in `allow`, too.
        pub data_origins: Vec<String>,
        /// The hosts that servers of one kind may reach.
        pub preset: Option<NetworkPreset>,
    }

    /// The hosts that servers of one kind may reach.
    pub enum NetworkPreset {
        /// Calls may reach this machine at any port, and `data:` URLs; private networks and cloud metadata stay
        /// refused.
        Browser,
    }

    /// The checks of the definitions of one server's tools, prompts and templates.
    pub struct ServerDefinitions: Debug, Eq {
        /// The rules that no longer hold back or flag one definition of this server.
        pub allow: Vec<AllowedRule>,
        /// Trusts the server to add tools, prompts and templates later. Otherwise each waits for approval.
        pub grows: bool,
    }

    /// The transport to a server.
    #[schemars(transform = words::transport_aliases)]
    pub enum TransportKind {
        /// Standard input and output of a program.
        Stdio,
        /// Streamable HTTP, or the older HTTP+SSE where the server supports nothing else.
        #[serde(alias = "streamable-http", alias = "streamable_http")]
        Http,
        /// HTTP+SSE.
        Sse,
        /// A Unix socket.
        Unix,
    }

    /// The settings of one tool.
    pub struct ToolRule: Debug {
        /// Offers the tool to clients. A tool that an entry with a `*` switches off stays off.
        pub enabled: bool = true,
        /// The most calls in a minute, of all agents together; no limit if left out.
        #[schemars(range(min = 1))]
        pub calls_per_minute: Option<u32>,
        /// The tool of another server that is tried when this one fails, as `server.tool`.
        pub fallback: Option<String>,
        /// Further scopes that a call requires of agents that have `scopes`.
        pub required_scopes: Vec<String>,
    }

    /// The limits on calls of one server.
    pub struct ServerLimits: Debug, Eq {
        /// The most calls that the server works on at once; others wait, for two minutes at most. 64 if left out.
        #[schemars(range(min = 1))]
        pub concurrency: Option<u32>,
        /// The longest time of a call, with attempts and waiting, in milliseconds; 300,000 if left out, and 30 seconds
        /// for the tool registry's clients.
        #[schemars(range(min = 1))]
        pub timeout_ms: Option<u64>,
        /// The most calls in a minute, of all agents together; no limit if left out.
        #[schemars(range(min = 1))]
        pub calls_per_minute: Option<u32>,
        /// The time to start and to answer, in milliseconds; that of `[limits]` if left out. It begins when the program
        /// starts, for which it may have to wait: as many programs start at the same time as the machine has cores, and
        /// two more. Calls wait as long; a list of tools that is incomplete by then is an error.
        pub startup_timeout_ms: Option<u64>,
    }

    /// The credentials of an agent that has a connection of its own.
    pub struct ServerAgent: Eq {
        /// The variables of this connection, in place of the server's of the same name.
        pub env: BTreeMap<String, String>,
        /// The headers of this connection, in place of the server's of the same name.
        pub headers: BTreeMap<String, String>,
    }

    /// Which of several kernels run the program of a server.
    pub enum Instances {
        /// The program runs at one kernel, which the others pass calls to.
        One,
        /// Each kernel runs its own.
        Each,
    }

    /// Which clients share a connection to a server.
    pub enum Sharing {
        /// Each client session has its own connection, from its first use.
        Client,
        /// All sessions share one connection.
        Shared,
        /// The sessions of one agent share a connection.
        Agent,
    }
}

// Addresses, arguments, variables and headers may hold secrets.
mgp_types::partial_debug!(ServerConfig, self => id: self.id, command: self.command, transport: self.transport);

/// A rule that an operator switches off for one definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AllowedRule {
    /// The name of the tool at its server; or `prompt:NAME`, `template:URI_TEMPLATE` or `resource:URI`.
    pub tool: String,
    /// The name of the rule, as `mgp pin list` shows it.
    // An unknown rule cannot be switched off.
    #[schemars(extend("enum" = [
        "hidden-instruction", "secret-request", "exfiltration", "encoded-instruction", "cross-tool",
        "invisible-character",
    ]))]
    pub rule: String,
}

/// The dialect of a server that speaks the optional extensions in forms of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ServerDialect {
    /// The form of the servers published as examples of the extensions.
    ExtReference,
}

impl TransportKind {
    /// Returns the word that stands for the transport in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Unix => "unix",
        }
    }
}

/// The revision of MCP that the kernel speaks with a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub enum ServerProtocol {
    /// A session in the newest revision with sessions that the server has, or else the revision without sessions.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// The revision without sessions: each call stands alone.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
    /// A session in this revision.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// A session in this revision.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// A session in this revision.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// A session in this revision.
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
}

impl ServerProtocol {
    /// Returns the revision, unless the server decides.
    pub fn revision(self) -> Option<Revision> {
        // The variants after `Auto` are in the order of `Revision::ALL`.
        Revision::ALL.get((self as usize).checked_sub(1)?).copied()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_can_be_configured_by_its_date() {
        for revision in Revision::ALL {
            let protocol: ServerProtocol = serde_json::from_value(revision.as_str().into()).unwrap();
            assert_eq!(protocol.revision(), Some(revision));
        }
    }
}
