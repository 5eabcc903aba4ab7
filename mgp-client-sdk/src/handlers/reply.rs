//! The values that a handler of a client may return.

use mgp_types::Error;
use mgp_types::mcp::{ElicitResult, Elicited};
use serde::Serialize;

/// A value that a handler may return: the answer, or a result with the answer.
#[diagnostic::on_unimplemented(
    message = "a handler for this request has to return `{T}` or `Result<{T}, mgp_client_sdk::Error>`",
    label = "`{Self}` is returned instead",
    note = "a handler of `on_elicitation` or `on_url_elicitation` may return an `Elicited` of what can be written as JSON, too"
)]
pub trait IntoReply<T> {
    /// Returns the answer, or the error in its place.
    ///
    /// # Errors
    /// The handler failed.
    fn into_reply(self) -> Result<T, Error>;
}

impl<T> IntoReply<T> for T {
    fn into_reply(self) -> Result<T, Error> {
        Ok(self)
    }
}

impl<T> IntoReply<T> for Result<T, Error> {
    fn into_reply(self) -> Self {
        self
    }
}

impl<T: Serialize> IntoReply<ElicitResult> for Elicited<T> {
    fn into_reply(self) -> Result<ElicitResult, Error> {
        self.write()
    }
}

impl<T: Serialize> IntoReply<ElicitResult> for Result<Elicited<T>, Error> {
    fn into_reply(self) -> Result<ElicitResult, Error> {
        self?.write()
    }
}
