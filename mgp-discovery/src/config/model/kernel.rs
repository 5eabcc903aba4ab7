//! The sections `[registration]`, `[telemetry]` and `[kernel]`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ListenOauth, ListenTls};

/// The servers that may register themselves while the kernel runs. Without entries, no server can be registered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct RegistrationSettings {
    /// The agents that may register servers. Operators may always do so, within the other rules of this section.
    pub agents: Vec<String>,
    /// The programs that a registered server may start, by name or by full path. An entry that begins with `http://`
    /// or `https://` allows servers at that address and at addresses below it.
    pub commands: Vec<String>,
    /// The variables of the kernel's environment that a registered server may ask for.
    pub env: Vec<String>,
}

/// The effects of calls that happen once and can be taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct EffectSettings {
    /// Carries calls with an idempotency key out once, also for servers that know nothing of keys, and passes
    /// transactions to the servers that have them. The kernel keeps the keys, and what the calls were answered, in
    /// `effects.db` in its state folder.
    pub enabled: bool,
}

/// The kernel's log, traces and metrics.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct TelemetrySettings {
    /// The filter of the log, such as `info` or `mgp_kernel=debug`; `warn` if left out. The options `-v` and `-q` and
    /// the variable `MGP_LOG` in the environment take precedence.
    pub log: Option<String>,
    /// The URL to which the kernel sends traces by OTLP over HTTP. Needs a build with the feature `otlp`.
    pub otlp: Option<String>,
    /// The headers of the requests to `otlp`. Values may refer to the environment and to secrets, as those of
    /// `servers.env`.
    pub otlp_headers: BTreeMap<String, String>,
    /// Serves `/metrics`. The kernel serves `/healthz` and `/readyz` in any case.
    pub metrics: bool,
}

mgp_types::partial_debug!(TelemetrySettings, self => log: self.log, otlp: self.otlp, metrics: self.metrics);

/// The kernel's name, its files, and how it stops.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct KernelSettings {
    /// The directory of the kernel's keys, grants, pins, registered servers and audit record; `mgp` in the XDG state
    /// directory if left out.
    pub state: Option<String>,
    /// The time that running calls have to finish when the kernel stops, in seconds; 30 if left out.
    pub drain_secs: Option<u64>,
    /// The time that a kernel which `mgp serve` started in the background keeps running after the last client and
    /// command have left, in seconds; 300 if left out. With 0 the kernel stops with the last client.
    pub linger: Option<u64>,
    /// Lets every agent read the health of the servers that the agent reaches, and stop them. By default, only
    /// operators may.
    pub agents_manage: bool,
}

/// The addresses at which clients connect, besides standard input and output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the file")]
pub struct ListenSettings {
    /// The address and port for HTTP, such as `127.0.0.1:7332`; no HTTP if left out. On any address other than the
    /// loopback address, clients need keys.
    pub http: Option<String>,
    /// The URL at which clients reach the protocol, such as `https://mgp.example/mcp`: the audience of their tokens. Needed
    /// with `oauth`.
    pub public_url: Option<String>,
    /// The certificate of HTTPS; the kernel serves HTTP without TLS if left out.
    pub tls: Option<ListenTls>,
    /// The tokens that clients may show in place of keys. With this table, every client needs a key or a token.
    pub oauth: Option<ListenOauth>,
    /// The hosts that clients may name in the header `Host`, besides the address itself and the host of `public_url`.
    pub allowed_hosts: Vec<String>,
    /// The origins of web pages that may connect.
    pub allowed_origins: Vec<String>,
    /// Requires keys on the loopback address too.
    pub require_keys: bool,
    /// The maximum number of open HTTP connections; 1024 if left out, and never more than half of the files that the
    /// process may open. Half of them may come from one address. Beyond the maximum, a new connection replaces a
    /// connection without a running request, first of all one that never sent a request; a few more connections are
    /// accepted for health checks only.
    pub max_connections: Option<u32>,
    /// Serves tools over plain HTTP, beside the protocol: `POST /tools/NAME`, `POST /permissions`, `/openapi.json`,
    /// `/catalog` and `/capabilities`, and in envelopes at `POST /env/tools/call`.
    pub rest: bool,
    /// Passes data from server to server by reference: the kernel fetches the data that a server refers to, and serves it
    /// at `/data/REF` to the server that an agent names the reference to. Needs `http`.
    pub data_references: bool,
    /// The address at which servers reach this kernel to read data, such as `https://mgp.example`; that of the socket if
    /// left out.
    pub data_url: Option<String>,
    /// Accepts a key in the member `auth` of a message, beside `params`: `{"type": "bearer", "token": KEY}`.
    pub auth_member: bool,
}
