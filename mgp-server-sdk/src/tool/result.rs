//! The values that a tool's handler may return, and the failure of a tool.

use std::any::{Any, type_name};
use std::borrow::Cow;
use std::fmt;

#[cfg(feature = "ext")]
use mgp_types::ext::StructuredError;
#[cfg(feature = "ext")]
use mgp_types::mcp::Meta;
use mgp_types::mcp::{CallToolResult, ContentBlock, ForRevision};
use mgp_types::mgp::{CodeRejection, Recovery, written};
use mgp_types::{Error, RawJson, Response, Revision, code, json};
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::schema;

/// The outcome of a tool: text, a full result, or an answer that is no result yet.
#[derive(Debug)]
pub struct ToolResult(pub(super) ResultForm);

#[derive(Debug)]
pub(super) enum ResultForm {
    /// A text, the usual case, written without building a result first.
    Text {
        text: Cow<'static, str>,
        is_error: bool,
    },
    Full(Box<CallToolResult>),
    /// A result as bytes, like that of a task just created.
    Written(Box<Response>),
}

/// A value that a tool's handler may return.
///
/// Texts, numbers and booleans become one block of text, [`ContentBlock`]s stand as they are, [`CallToolResult`] is the
/// result itself, `()` is an empty result and [`Json`] a structured one. A `Result` whose error is a [`ToolError`] adds
/// failures to any of them.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not a tool's result",
    note = "return a text, a number, `()`, a `ContentBlock`, a `Vec` of them, a `CallToolResult`, `Json<T>`, \
            or a `Result` of one of these and `ToolError`"
)]
pub trait IntoToolResult {
    /// Returns the result.
    ///
    /// # Errors
    /// The call is answered with a JSON-RPC error. A failure that a model should read is a result, with
    /// `isError` set.
    fn into_tool_result(self) -> Result<ToolResult, Error>;

    /// Returns the JSON Schema of the structured result, if there is one.
    fn output_schema() -> Option<Schema> {
        None
    }
}

/// A structured result: `structuredContent`, with the same value as text for clients that read nothing else.
///
/// The tool's output schema is generated from `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper that names how its value is written")]
pub struct Json<T>(pub T);

impl ToolResult {
    /// Creates a result of one text.
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self(ResultForm::Text { text: text.into(), is_error: false })
    }

    /// Creates a failure with a text for the model to read.
    pub fn error(text: impl Into<Cow<'static, str>>) -> Self {
        Self(ResultForm::Text { text: text.into(), is_error: true })
    }

    /// Creates the failure that tells the caller of arguments that do not fit.
    #[cfg(not(feature = "ext"))]
    pub(crate) fn refused(fault: super::arguments::ArgumentFault) -> Self {
        Self::error(fault.0)
    }

    pub(crate) fn written(response: Response) -> Self {
        Self(ResultForm::Written(Box::new(response)))
    }

    pub(crate) fn is_error(&self) -> bool {
        match &self.0 {
            ResultForm::Text { is_error, .. } => *is_error,
            ResultForm::Full(result) => result.is_error(),
            ResultForm::Written(_) => false,
        }
    }

    /// Puts the parts that were streamed into the result, if it has no content of its own.
    pub(crate) fn or_parts(mut self, parts: impl FnOnce() -> Vec<ContentBlock>) -> Self {
        if let ResultForm::Full(result) = &mut self.0
            && result.content.is_empty()
            && result.structured_content.is_none()
        {
            result.content = parts();
        }
        self
    }

    /// Returns the result as `revision` writes it.
    pub(crate) fn into_response(self, revision: Revision) -> Result<Response, Error> {
        match self.0 {
            ResultForm::Text { text, is_error } => Ok(write_text(&text, is_error)),
            ResultForm::Full(mut result) => {
                result.fit(revision);
                // The era layer writes the kind of result; this one is complete.
                result.result_type = None;
                let plain = result.meta.is_none() && result.extra.is_empty();
                let written = written(&*result)?;
                Ok(if plain { Response::plain(written) } else { Response::new(written) })
            }
            ResultForm::Written(response) => Ok(*response),
        }
    }
}

mgp_types::convert!(CallToolResult => ToolResult, result => Self(ResultForm::Full(Box::new(result))));

