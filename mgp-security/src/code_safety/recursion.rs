use mgp_types::mgp::SafetyLevel::Strict;

use super::finding::Findings;
use super::syntax::Node;

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
