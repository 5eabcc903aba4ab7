//! The result of a check that refuses a value.

use std::borrow::Cow;

/// A reason why a check refuses a value, with advice on what to do instead.
///
/// The message is for the agent that sent the value, so it says how to do better and nothing about paths, policies or
/// other agents that the agent did not name itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({rule})")]
#[non_exhaustive]
pub struct Finding {
    /// The class of the finding, like `recursive-delete`: one stable word for audit and tests.
    pub rule: &'static str,
    /// The text that says what is wrong, and what to do instead.
    pub message: Cow<'static, str>,
}

impl Finding {
    /// Returns a finding of the class `rule`.
    pub fn new(rule: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { rule, message: message.into() }
    }
}
