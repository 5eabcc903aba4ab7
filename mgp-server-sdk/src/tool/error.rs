//! The failure of a tool.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;

#[cfg(feature = "ext")]
use mgp_types::ext::StructuredError;
#[cfg(feature = "ext")]
use mgp_types::mcp::{CallToolResult, Meta};
use mgp_types::mgp::{CodeRejection, Recovery};
use mgp_types::{Error, code};

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
    #[cfg(feature = "ext")]
    Structured(Box<StructuredError>),
}

impl ToolError {
    /// Creates a failure with this message for the model.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(ToolErrorReason::Told(message.into()))
    }

    /// Creates a failure that says what to do next: `_meta.error` of the result. Its text for the model is the message and
    /// the suggestion.
    ///
    /// ```
    /// use mgp_server_sdk::ToolError;
    /// use mgp_server_sdk::types::ext::{ErrorClass, StructuredError};
    ///
    /// let error = StructuredError::new("QUOTA_EXHAUSTED", ErrorClass::RateLimited, "no searches are left")
    ///     .with_retry_after_seconds(60)
    ///     .with_suggestion("narrow the search to one folder")?;
    /// let failure = ToolError::structured(error);
    /// assert_eq!(failure.to_string(), "no searches are left: narrow the search to one folder");
    /// # Ok::<(), mgp_server_sdk::types::ext::UnsafeAdvice>(())
    /// ```
    #[cfg(feature = "ext")]
    pub fn structured(error: StructuredError) -> Self {
        Self(ToolErrorReason::Structured(Box::new(error)))
    }

    /// Returns the error that answers a request which has no other way to fail.
    pub(crate) fn into_error(self) -> Error {
        match self.0 {
            ToolErrorReason::Told(message) => Error::internal(message),
            ToolErrorReason::Protocol(error) => error,
            #[cfg(feature = "ext")]
            ToolErrorReason::Structured(error) => {
                Error::internal(text_of(&error)).with_data(error.to_object().to_raw())
            }
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ToolErrorReason::Told(message) => f.write_str(message),
            ToolErrorReason::Protocol(error) => error.fmt(f),
            #[cfg(feature = "ext")]
            ToolErrorReason::Structured(error) => f.write_str(&text_of(error)),
        }
    }
}

// `ToolError` is no `std::error::Error` itself: then it could not be made from every one.
impl<E: std::error::Error + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        if let Some(error) = (&error as &dyn Any).downcast_ref::<Error>() {
            return Self(ToolErrorReason::Protocol(error.clone()));
        }
        if let Some(busy @ crate::Error::Busy) = (&error as &dyn Any).downcast_ref() {
            let again = Recovery::for_code(code::RESOURCE_EXHAUSTED).unwrap_or_default();
            return Self(ToolErrorReason::Protocol(Error::internal(busy.to_string()).with_recovery(again)));
        }
        let rejection = (&error as &dyn Any).downcast_ref::<CodeRejection>();
        let rejection = rejection.and_then(|rejection| serde_json::to_string(rejection).ok());
        Self::new(rejection.unwrap_or_else(|| error.to_string()))
    }
}

/// Returns a structured error in words.
#[cfg(feature = "ext")]
fn text_of(error: &StructuredError) -> String {
    match &error.suggestion {
        None => error.message.to_string(),
        Some(suggestion) => format!("{}: {suggestion}", error.message),
    }
}

impl IntoToolResult for ToolError {
    fn into_tool_result(self) -> Result<ToolResult, Error> {
        match self.0 {
            ToolErrorReason::Told(message) => Ok(ToolResult::error(message)),
            ToolErrorReason::Protocol(error) => Err(error),
            #[cfg(feature = "ext")]
            ToolErrorReason::Structured(error) => {
                let meta = Meta::new().with("error", error.to_object().to_raw());
                Ok(CallToolResult::error(text_of(&error)).with_meta(meta).into())
            }
        }
    }
}
