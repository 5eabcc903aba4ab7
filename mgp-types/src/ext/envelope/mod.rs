//! Envelopes around a call of a tool and its result, for programs that speak no JSON-RPC.
//!
//! Reading is strict: a message that breaks a rule is an [`EnvelopeFault`], which names the member, the rule and the
//! value, and becomes the error of a failed result.

mod call;
mod error_detail;
mod gate;
mod name;
mod result;
#[cfg(test)]
mod tests;

pub use self::call::{EnvelopeClient, ToolCall};
pub use self::error_detail::{EnvelopeFault, ErrorDetail, ErrorType};
pub use self::gate::EnvelopeGate;
pub use self::name::{DottedName, ProjectedNames};
pub use self::result::{ResultStatus, ToolResult};

/// The version of the envelopes, which follows semantic versioning.
pub const ENVELOPE_VERSION: &str = "1.0.0";

/// The JSON Schema (draft 7) of [`ToolCall`].
pub const TOOL_CALL_SCHEMA: &str = include_str!("tool_call.schema.json");
/// The JSON Schema (draft 7) of [`ToolResult`].
pub const TOOL_RESULT_SCHEMA: &str = include_str!("tool_result.schema.json");
/// The JSON Schema (draft 7) of [`ErrorDetail`].
pub const ERROR_DETAIL_SCHEMA: &str = include_str!("error_detail.schema.json");

/// The treatment of members that an envelope does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_enums, reason = "a choice of two")]
pub enum EnvelopeReading {
    /// The envelope of a call is closed: any other member is a fault.
    #[default]
    Strict,
    /// Other members of a call are ignored, as some libraries for Python do.
    Lenient,
}
