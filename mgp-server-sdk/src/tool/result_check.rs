//! The schema that a tool declares for its structured results.

use mgp_security::ArgumentJudge;
use mgp_types::RawJson;
use serde_json::Value;

/// The schema of a tool's structured result, for results that no type of the handler's holds to it.
#[derive(Debug)]
pub(super) struct ResultCheck(ArgumentJudge);

impl ResultCheck {
    /// Compiles the schema; the error is for the author of the tool.
    pub(super) fn new(schema: &RawJson) -> Result<Self, String> {
        let judge = ArgumentJudge::compile(schema);
        judge.map(Self).map_err(|fault| format!("the schema of its result: {fault}"))
    }

    /// Returns the place of the first fault and the demand that is not met, without any value of the result.
    pub(super) fn fault(&self, structured: Option<&RawJson>) -> Option<String> {
        let Some(structured) = structured else { return Some("it has no structured content".into()) };
        let faults = self.0.violations(&structured.to::<Value>().ok()?);
        let first = faults.first()?;
        let place = if first.path.is_empty() { "the result" } else { &first.path };
        Some(format!("{place} breaks `{}`", first.keyword))
    }
}
