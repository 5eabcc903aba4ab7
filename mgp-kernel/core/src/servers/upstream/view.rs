//! The view of a server that operators get.

use std::time::Duration;

use mgp_discovery::config::model::ServerProtocol;
use mgp_types::Revision;
use mgp_types::mgp::{ServerId, ServerState, TrustLevel};

/// The state of one server, or of one agent's or client's connection to it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerView {
    /// The id of the server.
    pub id: ServerId,
    /// The agent whose connection it is, if agents have their own.
    pub agent: Option<String>,
    /// The client that uses the connection, if clients have their own and one does.
    pub client: Option<String>,
    /// The state of the server in its lifecycle.
    pub state: ServerState,
    /// The last error, if the server is not connected.
    pub last_error: Option<String>,
    /// The reason why a start takes long, while it does.
    pub delay: Option<String>,
    /// The number of times that it was connected to again.
    pub restarts: u64,
    /// The negotiated MGP; `None` for a plain MCP server and while it is not connected.
    pub mgp: Option<MgpView>,
    /// The revision of MCP that is spoken with the server, and why; `None` while it is not connected.
    pub protocol: Option<ProtocolView>,
    /// The trust level of the server.
    pub trust: TrustLevel,
    /// The number of its tools that are offered.
    pub tools: usize,
    /// The number of its process, if it is a child.
    pub pid: Option<u32>,
    /// The time for which it has been connected.
    pub uptime: Option<Duration>,
}

/// The revision of MCP that is spoken with a server.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ProtocolView {
    /// The revision.
    pub revision: Revision,
    /// The reason for the choice, in words.
    pub reason: &'static str,
}

impl ProtocolView {
    pub(super) fn new(configured: ServerProtocol, revision: Revision) -> Self {
        let reason = match (configured.revision(), revision.is_stateless()) {
            (Some(_), _) => "set by `protocol` of the server",
            (None, true) => "the server refuses sessions",
            (None, false) => "the server has sessions, in which its tools may keep something between calls",
        };
        Self { revision, reason }
    }
}

/// The MGP that was negotiated with a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MgpView {
    /// The version of MGP.
    pub version: String,
    /// The extensions that both sides have.
    pub extensions: Vec<String>,
}
