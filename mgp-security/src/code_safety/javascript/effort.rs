//! Rules for code that is made to use up time.

use mgp_types::mgp::SafetyLevel::Strict;

use super::Check;
use super::constant::number;
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    /// Checks for a loop that never ends and does nothing.
    pub(super) fn endless_loop(&mut self, node: Node<'t>) {
        let is_endless = match node.field("condition") {
            Some(condition) => self.is_true(condition),
            None => node.kind() == "for_statement",
        };
        let does_something = || {
            node.descendants().any(|part| {
                matches!(
                    part.kind(),
                    "break_statement"
                        | "return_statement"
                        | "throw_statement"
                        | "yield_expression"
                        | "await_expression"
                        | "call_expression"
                )
            })
        };
        if is_endless && !does_something() {
            self.findings.pattern(Strict, "endless loop", node.at());
        }
    }

    fn is_true(&self, condition: Node<'t>) -> bool {
        match condition.kind() {
            "true" | "object" | "array" | "empty_statement" | ";" => true,
            "parenthesized_expression" => {
                condition.named_children().next().is_some_and(|inner| self.is_true(inner))
            }
            "unary_expression" => {
                let argument = condition.field("argument");
                condition.text().starts_with('!')
                    && argument.is_some_and(|of| {
                        matches!(of.kind(), "false" | "null" | "undefined") || number(of) == Some(0.0)
                    })
            }
            "string" => self.scopes.text(condition).is_some_and(|text| !text.is_empty()),
            _ => number(condition).is_some_and(|number| number.abs() > 0.0),
        }
    }
}
