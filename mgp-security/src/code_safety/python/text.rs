//! Rules for strings: the things that they name, and the words that they are put together to hide.

use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::{Standard, Strict};
use regex::Regex;

use super::Check;
use super::member::is_walk;
use super::names::{DESCRIBING, ENCODINGS, HIDDEN_WORDS};
use crate::code_safety::identifier::{plain, split_tokens};
use crate::code_safety::syntax::Node;
use crate::code_safety::{address, path_text};

impl<'t> Check<'_, 't> {
    pub(super) fn string(&mut self, node: Node<'t>) {
        if is_docstring(node) {
            return;
        }
        let written = node.text();
        if written.contains("__") && !is_interpolated(node) {
            self.format_fields(&plain(written), node.at());
        }
        self.assembled(node);
        let Some(text) = self.code.text(node) else { return };
        self.names_secret(&text, node.at());
        let is_argument = node.parent().is_some_and(|parent| parent.kind() == "argument_list");
        let mut parts = text.split(['.', '[', ']']);
        if let Some(walk) = parts.find(|part| is_argument && text.contains('.') && is_walk(part)) {
            self.findings.pattern(Standard, walk, node.at());
        }
        let is_key =
            node.parent().is_some_and(|parent| matches!(parent.kind(), "argument_list" | "subscript"));
        if is_key
            && text.starts_with("__")
            && matches!(&*text, "__globals__" | "__builtins__" | "__subclasses__" | "__import__")
        {
            self.findings.pattern(Standard, &text, node.at());
        }
    }

    /// Checks for a string that is put together so that a dangerous word is in the result but not in the code.
    pub(super) fn assembled(&mut self, node: Node<'t>) {
        let is_part = node
            .parent()
            .is_some_and(|parent| matches!(parent.kind(), "binary_operator" | "concatenated_string"));
        if is_part {
            return;
        }
        let is_plain = node.kind() == "string" && !node.text().contains(['\\', '{']);
        let Some(text) = (if is_plain { None } else { self.code.text(node) }) else { return };
        let text = plain(&text);
        let hidden = split_tokens(&text)
            .find(|word| (is_walk(word) || HIDDEN_WORDS.contains(word)) && !node.text().contains(word));
        let is_word = |word: &str| text.len() == word.len() || word.starts_with('_');
        if let Some(word) = hidden.filter(|word| is_word(word)) {
            self.findings.pattern(Strict, word, node.at());
        }
        if node.kind() != "string" {
            self.names_secret(&text, node.at());
        }
    }

    /// Checks a declared encoding: one other than Unicode makes the interpreter read other code than the one that was
    /// checked.
    pub(super) fn encoding(&mut self, node: Node<'t>) {
        let Some(name) = ENCODING.captures(node.text()).and_then(|found| found.get(1)) else { return };
        let name = name.as_str().to_lowercase().replace('_', "-");
        if is_head(node) && !ENCODINGS.contains(&name) {
            self.findings.pattern(Standard, &format!("coding: {name}"), node.at());
        }
    }

    /// Checks the fields of a format string: `'{0.__class__.__mro__}'.format(x)` reads attributes; strings need only
    /// the name of a class.
    fn format_fields(&mut self, text: &str, at: usize) {
        for field in FIELD.find_iter(text) {
            let mut names =
                field.as_str().split(['.', '[', ']']).filter(|name| name.starts_with("__")).peekable();
            let is_plain = std::iter::from_fn(|| names.next().map(|name| (name, names.peek().is_none())))
                .all(|(name, is_last)| if is_last { DESCRIBING.contains(name) } else { name == "__class__" });
            if !is_plain {
                self.findings.pattern(Standard, field.as_str(), at);
            }
        }
    }

    fn names_secret(&mut self, text: &str, at: usize) {
        if path_text::is_sensitive(text) || address::is_metadata_url(text) {
            self.findings.pattern(Strict, text, at);
        }
    }
}

/// Returns whether the string stands alone as a statement, and so does nothing.
fn is_docstring(node: Node<'_>) -> bool {
    let is_alone =
        |parent: Node<'_>| parent.kind() == "expression_statement" && parent.named_children().count() == 1;
    node.parent().is_some_and(is_alone) && !node.children().any(|part| part.kind() == "interpolation")
}

/// Returns whether the string is an f-string or t-string, whose fields are code of their own in the tree.
fn is_interpolated(node: Node<'_>) -> bool {
    node.children().next().is_some_and(|start| start.text().contains(['f', 'F', 't', 'T']))
}

/// Returns whether only comments stand before the node.
fn is_head(node: Node<'_>) -> bool {
    let siblings = node.parent().into_iter().flat_map(Node::children);
    siblings.take_while(|sibling| *sibling != node).all(|sibling| sibling.kind() == "comment")
}

/// A field of a format string that reads an attribute or item with a dunder name.
static FIELD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{[^{}!:]*[.\[]_{2,}[^{}!:]*").expect("the expression is constant"));
static ENCODING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^#.*?coding[:=][ \t]*([-\w.]+)").expect("the expression is constant"));
