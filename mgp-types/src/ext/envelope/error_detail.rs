//! The error of a failed result in an envelope, and the reason why a message is no envelope.

use serde::Serialize;

use crate::macros::words::open_words;
use crate::{JsonError, Object, RawJson};

open_words! {
    /// The kind of an error in an envelope. Tools may have kinds of their own.
    pub enum ErrorType {
        /// `ValidationError`: the input is not valid.
        ValidationError = "ValidationError",
        /// `FileNotFoundError`: a file that the tool needs does not exist.
        FileNotFoundError = "FileNotFoundError",
        /// `AuthenticationError`: the caller could not prove who it is.
        AuthenticationError = "AuthenticationError",
        /// `ResourceNotFound`: the tool or the resource does not exist.
        ResourceNotFound = "ResourceNotFound",
        /// `ToolExecutionError`: the tool broke.
        ToolExecutionError = "ToolExecutionError",
        /// `ApiLimitExceeded`: the caller sent too many requests, or used up a quota.
        ApiLimitExceeded = "ApiLimitExceeded",
        /// `TimeoutError`: the operation took too long.
        TimeoutError = "TimeoutError",
        /// `PermissionError`: the caller may not do this.
        PermissionError = "PermissionError",
    }
}

/// The error of a failed result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ErrorDetail {
    /// The kind of the error.
    pub error_type: ErrorType,
    /// The error in words.
    pub error_message: Box<str>,
    /// An object or a text that says more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_details: Option<RawJson>,
}

impl ErrorDetail {
    /// Creates an error without details.
    pub fn new(error_type: ErrorType, error_message: impl Into<Box<str>>) -> Self {
        Self { error_type, error_message: error_message.into(), error_details: None }
    }

    crate::setters! { #[must_use] self =>
        /// Sets the details.
        pub fn with_details(details: &Object) => self.error_details = Some(details.to_raw());
    }

    /// Sets details that say which parameter is not valid, the value it has and the constraint that the value breaks.
    #[must_use]
    pub fn with_invalid_parameter(self, parameter: &str, provided_value: RawJson, constraint: &str) -> Self {
        let mut details = Object::new();
        details.set("parameter", RawJson::from_text(parameter));
        details.set("provided_value", provided_value);
        details.set("constraint", RawJson::from_text(constraint));
        self.with_details(&details)
    }

    /// Reads the member `error` of a result.
    pub(super) fn from_object(object: &Object) -> Result<Self, EnvelopeFault> {
        let text = |name: &'static str| {
            let value = object.get(name);
            let fault = |rule| EnvelopeFault::new(name, rule, value.as_ref());
            value
                .as_ref()
                .ok_or_else(|| fault("is missing in `error`"))?
                .to_text()
                .ok_or_else(|| fault("must be a string"))
        };
        let error_details = object.get("error_details").filter(|details| !details.is_null());
        if let Some(details) = &error_details
            && !details.is_object()
            && details.to_text().is_none()
        {
            let rule = "must be an object, a string or null";
            return Err(EnvelopeFault::new("error_details", rule, Some(details)));
        }
        Ok(Self {
            error_type: ErrorType::from(&*text("error_type")?),
            error_message: text("error_message")?.into(),
            error_details,
        })
    }
}

/// The reason why a message is no envelope: the member at fault, the rule, and the value in its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{rule}", self.subject())]
pub struct EnvelopeFault {
    member: Option<&'static str>,
    rule: String,
    provided: Option<RawJson>,
}

/// The longest value that an error repeats.
const MAX_REPEATED_BYTES: usize = 200;

impl EnvelopeFault {
    pub(super) fn new(member: &'static str, rule: impl Into<String>, provided: Option<&RawJson>) -> Self {
        let provided = provided.filter(|value| value.as_bytes().len() <= MAX_REPEATED_BYTES).cloned();
        Self { member: Some(member), rule: rule.into(), provided }
    }

    pub(super) fn of_json(error: &JsonError) -> Self {
        Self { member: None, rule: format!("the message is no JSON object: {error}"), provided: None }
    }

    /// Returns the member that breaks the rule; `None` if the whole message does.
    pub const fn member(&self) -> Option<&'static str> {
        self.member
    }

    /// Returns the error that tells the sender of the message about the fault.
    pub fn to_error_detail(&self) -> ErrorDetail {
        let detail = ErrorDetail::new(ErrorType::ValidationError, self.to_string());
        let Some(member) = self.member else { return detail };
        detail.with_invalid_parameter(member, self.provided.clone().unwrap_or(RawJson::null()), &self.rule)
    }

    fn subject(&self) -> String {
        self.member.map_or_else(String::new, |member| format!("`{member}` "))
    }
}
