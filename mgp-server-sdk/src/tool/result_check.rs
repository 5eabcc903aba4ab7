//! The check of a tool's results against the schema that the tool declares.

use std::sync::Arc;

use mgp_security::ArgumentJudge;
use mgp_types::{Error, RawJson};
use serde_json::Value;

use super::{ToolFuture, ToolResult};

/// The schema of a tool's structured result, for results that no type of the handler's holds to it.
#[derive(Debug)]
pub(super) struct ResultCheck {
    tool: Arc<str>,
    judge: ArgumentJudge,
}

impl ResultCheck {
    /// Compiles the schema; the error is for the author of the tool.
    pub(super) fn new(tool: &str, schema: &RawJson) -> Result<Self, String> {
        let judge =
            ArgumentJudge::compile(schema).map_err(|fault| format!("the schema of its result: {fault}"))?;
        Ok(Self { tool: tool.into(), judge })
    }

    /// Judges the result of a call. One that does not fit is an error where the server requires schemas; anywhere else
    /// there is a warning in the log.
    pub(super) fn around(self: &Arc<Self>, call: ToolFuture, is_strict: bool) -> ToolFuture {
        let check = Arc::clone(self);
        Box::pin(async move {
            let result = call.await?;
            let Some(fault) = check.fault(&result) else { return Ok(result) };
            let Self { tool, .. } = &*check;
            tracing::warn!(%tool, fault, "a result does not fit the schema that its tool declares");
            if is_strict {
                return Err(Error::internal(format!(
                    "the result of `{tool}` does not fit the schema that the tool declares: {fault}"
                )));
            }
            Ok(result)
        })
    }

    /// Returns the place of the first fault and the demand that is not met, without any value of the result.
    fn fault(&self, result: &ToolResult) -> Option<String> {
        let structured = match result.structured() {
            Some(structured) => structured.to::<Value>().ok()?,
            None if result.is_error() || result.is_unfinished() => return None,
            None => return Some("it has no structured content".into()),
        };
        let faults = self.judge.violations(&structured);
        let first = faults.first()?;
        let place = if first.path.is_empty() { "the result" } else { &first.path };
        Some(format!("{place} breaks `{}`", first.keyword))
    }
}
