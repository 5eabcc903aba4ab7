use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}
