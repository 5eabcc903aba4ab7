use std::sync::Arc;

use mgp_types::RawJson;
use mgp_types::mgp::{ResolvedTool, ServerId, ToolName};

use super::details::EventDetails;
use super::log::ChainKey;
use super::redact::Redaction;

/// What of a call's arguments is recorded.
///
/// Whatever it is, it may hold what an agent was told in confidence: nothing is the default.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum ArgumentRecording {
    /// Nothing.
    #[default]
    Omitted,
    /// The HMAC-SHA-256 of their bytes with a key, as `arguments_digest`: it can be proved later what they were. Without
    /// a key, short arguments could be found out by trying.
    Digest(ChainKey),
    /// The names, and in place of each value its kind and size, as `arguments`.
    Shape,
    /// The values without secrets, as `arguments`.
    Redacted(Arc<Redaction>),
}

impl ArgumentRecording {
    pub(super) const fn is_omitted(&self) -> bool {
        matches!(self, Self::Omitted)
    }

    pub(super) fn write(
        &self,
        details: &mut EventDetails,
        arguments: &RawJson,
        tool: Option<&ResolvedTool>,
        at: Option<(&ServerId, &ToolName)>,
    ) {
        match self {
            Self::Omitted => {}
            Self::Digest(key) => {
                details.text("arguments_digest", &key.authenticate(&[arguments.as_bytes()]).to_string());
            }
            Self::Shape => details.json("arguments", &Redaction::shape(arguments)),
            Self::Redacted(redaction) => {
                let found = match (tool, at) {
                    (None, Some((server, name))) => redaction.definition(server, name),
                    _ => None,
                };
                let schema = tool.or(found.as_deref()).and_then(|tool| tool.definition.get("inputSchema"));
                details.json("arguments", &redaction.arguments(arguments, schema.as_ref()));
            }
        }
    }
}
