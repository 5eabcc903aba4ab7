use std::borrow::Cow;
use std::fmt;

/// Something a check found: why a value is refused, and what to do instead.
///
/// The message is for the agent that sent the value, so it says how to do better and nothing about paths,
/// policies or other agents that the agent did not name itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The class of what was found, like `recursive-delete`: one stable word for audit and tests.
    pub rule: &'static str,
    /// What is wrong, and what to do instead.
    pub message: Cow<'static, str>,
}

impl Finding {
    /// A finding of the class `rule`.
    pub fn new(rule: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { rule, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.rule)
    }
}

impl std::error::Error for Finding {}
