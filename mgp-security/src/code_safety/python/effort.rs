//! Rules for code that is made to use up time or memory.

use mgp_types::mgp::SafetyLevel::Strict;

use super::Check;
use super::call::{keyword, positional};
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    /// Checks for a loop that never ends and does nothing.
    pub(super) fn endless_loop(&mut self, node: Node<'t>) {
        let is_endless = node.field("condition").is_some_and(|condition| self.is_true(condition));
        let does_something = node.descendants().any(|part| {
            matches!(
                part.kind(),
                "break_statement"
                    | "return_statement"
                    | "raise_statement"
                    | "yield"
                    | "await"
                    | "call"
                    | "assert_statement"
                    | "subscript"
            )
        });
        if is_endless && !does_something {
            self.findings.pattern(Strict, "while True", node.at());
        }
    }

    /// Checks for calls that take all elements of an endless source: `list(itertools.count())`.
    pub(super) fn endless_source(&mut self, path: &str, node: Node<'t>) {
        let Some(source) = positional(node).next() else { return };
        let is_endless = self.code.paths(source).iter().any(|of| match &**of {
            "itertools.count()" | "itertools.cycle()" => true,
            "itertools.repeat()" => positional(source).count() == 1 && keyword(source, "times").is_none(),
            _ => false,
        });
        if is_endless {
            let name = path.strip_prefix("builtins.").unwrap_or(path);
            self.findings.pattern(Strict, &format!("{name}("), node.at());
        }
    }

    /// Checks for numbers of astronomic length, and sequences with many copies of one.
    pub(super) fn growth(&mut self, node: Node<'t>) {
        let (Some(left), Some(right), Some(operator)) =
            (node.field("left"), node.field("right"), node.field("operator"))
        else {
            return;
        };
        let is_huge = match operator.text() {
            "**" => self.code.number(node).is_some_and(|number| number.abs() > LARGEST_NUMBER),
            "<<" => self.code.number(right).is_some_and(|bits| bits > MAX_BITS),
            "*" => [(left, right), (right, left)].into_iter().any(|(of, times)| {
                is_sequence(of) && self.code.number(times).is_some_and(|times| times > MAX_ELEMENTS)
            }),
            _ => false,
        };
        if is_huge {
            self.findings.pattern(Strict, node.text(), node.at());
        }
    }

    fn is_true(&self, condition: Node<'t>) -> bool {
        match condition.kind() {
            "true" => true,
            "string" => self.code.text(condition).is_some_and(|text| !text.is_empty()),
            "parenthesized_expression" => {
                condition.named_children().next().is_some_and(|inner| self.is_true(inner))
            }
            "not_operator" => condition
                .field("argument")
                .is_some_and(|of| matches!(of.kind(), "false" | "none") || self.code.number(of) == Some(0.0)),
            _ => self.code.number(condition).is_some_and(|number| number.abs() > 0.0),
        }
    }
}

fn is_sequence(node: Node<'_>) -> bool {
    matches!(node.kind(), "string" | "concatenated_string" | "list" | "tuple" | "parenthesized_expression")
}

/// The largest number that is accepted; the numbers that science uses fit a float.
const LARGEST_NUMBER: f64 = 1e308;
/// The largest number of bits that a number may be shifted to the left.
const MAX_BITS: f64 = 1e6;
/// The largest factor that a sequence may be multiplied with.
const MAX_ELEMENTS: f64 = 1e8;
