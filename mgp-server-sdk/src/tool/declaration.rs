//! The bounds that a tool declares for its calls.

use mgp_types::ext::{ToolDeclaration, max_units};
use mgp_types::mcp::{CallToolResult, Meta};
use mgp_types::{Error, Params, code};

use super::arguments;

/// Returns the answer to a call that is outside of what its tool declares or its caller pays.
pub(super) fn refusal(declared: &ToolDeclaration, params: &Params) -> Option<Result<CallToolResult, Error>> {
    let budget = match params.object("_meta").map_or(Ok(None), |meta| max_units(&meta)) {
        Ok(budget) => budget,
        Err(error) => return Some(Err(error)),
    };
    let error = declared.check_call(arguments::bytes(params), budget).err()?;
    if error.code() != code::INVALID_TOOL_ARGS {
        return Some(Err(error));
    }
    // A fault of the arguments is for the model to mend.
    let mut meta = Meta::new();
    if let Some(data) = error.data() {
        meta.insert("error", data.clone());
    }
    Some(Ok(CallToolResult::error(error.message()).with_meta(meta)))
}
