//! The setting for how much of a call's arguments the audit trail records.

use mgp_types::RawJson;
use mgp_types::json::ObjectWriter;
use mgp_types::mgp::ResolvedTool;

use super::log::ChainKey;
use super::redact;

/// The part of a call's arguments that is recorded.
///
/// Any part may hold information that an agent was given in confidence, so by default nothing is recorded.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum ArgumentRecording {
    /// No part of the arguments is recorded.
    #[default]
    Omitted,
    /// The HMAC-SHA-256 of the arguments' bytes is recorded as `arguments_digest`, so that their content can be
    /// proved later. It takes a key: without one, short arguments could be found by trying.
    Digest(ChainKey),
    /// The names, and in place of each value its kind and size, are recorded as `arguments`.
    Shape,
    /// The values without secrets are recorded as `arguments`.
    Redacted,
}

impl ArgumentRecording {
    pub(super) const fn is_omitted(&self) -> bool {
        matches!(self, Self::Omitted)
    }

    pub(super) fn write(&self, details: &mut ObjectWriter, arguments: &RawJson, tool: Option<&ResolvedTool>) {
        match self {
            Self::Omitted => {}
            Self::Digest(key) => {
                details.text("arguments_digest", &key.authenticate(&[arguments.as_bytes()]).to_string());
            }
            Self::Shape => details.json("arguments", &redact::shape(arguments)),
            Self::Redacted => {
                let schema = tool.and_then(|tool| tool.definition.get("inputSchema"));
                details.json("arguments", &redact::redacted(arguments, schema.as_ref()));
            }
        }
    }
}
