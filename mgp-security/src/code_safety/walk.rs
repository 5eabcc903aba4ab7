//! The walk over code by the rules of its language, and the rules that all languages share: what the texts in code name,
//! and the words that they are put together to hide.

use mgp_types::mgp::SafetyLevel::Strict;

use super::finding::Findings;
use super::identifier::{plain, split_tokens};
use super::meaning::Meaning;
use super::names::Lists;
use super::path_text;
use super::rules::{Rules, Seen};
use super::syntax::{Node, Tree};
use crate::network::is_metadata_url;

/// Records the findings in `tree`: those of the rules, and those of `more`, which is given each node after them.
pub(super) fn check_nodes<'t, C: Meaning<'t>>(
    tree: &'t Tree,
    code: &C,
    rules: &Rules,
    findings: &mut Findings,
    more: impl Fn(Node<'t>, &mut Findings),
) {
    let mut seen = Seen::default();
    for node in tree.nodes() {
        rules.check(node, code, &mut seen, findings);
        more(node, findings);
        if rules.lists.has("texts", node.kind()) {
            check_text(node, code, rules.lists, findings);
        }
        if matches!(node.kind(), "function_definition" | "function_declaration") && calls_itself(node) {
            findings.pattern(Strict, "endless recursion", node.at());
        }
    }
    if code.evaluation().is_exhausted() {
        findings.whole("Code too intricate to be checked: use fewer indirections");
    }
}

/// Checks the text that `node` evaluates to: for secrets that it names, and for a dangerous word of the lists under
/// `[hidden]` that is in the text but not in the code.
pub(super) fn check_text<'t>(
    node: Node<'t>,
    code: &impl Meaning<'t>,
    lists: &Lists,
    findings: &mut Findings,
) {
    // A longer text is judged as a whole.
    let is_part = node.parent().is_some_and(|parent| match parent.kind() {
        "binary_expression" => parent.field("operator").is_some_and(|sign| sign.text() == "+"),
        kind => matches!(kind, "binary_operator" | "concatenated_string"),
    });
    if is_part && matches!(node.kind(), "binary_operator" | "binary_expression" | "concatenated_string") {
        return;
    }
    let Some(text) = code.text(node) else { return };
    if path_text::is_sensitive(&text) || is_metadata_url(&text) {
        findings.pattern(Strict, &text, node.at());
    }
    let text = plain(&text);
    let is_danger = |word: &&str| lists.names("hidden").iter().any(|list| lists.has(list, word));
    let word = split_tokens(&text).find(|word| is_danger(word) && !node.text().contains(*word));
    if let Some(word) = word.filter(|word| !is_part && (word.len() == text.len() || word.starts_with('_'))) {
        findings.pattern(Strict, word, node.at());
    }
}

/// Returns whether a function calls itself unconditionally.
fn calls_itself(function: Node<'_>) -> bool {
    let (Some(name), Some(body)) = (function.field("name"), function.field("body")) else { return false };
    let plain = body
        .named_children()
        .take_while(|statement| matches!(statement.kind(), "expression_statement" | "return_statement"));
    let mut calls = plain.filter_map(|statement| statement.named_children().next()?.field("function"));
    calls.any(|called| called.kind() == "identifier" && called.text() == name.text())
}
