use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The treatment of calls that are running when their key is revoked or expires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RevokedCalls {
    /// The calls are cancelled.
    #[default]
    Cancel,
    /// The calls finish.
    Finish,
}

/// The addresses at which clients connect, besides standard input and output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ListenSettings {
    /// The address and port for HTTP, such as `127.0.0.1:7332`; no HTTP if left out. On any address other than the
    /// loopback address, clients need keys.
    pub http: Option<String>,
    /// The hosts that clients may name in the header `Host`, besides the address itself.
    pub allowed_hosts: Vec<String>,
    /// The origins of web pages that may connect.
    pub allowed_origins: Vec<String>,
    /// Requires keys on the loopback address too.
    pub require_keys: bool,
    /// The agent that stands for clients without a key, where none is required; `local-http` if left out.
    pub agent: Option<String>,
    /// The maximum number of open HTTP connections; 1024 if left out, and never more than half of the files that the
    /// process may open. Beyond the maximum, a new connection replaces a connection without a running request, first
    /// of all one that never sent a request; a few more connections are accepted for health checks only.
    pub max_connections: Option<u32>,
    /// The maximum number of open HTTP connections from one address; half of `max_connections` if left out.
    pub max_connections_per_peer: Option<u32>,
    /// The time that a new connection has to send the head of its first request, in milliseconds; 10,000 if left out.
    pub header_timeout_ms: Option<u64>,
    /// The time that a connection may be idle between requests, in milliseconds; 60,000 if left out.
    pub idle_timeout_ms: Option<u64>,
    /// The treatment of calls that are running when their key is revoked or expires. The sessions and streams of the
    /// key end in any case.
    pub revoked_calls: RevokedCalls,
}
