//! The reason why a message is no envelope.

use super::{ErrorDetail, ErrorType};
use crate::{JsonError, RawJson};

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
        match self.member {
            None => detail,
            Some(member) => detail.with_invalid_parameter(
                member,
                self.provided.clone().unwrap_or(RawJson::null()),
                &self.rule,
            ),
        }
    }

    fn subject(&self) -> String {
        self.member.map_or_else(String::new, |member| format!("`{member}` "))
    }
}
