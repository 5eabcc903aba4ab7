//! What a tool declares beside its schemas, and the bounds that follow from it for each call.

use mgp_types::Object;
use mgp_types::ext::ToolDeclaration;
use mgp_types::mcp::{CallToolResult, Meta};
use mgp_types::{Error, Params, code};

use super::{Tool, ToolResult, arguments};
use crate::cx::budget;

impl Tool {
    /// Declares the latency, the costs, the media and the other facts about calls of the tool; they stand on the top level
    /// of its definition.
    ///
    /// A call whose arguments have more bytes than declared, or whose estimate is above the budget of its caller, is
    /// refused before the handler runs.
    ///
    /// ```
    /// use mgp_server_sdk::Tool;
    /// use mgp_types::ext::{Cost, LatencyClass, ToolDeclaration};
    ///
    /// let tool = Tool::new("render", "Renders a film.").declare(ToolDeclaration {
    ///     latency: Some(LatencyClass::Minutes),
    ///     cost: Some(Cost::metered(5.0, "credits")),
    ///     max_input_size_bytes: Some(10_485_760),
    ///     ..ToolDeclaration::default()
    /// });
    /// ```
    pub fn declare(mut self, declaration: ToolDeclaration) -> Self {
        let members = Object::from_value(&declaration).unwrap_or_default();
        for (name, value) in members.iter() {
            self.wire.extra.insert(name.into_owned(), value);
        }
        self.declared = Some(Box::new(declaration));
        self
    }
}

/// Returns the answer to a call that is outside of what its tool declares.
pub(super) fn refusal(declared: &ToolDeclaration, params: &Params) -> Option<Result<ToolResult, Error>> {
    let budget = match budget(params) {
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
    Some(Ok(CallToolResult::error(error.message()).with_meta(meta).into()))
}
