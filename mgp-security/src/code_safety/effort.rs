//! Limits on the steps that a check takes to follow references in code, and detection of endless recursion.

use std::cell::Cell;

use mgp_types::mgp::SafetyLevel::Strict;

use super::finding::Findings;
use super::syntax::{Node, Tree};

/// The steps that are left for one tree; references that lead back to themselves could take any number of them.
pub(super) struct Effort(Cell<usize>);

impl Effort {
    /// Returns the steps for one tree, more for a longer one.
    pub(super) fn of(tree: &Tree) -> Self {
        Self(Cell::new(MIN_EFFORT + tree.len() * EFFORT_PER_NODE))
    }

    /// Takes one step, and returns whether there are more.
    pub(super) fn spend(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        !self.is_exhausted()
    }

    /// Uses up all steps.
    pub(super) fn exhaust(&self) {
        self.0.set(0);
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.0.get() == 0
    }
}

/// Finds a function that calls itself unconditionally.
pub(super) fn endless_recursion(function: Node<'_>, findings: &mut Findings) {
    let (Some(name), Some(body)) = (function.field("name"), function.field("body")) else { return };
    let plain = body
        .named_children()
        .take_while(|statement| matches!(statement.kind(), "expression_statement" | "return_statement"));
    let mut calls = plain.filter_map(|statement| statement.named_children().next()?.field("function"));
    if calls.any(|called| called.kind() == "identifier" && called.text() == name.text()) {
        findings.pattern(Strict, "endless recursion", function.at());
    }
}

/// The number of steps for a tree without nodes.
const MIN_EFFORT: usize = 20_000;
/// The number of further steps for each node of a tree.
const EFFORT_PER_NODE: usize = 30;
