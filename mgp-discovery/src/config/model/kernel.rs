//! The sections `[registration]`, `[telemetry]`, `[store]`, `[cluster]` and `[kernel]`, and others of the kernel itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tables::tables;
use super::{ListenOauth, ListenTls, PageOauth};

tables! {
    /// The servers that may register themselves while the kernel runs. Without entries, no server can be registered.
    pub struct RegistrationSettings: Debug, Eq {
        /// The agents that may register servers. Operators always may, within the rules of this section.
        pub agents: Vec<String>,
        /// The programs that a registered server may start, by name or full path. An entry `http://…` or `https://…`
        /// allows servers at and below that address.
        pub commands: Vec<String>,
        /// The variables of the kernel's environment that a registered server may ask for.
        pub env: Vec<String>,
    }

    /// The effects of calls that happen once and can be taken back.
    pub struct EffectSettings: Debug, Eq {
        /// Makes a call with an idempotency key once, also for servers that know no keys, and passes transactions to
        /// servers that have them.
        pub enabled: bool,
    }

    /// The ways in which questions reach people who look at no page.
    pub struct ApprovalSettings: Debug, Eq {
        /// The notifications of each question that waits. Without any, the desktop shows the question.
        pub notify: Vec<Notification>,
    }

    /// A way to notify people of a question: either a `command` or a `webhook`.
    pub struct Notification: Eq {
        /// The program and its arguments. It has the question in `MGP_QUESTION`, where to answer it in `MGP_ANSWER`,
        /// and all of it as JSON on standard input.
        pub command: Vec<String>,
        /// The URL to which the question is posted, as Standard Webhooks says, and again where that fails.
        pub webhook: Option<String>,
        /// The secret that signs what is posted: `whsec_` and Base64, best as `${secret:NAME}`.
        pub secret: Option<String>,
    }

    /// The places from which commands bring servers and new versions of `mgp`.
    pub struct DownloadSettings: Debug, Eq {
        /// The registry of `mgp install`: a URL, or a file or folder with copies of its documents; the official one if
        /// left out.
        pub registry: Option<String>,
        /// The signed list of versions that `mgp self` reads, where your operator publishes one: an `https://` URL or a
        /// file, with the signature of minisign beside it (`.minisig`). If left out, no version is looked for.
        pub releases: Option<String>,
        /// The public key of minisign for `releases`, such as `RWQf6LRC…`; that of this build if left out.
        pub releases_key: Option<String>,
    }

    /// The kernel's log, traces and metrics.
    pub struct TelemetrySettings: Eq {
        /// The filter of the log, such as `info` or `mgp_kernel=debug`; `warn` if left out. `-v`, `-q` and the variable
        /// `MGP_LOG` take precedence.
        pub log: Option<String>,
        /// The URL to which traces are sent by OTLP over HTTP, as JSON: with the path of traces, or without any.
        pub otlp: Option<String>,
        /// The headers of requests to `otlp`.
        pub otlp_headers: BTreeMap<String, String>,
        /// Sends the lines of the log there, too.
        pub otlp_logs: bool,
        /// Serves `/metrics`, besides `/healthz` and `/readyz`.
        pub metrics: bool,
    }

    /// The database that several kernels share, so that they decide as one. Without a `url`, the kernel decides alone.
    pub struct StoreSettings: Eq {
        /// The address of a database of PostgreSQL 15 or later, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, best as
        /// `${secret:NAME}`. Beyond this machine, the connection is encrypted, and the database proves its name.
        pub url: Option<String>,
        /// The secret that seals what is written to the database, the same for all kernels, best as `${secret:NAME}`. Needed
        /// with `url`.
        pub key: Option<String>,
        /// The file with the certificates of the authorities that vouch for the database; those of the web if left out.
        pub ca: Option<String>,
        /// Lets calls of tools that only read go on while it is not known what other kernels decided. Otherwise all calls are
        /// refused when that is not known for 2 seconds.
        pub stale_reads: bool,
    }

    /// The way on which kernels that share a database pass calls to each other.
    pub struct ClusterSettings: Debug, Eq {
        /// The address at which the other kernels reach this one, such as `10.0.0.5:7334`.
        pub listen: Option<String>,
        /// The file with this kernel's certificate, in PEM. Needed with `listen`.
        pub certificate: Option<String>,
        /// The file with the key of the certificate, in PEM. Needed with `listen`.
        pub key: Option<String>,
        /// The file with the certificate of the authority that vouches for all kernels, in PEM. Needed with `listen`.
        pub authority: Option<String>,
    }

    /// The kernel's files, and how it stops.
    pub struct KernelSettings: Debug, Eq {
        /// The directory of keys, grants, pins, registered servers and the record; `mgp` in the XDG state directory if
        /// left out.
        pub state: Option<String>,
        /// The time that running calls have when the kernel stops, in seconds; 30 if left out.
        pub drain_secs: Option<u64>,
        /// The time that a kernel in the background stays after the last client and command have left, in seconds; 300
        /// if left out. With 0 it stops with the last client.
        pub linger: Option<u64>,
        /// Lets every agent read the health of the servers that it reaches, and stop them, as operators may.
        pub agents_manage: bool,
        /// Confines the programs of servers whose entries say nothing of it to the system's files, open folders and the
        /// network, where the system can.
        pub confine: bool = true,
    }
}

