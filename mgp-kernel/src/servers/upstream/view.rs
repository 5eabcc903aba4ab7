use std::time::Duration;

use mgp_types::mgp::{ServerId, ServerState, TrustLevel};

/// How one server does.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerView {
    /// Which server it is.
    pub id: ServerId,
    /// Whose connection it is, if agents have their own.
    pub agent: Option<String>,
    /// Where it is in its life.
    pub state: ServerState,
    /// What went wrong last, if it is not connected.
    pub last_error: Option<String>,
    /// How often it was connected to again.
    pub restarts: u64,
    /// What was agreed on about MGP; `None` for a plain MCP server and while it is not connected.
    pub mgp: Option<MgpView>,
    /// How far it is trusted.
    pub trust: TrustLevel,
    /// How many of its tools are offered.
    pub tools: usize,
    /// The number of its process, if it is a child.
    pub pid: Option<u32>,
    /// For how long it has been connected.
    pub uptime: Option<Duration>,
}

/// What was agreed on with a server about MGP.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MgpView {
    /// The version.
    pub version: String,
    /// The extensions that both sides have.
    pub extensions: Vec<String>,
}
