//! The values that a prompt's handler may return.

use mgp_types::Error;
use mgp_types::mcp::{ContentBlock, GetPromptResult, PromptMessage, Role};

use crate::tool::ToolError;

/// A value that a prompt's handler may return.
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    label = "not the messages of a prompt",
    note = "return a text, a `ContentBlock`, a `PromptMessage`, a `Vec` or array of messages, a `GetPromptResult`, or a \
            `Result` of one of these and `ToolError`"
)]
pub trait IntoPrompt {
    /// Returns the messages.
    ///
    /// # Errors
    /// The request is answered with a JSON-RPC error.
    fn into_prompt(self) -> Result<GetPromptResult, Error>;
}

impl IntoPrompt for GetPromptResult {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        Ok(self)
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        Ok(GetPromptResult::new(self))
    }
}

impl<const N: usize> IntoPrompt for [PromptMessage; N] {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        Ok(GetPromptResult::new(self))
    }
}

impl IntoPrompt for PromptMessage {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        [self].into_prompt()
    }
}

impl IntoPrompt for ContentBlock {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        PromptMessage::new(Role::User, self).into_prompt()
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        ContentBlock::text(self).into_prompt()
    }
}

impl IntoPrompt for &str {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        ContentBlock::text(self).into_prompt()
    }
}

impl<T: IntoPrompt, E: Into<ToolError>> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, Error> {
        self.map_err(|error| error.into().into_error())?.into_prompt()
    }
}
