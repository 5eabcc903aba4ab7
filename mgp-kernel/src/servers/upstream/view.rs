//! The view of a server that operators get.

use std::time::Duration;

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
    /// What is known of a start that takes long.
    pub delay: Option<String>,
    /// The number of times that it was connected to again.
    pub restarts: u64,
    /// The negotiated MGP; `None` for a plain MCP server and while it is not connected.
    pub mgp: Option<MgpView>,
    /// The trust level of the server.
    pub trust: TrustLevel,
    /// The number of its tools that are offered.
    pub tools: usize,
    /// The number of its process, if it is a child.
    pub pid: Option<u32>,
    /// The time for which it has been connected.
    pub uptime: Option<Duration>,
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
