//! The classes of dangers that are refused, each with the advice for the agent that `dangers.txt` holds.

use crate::Finding;
/// A class of danger, which `dangers.txt` holds with its advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Danger(pub(super) &'static str);

impl Danger {
    /// Returns the class that is called `class`.
    pub(super) fn named(class: &'static str) -> Option<Self> {
        Self(class).advice().map(|_| Self(class))
    }

    fn advice(self) -> Option<&'static str> {
        let mut rows = include_str!("known/dangers.txt").lines().filter_map(|line| line.split_once(' '));
        rows.find(|(class, _)| *class == self.0).map(|(_, advice)| advice)
    }
}

/// Returns the finding of a danger, with the advice for the agent.
pub(super) fn refuse(danger: Danger) -> Finding {
    Finding::new(danger.0, danger.advice().unwrap_or(danger.0))
}

/// Refuses a call with a danger if the condition holds.
pub(super) fn refuse_if(condition: bool, danger: Danger) -> Result<(), Finding> {
    if condition { Err(refuse(danger)) } else { Ok(()) }
}
