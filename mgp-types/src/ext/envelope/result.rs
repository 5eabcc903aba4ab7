//! The result of a tool in an envelope.

use bytes::Bytes;

use super::super::written;
use super::{EnvelopeFault, ErrorDetail};
use crate::json::ObjectWriter;
use crate::macros::setter;
use crate::macros::words::words;
use crate::mgp::members::leftover;
use crate::{Object, RawJson};

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
