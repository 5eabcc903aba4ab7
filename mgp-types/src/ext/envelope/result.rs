//! The result of a tool in an envelope, and the outcome of a call in MCP as such a result.

use bytes::Bytes;

use super::super::{ExtensionId, StructuredError, projection, written};
use super::{EnvelopeFault, ErrorDetail, ErrorType};
use crate::json::ObjectWriter;
use crate::macros::setter;
use crate::macros::words::words;
use crate::mgp::members::leftover;
use crate::{Error, Object, RawJson, Response};

words! {
    /// The outcome of a call.
    #[derive(Default)]
    ResultStatus {
        /// The tool did what it was asked for.
        #[default]
        Success = "success",
        /// The tool did not do what it was asked for.
        Failure = "failure",
        /// The state that the tool was asked for held already.
        NoChangeNeeded = "no_change_needed",
        /// The tool did a part of what it was asked for.
        PartialSuccess = "partial_success",
    }
}

/// The result of a call.
///
/// A failed result has an error and no data, and every other result may have data; there is no other way to make one.
///
/// ```
/// use mgp_types::ext::{ErrorDetail, ErrorType, ToolResult};
///
/// let failed = ToolResult::failure(ErrorDetail::new(ErrorType::TimeoutError, "no answer within 30 s"));
/// assert_eq!(
///     failed.to_raw().as_bytes(),
///     br#"{"status":"failure","error":{"error_type":"TimeoutError","error_message":"no answer within 30 s"}}"#,
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    status: ResultStatus,
    data: Option<Object>,
    error: Option<ErrorDetail>,
    explanation: Option<Box<str>>,
    unknown: Object,
}

const KNOWN: [&str; 4] = ["status", "data", "error", "explanation"];

impl ToolResult {
    /// Creates the result of a tool that did what it was asked for.
    pub fn success(data: Object) -> Self {
        Self { data: Some(data), ..Self::default() }
    }

    /// Creates the result of a tool that found nothing to change.
    pub fn no_change_needed() -> Self {
        Self { status: ResultStatus::NoChangeNeeded, ..Self::default() }
    }

    /// Creates the result of a tool that did a part, with the error that kept it from the rest.
    pub fn partial_success(data: Object, error: ErrorDetail) -> Self {
        Self { status: ResultStatus::PartialSuccess, data: Some(data), error: Some(error), ..Self::default() }
    }

    /// Creates the result of a tool that failed.
    pub fn failure(error: ErrorDetail) -> Self {
        Self { status: ResultStatus::Failure, error: Some(error), ..Self::default() }
    }

    setter!(explanation: Box<str> => into with_explanation);

    /// Returns the outcome.
    pub const fn status(&self) -> ResultStatus {
        self.status
    }

    /// Returns the data of a result that did not fail.
    pub const fn data(&self) -> Option<&Object> {
        self.data.as_ref()
    }

    /// Returns the error.
    pub const fn error(&self) -> Option<&ErrorDetail> {
        self.error.as_ref()
    }

    /// Returns the explanation for people.
    pub fn explanation(&self) -> Option<&str> {
        self.explanation.as_deref()
    }

    /// Returns the members that this version does not know.
    pub const fn unknown(&self) -> &Object {
        &self.unknown
    }

    /// Reads a result from JSON in UTF-8.
    ///
    /// `null` counts as a missing member. Unknown members are kept, because later versions may have more.
    pub fn from_json(json: impl Into<Bytes>) -> Result<Self, EnvelopeFault> {
        let object = Object::parse(json).map_err(|error| EnvelopeFault::of_json(&error))?;
        Self::from_object(&object)
    }

