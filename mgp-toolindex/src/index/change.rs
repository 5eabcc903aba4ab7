use mgp_types::mgp::{ServerId, ServerState, ToolName};
use tokio::sync::oneshot;

use crate::{Listing, ServerTools};

/// What the writer is told.
#[derive(Debug)]
pub(super) enum Change {
    Server(ServerTools),
    Tool(ServerId, Listing),
    NoTool(ServerId, ToolName),
    NoServer(ServerId),
    State(ServerId, ServerState),
    /// All before it is to be visible once this is answered.
    Settled(oneshot::Sender<()>),
}
