//! The answers of gates to a call that is not made.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::Error;

/// A rule that was asked about a call that is not made, its answer, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AskedRule {
    /// The name of the rule, for people.
    pub rule: Cow<'static, str>,
    /// The answer of the rule.
    pub answer: RuleAnswer,
    /// The reason of the answer; empty where there is nothing to say.
    pub reason: String,
}

/// The answer of a rule to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "a call is made, waits for a person, or is not made")]
pub enum RuleAnswer {
    /// The rule lets the call be made.
    Allows,
    /// The rule has the call wait for a person.
    Asks,
    /// The rule keeps the call from being made.
    Refuses,
}

impl AskedRule {
    /// Returns a rule that allows the call for a reason, or refuses it with an error.
    pub fn judged(rule: &'static str, verdict: Result<impl Into<String>, Error>) -> Self {
        let (answer, reason) = match verdict {
            Ok(reason) => (RuleAnswer::Allows, reason.into()),
            Err(error) => (RuleAnswer::Refuses, error.message().to_owned()),
        };
        Self { rule: rule.into(), answer, reason }
    }

    /// Returns a rule that has a person asked.
    pub fn asks(rule: &'static str, reason: impl Into<String>) -> Self {
        Self { rule: rule.into(), answer: RuleAnswer::Asks, reason: reason.into() }
    }
}
