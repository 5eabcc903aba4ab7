use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::Names;

/// Which servers may register themselves while the kernel runs. Nobody may, if nothing is said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct RegistrationSettings {
    /// Agents that may register servers. Operators always may, within the other rules.
    pub agents: Vec<String>,
    /// Programs that may be started, by name or by full path.
    pub commands: Vec<String>,
    /// Variables of the kernel's environment that a registered server may ask for.
    pub env: Vec<String>,
    /// How many servers may be registered at once; 16 if left out.
    pub max_servers: Option<u32>,
}

/// What is told to those who watch over the kernel.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct TelemetrySettings {
    /// What is logged, such as `info` or `mgp_kernel=debug`; `MGP_LOG` in the environment goes before it.
    pub log: Option<String>,
    /// Where traces are sent by OTLP over HTTP; needs a build with the feature `otlp`.
    pub otlp: Option<String>,
    /// Headers of what is sent there. Values may refer to the environment.
    pub otlp_headers: BTreeMap<String, String>,
    /// Whether `/metrics` is answered; `/healthz` and `/readyz` always are.
    pub metrics: bool,
}

impl fmt::Debug for TelemetrySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelemetrySettings")
            .field("log", &self.log)
            .field("otlp", &self.otlp)
            .field("otlp_headers", &Names(&self.otlp_headers))
            .field("metrics", &self.metrics)
            .finish()
    }
}

/// The kernel itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct KernelSettings {
    /// What the kernel calls itself; `mgp` if left out.
    pub name: Option<String>,
    /// Where keys, grants, pins, registered servers and the record are kept; `mgp` in the XDG state directory if left
    /// out.
    pub state: Option<String>,
    /// The Unix socket at which the commands of `mgp` reach the kernel; `mgp.sock` beside the state if left out, or, where
    /// that path is too long for a socket, one in the XDG runtime directory. Clients that share the kernel have another
    /// beside it, `mgp-agent-….sock`.
    pub socket: Option<String>,
    /// How long calls have to end when the kernel stops, in seconds; 30 if left out.
    pub drain_secs: Option<u64>,
    /// How long a kernel that `mgp serve` started in the background goes on after the last client and command have left, in
    /// seconds; 300 if left out. With 0 it ends with the last client.
    pub linger: Option<u64>,
    /// Whether every agent may see how servers do, and stop them. Only operators may, if left out.
    pub agents_manage: bool,
}