/// The page for people (`mgp ui`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct PageSettings {
    /// Serves the page from the start; otherwise `mgp ui` has it served.
    pub enabled: bool,
    /// The address of the page, such as `127.0.0.1:7333`, or with `[listen.tls]` `0.0.0.0:7333`; any free port at the
    /// loopback address if left out.
    pub listen: Option<String>,
    /// The login by an identity provider; people sign in by codes and the operator passphrase alone if left out.
    pub oauth: Option<PageOauth>,
}

mgp_types::partial_debug!(Notification, self => command: self.command);

mgp_types::partial_debug!(StoreSettings, self => ca: self.ca, stale_reads: self.stale_reads);

mgp_types::partial_debug!(TelemetrySettings, self => log: self.log, otlp: self.otlp, metrics: self.metrics);

/// The addresses at which clients connect, besides standard input and output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the file")]
pub struct ListenSettings {
    /// The address for HTTP, such as `127.0.0.1:7332`; no HTTP if left out. Beyond loopback, clients need keys.
    pub http: Option<String>,
    /// True if the command line names the address, and not the file.
    #[serde(skip)]
    pub is_on_command_line: bool,
    /// The URL at which clients reach the protocol, such as `https://mgp.example/mcp`: the audience of their tokens,
    /// needed with `oauth`.
    pub public_url: Option<String>,
    /// The certificate of HTTPS; no TLS if left out.
    pub tls: Option<ListenTls>,
    /// The tokens that clients may show in place of keys. With this table, every client needs a key or a token.
    pub oauth: Option<ListenOauth>,
    /// The hosts that clients may name in `Host`, besides the address itself and the host of `public_url`.
    pub allowed_hosts: Vec<String>,
    /// The origins of web pages that may connect.
    pub allowed_origins: Vec<String>,
    /// Requires keys on the loopback address too.
    pub require_keys: bool,
    /// The most open HTTP connections, half of them from one address; 1024 if left out, and at most half of the
    /// process's open files.
    pub max_connections: Option<u32>,
    /// Serves tools over plain HTTP, as `docs/rest.md` says.
    pub rest: bool,
    /// Passes data from server to server by reference, at `/data/REF`. Needs `http`.
    pub data_references: bool,
    /// The address at which servers reach this kernel for data, such as `https://mgp.example`; that of the socket if
    /// left out.
    pub data_url: Option<String>,
    /// Accepts a key in the member `auth` of a message, beside `params`: `{"type": "bearer", "token": KEY}`.
    pub auth_member: bool,
}
