use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of the calls in work of a key that holds no longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RevokedCalls {
    /// They are cancelled.
    #[default]
    Cancel,
    /// They are let finish.
    Finish,
}

/// Where clients connect, beside standard input and output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ListenSettings {
    /// Address and port for HTTP, such as `127.0.0.1:7332`. Off the loopback address keys are required.
    pub http: Option<String>,
    /// Hosts that clients may name, beside the address itself.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may connect.
    pub allowed_origins: Vec<String>,
    /// Whether keys are required on the loopback address too.
    pub require_keys: bool,
    /// The agent that clients without a key are, where none is required; `local-http` if left out.
    pub agent: Option<String>,
    /// How many connections are held open over HTTP; 1024 if left out, and at most half of the files that the process may
    /// open. A further one takes the place of one without a request in work, those first that never sent one; a few more are
    /// let in that ask for the health.
    pub max_connections: Option<u32>,
    /// How many of them may be of one address; half of them if left out.
    pub max_connections_per_peer: Option<u32>,
    /// How many milliseconds a new connection has for the head of its first request; 10,000 if left out.
    pub header_timeout_ms: Option<u64>,
    /// How many milliseconds a connection may be idle between requests; 60,000 if left out.
    pub idle_timeout_ms: Option<u64>,
    /// What becomes of calls in work when their key is revoked or expires. Its sessions and streams end in any case.
    pub revoked_calls: RevokedCalls,
}
