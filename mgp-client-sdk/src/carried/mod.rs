//! Values that a client carries for servers: the state of conversations, and places to go on from.

mod resume;
mod session_state;

use mgp_types::Object;
use mgp_types::mcp::CallToolResult;

pub use self::resume::StreamCheckpoint;
pub(crate) use self::resume::{CheckpointWatch, FirstPart};
pub use self::session_state::{Conversation, ConversationReply, SessionStates};

/// Returns the metadata of a result.
pub(crate) fn meta(result: &CallToolResult) -> Object {
    result.meta.as_ref().and_then(|meta| Object::from_value(meta).ok()).unwrap_or_default()
}
