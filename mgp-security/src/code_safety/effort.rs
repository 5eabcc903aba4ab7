//! The steps that a check takes to follow what code refers to, and code that takes steps without end.

use std::cell::Cell;

use mgp_types::mgp::SafetyLevel::Strict;

use super::finding::Findings;
use super::syntax::{Node, Tree};

/// The steps that are left for one tree: what is nested into itself could take any number of them.
pub(super) struct Effort(Cell<usize>);

impl Effort {
    /// More steps for a longer tree.
    pub(super) fn of(tree: &Tree) -> Self {
        Self(Cell::new(MIN_EFFORT + tree.len() * EFFORT_PER_NODE))
    }

    /// Takes one step, and says whether there are more.
    pub(super) fn spend(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        !self.is_exhausted()
    }

    /// Gives up.
    pub(super) fn exhaust(&self) {
        self.0.set(0);
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.0.get() == 0
    }
}

/// Finds a function that calls itself before anything could keep it from that.
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

const MIN_EFFORT: usize = 20_000;
const EFFORT_PER_NODE: usize = 30;
