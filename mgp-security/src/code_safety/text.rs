//! Rules for texts in code: the things that they name, and the words that they are put together to hide.

use mgp_types::mgp::SafetyLevel::Strict;

use super::finding::Findings;
use super::identifier::{plain, split_tokens};
use super::names::Lists;
use super::path_text;
use super::rules::Meaning;
use super::syntax::Node;
use crate::network::is_metadata_url;

/// Checks the text that `node` evaluates to: for secrets that it names, and for a dangerous word of the lists `hidden`
/// that is in the text but not in the code.
pub(super) fn check_text<'t>(
    node: Node<'t>,
    code: &impl Meaning<'t>,
    lists: &Lists,
    hidden: &[&str],
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
    let is_danger = |word: &&str| hidden.iter().any(|list| lists.has(list, word));
    let word = split_tokens(&text).find(|word| is_danger(word) && !node.text().contains(*word));
    if let Some(word) = word.filter(|word| !is_part && (word.len() == text.len() || word.starts_with('_'))) {
        findings.pattern(Strict, word, node.at());
    }
}
