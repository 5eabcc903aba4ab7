//! The failure of a tool.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;

use mgp_types::Error;
use mgp_types::mgp::CodeRejection;

use super::{IntoToolResult, ToolResult};

/// The failure of a tool.
///
/// Any error becomes one by `?`. The call is then answered with a result whose `isError` is set and whose text is the
/// error's message, for the model to read. An [`mgp_types::Error`] is the exception: it answers the call itself, which
/// is how the question behind [`Cx::ask`](crate::Cx::ask) reaches the client. A [`CodeRejection`] becomes the JSON by
/// which an agent can correct its code (MGP §7.4).
///
/// ```
/// use mgp_server_sdk::ToolError;
///
/// async fn double(number: String) -> Result<i64, ToolError> {
///     let number: i64 = number.parse()?;
///     number.checked_mul(2).ok_or_else(|| ToolError::new("the number is too large"))
/// }
/// ```
#[derive(Debug)]
pub struct ToolError(ToolErrorReason);

#[derive(Debug)]
enum ToolErrorReason {
    Told(Cow<'static, str>),
    Protocol(Error),
}

impl ToolError {
    /// Creates a failure with this message for the model.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(ToolErrorReason::Told(message.into()))
    }

    /// Returns the error that answers a request which has no other way to fail.
    pub(crate) fn into_error(self) -> Error {
        match self.0 {
            ToolErrorReason::Told(message) => Error::internal(message),
            ToolErrorReason::Protocol(error) => error,
        }
    }

    /// Returns the error that answers the call instead of a result, if it is one.
    pub fn as_protocol_error(&self) -> Option<&Error> {
        match &self.0 {
            ToolErrorReason::Protocol(error) => Some(error),
            ToolErrorReason::Told(_) => None,
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ToolErrorReason::Told(message) => f.write_str(message),
            ToolErrorReason::Protocol(error) => error.fmt(f),
        }
    }
}

// `ToolError` is no `std::error::Error` itself: then it could not be made from every one.
impl<E: std::error::Error + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        if let Some(error) = (&error as &dyn Any).downcast_ref::<Error>() {
            return Self(ToolErrorReason::Protocol(error.clone()));
        }
        let rejection = (&error as &dyn Any).downcast_ref::<CodeRejection>();
        Self::new(rejection.and_then(as_json).unwrap_or_else(|| error.to_string()))
    }
}

fn as_json(rejection: &CodeRejection) -> Option<String> {
    serde_json::to_string(rejection).ok()
}

impl IntoToolResult for ToolError {
    fn into_tool_result(self) -> Result<ToolResult, Error> {
        match self.0 {
            ToolErrorReason::Told(message) => Ok(ToolResult::error(message)),
            ToolErrorReason::Protocol(error) => Err(error),
        }
    }
}
