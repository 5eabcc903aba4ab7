//! Optional extensions of MCP on the side of the client: what a call says and asks for beyond its arguments, and what a
//! host learns from results and errors.

mod approval;
mod effects;
mod hints;
mod tool_version;

pub use self::approval::{ApprovalLayer, ApprovalQuestion, ApprovalService, ApprovalTreatment};
pub(crate) use self::hints::risk;
pub use self::hints::{ResultHints, UserAdvice};
