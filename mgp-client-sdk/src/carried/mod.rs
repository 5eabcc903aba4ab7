//! Values that a client carries for servers: the state of conversations, and places to go on from.

mod resume;
mod session_state;

use mgp_types::mcp::CallToolResult;
use mgp_types::{Object, RpcService};

pub use self::resume::StreamCheckpoint;
pub(crate) use self::resume::{CheckpointWatch, FirstPart};
pub use self::session_state::{Conversation, ConversationReply, SessionStates};
use crate::Call;

/// Returns a call of the same request with the same time limits, to be sent after this one. Progress is reported of the
/// first one alone.
fn again<S: RpcService>(call: &Call<S, CallToolResult>) -> Call<S, CallToolResult> {
    let mut again = Call::new(call.stack.clone(), call.shared.clone(), call.request.clone(), call.read);
    (again.timeout, again.max_timeout) = (call.timeout, call.max_timeout);
    again
}

/// Returns the metadata of a result.
pub(crate) fn meta(result: &CallToolResult) -> Object {
    result.meta.as_ref().and_then(|meta| Object::from_value(meta).ok()).unwrap_or_default()
}