    /// Reads a result from an object.
    pub fn from_object(object: &Object) -> Result<Self, EnvelopeFault> {
        let member = |name| object.get(name).filter(|value| !value.is_null());
        let fault = |name, rule: &str, value: &RawJson| EnvelopeFault::new(name, rule, Some(value));
        let Some(status) = member("status") else {
            return Err(EnvelopeFault::new("status", "is missing: write it even if it is `success`", None));
        };
        let word = status.to_text();
        let known = ResultStatus::ALL.iter().copied().find(|known| Some(known.as_str()) == word.as_deref());
        let status = known.ok_or_else(|| {
            fault("status", "must be success, failure, no_change_needed or partial_success", &status)
        })?;
        let as_object = |name: &'static str| {
            let read = |value: RawJson| {
                Object::from_raw(&value).map_err(|_| fault(name, "must be an object or null", &value))
            };
            member(name).map(read).transpose()
        };
        let data = as_object("data")?;
        let error = as_object("error")?.map(|error| ErrorDetail::from_object(&error)).transpose()?;
        let text = |value: RawJson| {
            value.to_text().ok_or_else(|| fault("explanation", "must be a string or null", &value))
        };
        let explanation = member("explanation").map(text).transpose()?.map(Into::into);
        if status == ResultStatus::Failure {
            if error.is_none() {
                return Err(EnvelopeFault::new("error", "is missing: a failed result says why", None));
            }
            if data.is_some() {
                return Err(EnvelopeFault::new("data", "must be null or missing in a failed result", None));
            }
        }
        Ok(Self { status, data, error, explanation, unknown: leftover(object, &KNOWN) })
    }

    /// Returns the result as JSON without spaces, as it is sent. Members without a value are left out.
    pub fn to_raw(&self) -> RawJson {
        let mut out = ObjectWriter::new();
        out.text("status", self.status.as_str());
        out.optional("data", self.data.as_ref());
        out.optional("error", self.error.as_ref());
        out.optional("explanation", self.explanation.as_ref());
        out.others(&self.unknown, &KNOWN);
        out.finish().to_raw().compact()
    }

    /// Returns the result as JSON without spaces, with `null` for each of the four members that has no value.
    pub fn to_raw_with_nulls(&self) -> RawJson {
        let mut object = Object::new();
        object.set("status", RawJson::from_text(self.status.as_str()));
        object.set("data", self.data.as_ref().map_or(RawJson::null(), Object::to_raw));
        object.set("error", self.error.as_ref().map_or(RawJson::null(), written));
        object.set("explanation", self.explanation.as_deref().map_or(RawJson::null(), RawJson::from_text));
        object.followed_by(&self.unknown).compact()
    }

    /// Returns the result as JSON that people read, indented by two.
    pub fn to_json_pretty(&self) -> String {
        format!("{:#}", self.to_raw())
    }
}

impl ToolResult {
    /// Returns the outcome of `tools/call` as the result of an envelope: a structured result or the blocks of the content
    /// become its data, and an error or a failed result its error.
    pub fn of_call(outcome: &Result<Response, Error>) -> Self {
        match outcome {
            Ok(response) => Self::of_result(&Object::from_raw(&response.to_raw()).unwrap_or_default()),
            Err(error) => Self::failure(of_error(error)),
        }
    }

    /// Returns the result of `tools/call` as the result of an envelope; see [`of_call`](Self::of_call).
    ///
    /// A tool that knows of envelopes says more than MCP can: the member `result` of the extension's metadata is the result
    /// itself. One that breaks a rule of envelopes is a failure.
    pub fn of_result(result: &Object) -> Self {
        if result.text("resultType").is_some_and(|kind| kind != "complete") {
            let why =
                "the call is not done: it asks a person something, or runs as a task, which needs MCP itself";
            return Self::failure(ErrorDetail::new(ErrorType::ToolExecutionError, why));
        }
        let meta = result.object("_meta").and_then(|meta| meta.object(ExtensionId::Envelopes.id()));
        if let Some(envelope) = meta.and_then(|meta| meta.object("result")) {
            return Self::from_object(&envelope)
                .unwrap_or_else(|fault| Self::failure(fault.to_error_detail()));
        }
        if result.bytes("isError") == Some(b"true") {
            return Self::failure(of_failed(result));
        }
        Self::success(result.object("structuredContent").unwrap_or_else(|| {
            let content = result.get("content").unwrap_or_else(|| RawJson::from_valid("[]"));
            Object::from([("content", content)])
        }))
    }
}

/// Returns an error of MCP in the words of envelopes.
fn of_error(error: &Error) -> ErrorDetail {
    let data = error.data().and_then(|data| Object::from_raw(data).ok()).unwrap_or_default();
    let structured = error.data().and_then(StructuredError::read);
    let kind = structured.as_ref().and_then(|structured| kind_of(&structured.code));
    let structured = structured.unwrap_or_else(|| StructuredError::of(error));
    let kind = kind.unwrap_or_else(|| projection(error.code()).envelope);
    detail(kind, error.message(), &data, Some(&structured))
}