/// Writes the result by hand, because most calls of most tools return a text.
fn write_text(text: &str, is_error: bool) -> Response {
    const HEAD: &[u8] = br#"{"content":[{"type":"text","text":"#;
    let tail: &[u8] = if is_error { br#"}],"isError":true}"# } else { b"}]}" };
    // The capacity is exact for a text without escapes; bytes without spare room need no counter of their own.
    let mut out = Vec::with_capacity(HEAD.len() + text.len() + 2 + tail.len());
    out.extend_from_slice(HEAD);
    json::write_string(&mut out, text);
    out.extend_from_slice(tail);
    Response::plain(RawJson::from_written(out))
}

/// Implements a trait of what a handler may return for types that always turn into a result.
macro_rules! turn_into {
    ($trait:ident::$turn:ident -> $result:ty { $([$($generics:tt)*] $type:ty: |$own:ident| $turned:expr;)+ }) => {
        $(impl<$($generics)*> $trait for $type {
            fn $turn(self) -> Result<$result, Error> {
                let $own = self;
                Ok($turned)
            }
        })+
    };
}

pub(crate) use turn_into;

turn_into! { IntoToolResult::into_tool_result -> ToolResult {
    [] ToolResult: |result| result;
    [] CallToolResult: |result| result.into();
    [] ContentBlock: |block| CallToolResult::new([block]).into();
    [] Vec<ContentBlock>: |blocks| CallToolResult::new(blocks).into();
    [const N: usize] [ContentBlock; N]: |blocks| CallToolResult::new(blocks).into();
    [] String: |text| ToolResult::text(text);
    [] &'static str: |text| ToolResult::text(text);
    [] Cow<'static, str>: |text| ToolResult::text(text);
} }

macro_rules! as_text {
    ($($type:ty)+) => {
        turn_into! { IntoToolResult::into_tool_result -> ToolResult {
            $([] $type: |value| ToolResult::text(value.to_string());)+
        } }
    };
}

as_text!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool char);

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult, Error> {
        CallToolResult::new([]).into_tool_result()
    }
}

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolResult, Error> {
        let unwritable = |error| {
            let message =
                format!("the result of the type `{}` cannot be written as JSON: {error}", type_name::<T>());
            Error::internal(message)
        };
        CallToolResult::structured(&self.0).map(ToolResult::from).map_err(unwritable)
    }

    fn output_schema() -> Option<Schema> {
        Some(schema::written_by::<T>())
    }
}

impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolResult, Error> {
        match self {
            Ok(result) => result.into_tool_result(),
            Err(error) => error.into().into_tool_result(),
        }
    }

    fn output_schema() -> Option<Schema> {
        T::output_schema()
    }
}

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
    Message(Cow<'static, str>),
    Protocol(Error),
    #[cfg(feature = "ext")]
    Structured(Box<StructuredError>),
}

impl ToolError {
    /// Creates a failure with this message for the model.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(ToolErrorReason::Message(message.into()))
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
            ToolErrorReason::Message(message) => Error::internal(message),
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
            ToolErrorReason::Message(message) => f.write_str(message),
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
            ToolErrorReason::Message(message) => Ok(ToolResult::error(message)),
            ToolErrorReason::Protocol(error) => Err(error),
            #[cfg(feature = "ext")]
            ToolErrorReason::Structured(error) => {
                let meta = Meta::new().with("error", error.to_object().to_raw());
                Ok(CallToolResult::error(text_of(&error)).with_meta(meta).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_as_the_full_result_would_be() {
        for text in ["", "hello", "say \"hi\"\n", "größe \u{1}"] {
            for (result, full) in [
                (ToolResult::text(text), CallToolResult::text(text)),
                (ToolResult::error(text), CallToolResult::error(text)),
            ] {
                let written = result.into_response(Revision::LATEST).unwrap().to_raw();
                assert_eq!(written, RawJson::from_value(&full).unwrap());
            }
        }
    }

    #[test]
    fn a_full_result_leaves_the_era_to_the_era() {
        let result = ToolResult::from(CallToolResult::text("x"));
        let response = result.into_response(Revision::LATEST).unwrap();
        assert_eq!(response.context.shape, mgp_types::ResultShape::Plain);
        assert_eq!(response.result.as_bytes(), br#"{"content":[{"type":"text","text":"x"}]}"#);
    }
}
