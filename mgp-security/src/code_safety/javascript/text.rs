//! Rules for strings: the things that they name, and the words that they are put together to hide.

use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::Strict;
use regex::Regex;

use super::Check;
use super::names::{DANGEROUS_GLOBALS, DANGEROUS_MEMBERS, HIDDEN_WORDS};
use crate::code_safety::identifier::{plain, split_tokens};
use crate::code_safety::syntax::Node;
use crate::code_safety::{address, path_text};

impl<'t> Check<'_, 't> {
    pub(super) fn text(&mut self, node: Node<'t>) {
        let Some(parent) = node.parent() else { return };
        let is_part = parent.kind() == "binary_expression"
            && parent.field("operator").is_some_and(|sign| sign.text() == "+");
        if is_part && node.kind() == "binary_expression" {
            return;
        }
        let Some(text) = self.scopes.text(node) else { return };
        let at = node.at();
        if path_text::is_sensitive(&text) || address::is_metadata_url(&text) || text.starts_with("nodejs.") {
            self.findings.pattern(Strict, &text, at);
        }
        if text.contains("__proto__") {
            self.findings.pattern(Strict, "__proto__", at);
        }
        if SOURCE.is_match(&text) {
            self.findings.pattern(Strict, &text, at);
        }
        if text == "constructor" && matches!(parent.kind(), "arguments" | "array" | "variable_declarator") {
            self.findings.pattern(Strict, "constructor", at);
        }
        if is_part {
            return;
        }
        let text = plain(&text);
        let is_danger = |word: &&str| {
            DANGEROUS_MEMBERS.contains(word)
                || DANGEROUS_GLOBALS.contains(word)
                || HIDDEN_WORDS.contains(word)
        };
        let hidden = split_tokens(&text).find(|word| is_danger(word) && !node.text().contains(*word));
        if let Some(word) = hidden.filter(|word| word.len() == text.len() || word.starts_with('_')) {
            self.findings.pattern(Strict, word, at);
        }
    }
}

/// The strings that are code: to be returned by a function made of it, or to be run by a worker or a page.
static SOURCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:return\s+(?:typeof\s+)?(?:process|this|globalThis|global)\b|javascript:|data:(?:text|application)/javascript)")
        .expect("the expression is constant")
});
