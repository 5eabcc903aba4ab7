use std::sync::Arc;

use mgp_types::mgp::{ServerId, ServerState, ToolName};
use tokio::sync::oneshot;

use crate::embed::{Embedder, Made};
use crate::{Listing, ServerTools};

/// What the writer is told.
#[derive(Debug)]
pub(super) enum Change {
    Server(ServerTools),
    Tool(ServerId, Box<Listing>),
    NoTool(ServerId, ToolName),
    NoServer(ServerId),
    State(ServerId, ServerState),
    Embedder(Arc<dyn Embedder>),
    /// What the background of the lane of this number made.
    Made(u64, Vec<Made>),
    /// All before it is to be visible once this is answered.
    Settled(oneshot::Sender<()>),
    /// This is answered once all tools have the vectors that they are to have.
    Embedded(oneshot::Sender<()>),
}
