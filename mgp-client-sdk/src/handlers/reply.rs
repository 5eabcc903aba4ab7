use mgp_types::Error;

/// What a handler may return: the answer, or a result with the answer.
#[diagnostic::on_unimplemented(
    message = "a handler for this request has to return `{T}` or `Result<{T}, mgp_types::Error>`",
    label = "this is returned instead"
)]
pub trait IntoReply<T> {
    /// The answer, or why there is none.
    ///
    /// # Errors
    /// Those of the handler.
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