/// Returns the error of a failed result: that in its metadata, or its text.
fn of_failed(result: &Object) -> ErrorDetail {
    let data = result.object("_meta").and_then(|meta| meta.object("error")).unwrap_or_default();
    let structured = StructuredError::read(&data.to_raw());
    let blocks: Vec<Object> = result.get("content").and_then(|blocks| blocks.to().ok()).unwrap_or_default();
    let texts: Vec<_> = blocks.iter().filter_map(|block| block.text("text")).collect();
    let text = if texts.is_empty() { "the tool failed".to_owned() } else { texts.join("\n") };
    let kind = structured.as_ref().and_then(|structured| kind_of(&structured.code));
    detail(kind.unwrap_or(ErrorType::ToolExecutionError), &text, &data, structured.as_ref())
}

/// Returns the error with its details: the argument that does not fit, or the facts of the structured error and the
/// time to wait before the next attempt.
fn detail(
    kind: ErrorType,
    message: &str,
    data: &Object,
    structured: Option<&StructuredError>,
) -> ErrorDetail {
    let detail = ErrorDetail::new(kind, message);
    if let Some(field) = data.text("field") {
        let provided = data.get("provided_value").unwrap_or(RawJson::null());
        let reason = data.text("reason").unwrap_or_else(|| message.into());
        return detail.with_invalid_parameter(&field, provided, &reason);
    }
    let mut facts = structured.and_then(|structured| structured.details.clone()).unwrap_or_default();
    if let Some(seconds) = structured.and_then(|structured| structured.retry_after_seconds) {
        facts.set("retry_after_seconds", written(&seconds));
    }
    if facts.is_empty() { detail } else { detail.with_details(&facts) }
}

/// Returns the kind of error that the word of a structured error stands for; `None` for a word without one.
fn kind_of(word: &str) -> Option<ErrorType> {
    let mut rows = include_str!("kinds.txt").lines().filter_map(|row| row.split_once(' '));
    rows.find(|(known, _)| *known == word).map(|(_, kind)| ErrorType::read(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;

    fn result(json: &str) -> ToolResult {
        ToolResult::of_result(&Object::parse(json.to_owned()).unwrap())
    }

    #[test]
    fn what_a_tool_gives_back_becomes_data_and_what_it_says_of_a_failure_an_error() {
        let data = result(r#"{"content":[],"structuredContent":{"sum":3}}"#);
        assert_eq!(data.data().unwrap().get("sum").unwrap().as_bytes(), b"3");
        let text = result(r#"{"content":[{"type":"text","text":"hi"}]}"#);
        assert_eq!(text.data().unwrap().to_raw().as_bytes(), br#"{"content":[{"type":"text","text":"hi"}]}"#);
        let failed = result(r#"{"content":[{"type":"text","text":"boom"}],"isError":true}"#);
        assert_eq!(failed.error().unwrap().error_type, ErrorType::ToolExecutionError);
        assert_eq!(&*failed.error().unwrap().error_message, "boom");
        let asked = result(r#"{"resultType":"input_required"}"#);
        assert!(asked.error().unwrap().error_message.contains("asks a person"));
    }

    // covers: ENV-3.3-04, ENV-3.3-06
    #[test]
    fn each_of_the_standard_kinds_of_errors_is_reached() {
        let missing_file = concat!(
            r#"{"isError":true,"content":[],"_meta":{"error":"#,
            r#"{"code":"FILE_NOT_FOUND","message":"m","category":"permanent","details":{"path":"notes.txt"}}}}"#
        );
        let file = result(missing_file).error().unwrap().clone();
        assert!(file.error_details.unwrap().to_string().contains("notes.txt"));
        let mut kinds: Vec<_> = [4000, 1002, 4001, -32603, 3000, 3003, 1001]
            .map(|number| {
                ToolResult::of_call(&Err(Error::new(number, "m"))).error().unwrap().error_type.clone()
            })
            .to_vec();
        kinds.push(file.error_type);
        assert!(ErrorType::KNOWN.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    }

    #[test]
    fn an_argument_that_does_not_fit_is_named_with_its_value() {
        let data = r#"{"field":"ticker","reason":"Pattern mismatch","provided_value":"abc"}"#;
        let error = Error::new(code::INVALID_TOOL_ARGS, "no").with_data(RawJson::parse(data).unwrap());
        let failed = ToolResult::of_call(&Err(error));
        assert_eq!(
            failed.error().unwrap().error_details.as_ref().unwrap().as_bytes(),
            br#"{"parameter":"ticker","provided_value":"abc","constraint":"Pattern mismatch"}"#
        );
    }
}
