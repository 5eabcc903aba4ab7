//! The rules for JavaScript and TypeScript: each name, member, call and string of the tree has its own rules.

mod call;
mod constant;
mod member;
mod name;
mod names;
mod scope;
#[cfg(test)]
mod tests;
mod write;

use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::{Readonly, Standard, Strict};
use regex::Regex;

use self::constant::number;
use self::names::{DANGEROUS_GLOBALS, DANGEROUS_MEMBERS, HIDDEN_WORDS};
use self::scope::Scopes;
use super::effort::endless_recursion;
use super::finding::Findings;
use super::identifier::{plain, split_tokens};
use super::policy::CodePolicy;
use super::scan::Reading;
use super::syntax::{Grammar, Node, Tree};
use super::{address, path_text};

pub(super) use self::names::{ALLOWED_MODULES, BLOCKED_MODULES};

/// The readings of JavaScript: as a program, as the method of a class, and as the body of a function or a member of an
/// object; then with types, because runtimes strip them and people call both languages JavaScript.
pub(super) const JAVASCRIPT: &[Reading] = &[
    (Grammar::JavaScript, "", ""),
    (Grammar::JavaScript, "class F {", "\n}"),
    (Grammar::JavaScript, "({", "\n})"),
    (Grammar::JavaScript, "(", "\n)"),
    (Grammar::TypeScript, "", ""),
    (Grammar::Tsx, "", ""),
    (Grammar::TypeScript, "class F {", "\n}"),
];
/// The readings of TypeScript: as a program without and with JSX, as the method of a class, and as a member of an
/// object.
pub(super) const TYPESCRIPT: &[Reading] = &[
    (Grammar::TypeScript, "", ""),
    (Grammar::Tsx, "", ""),
    (Grammar::TypeScript, "class F {", "\n}"),
    (Grammar::TypeScript, "({", "\n})"),
];

/// Records the violations of `policy` in the code.
pub(super) fn check(tree: &Tree, policy: &CodePolicy, findings: &mut Findings) {
    let mut check = Check { scopes: Scopes::new(tree), policy, findings };
    for node in tree.nodes() {
        check.node(node);
    }
    if check.scopes.effort.is_exhausted() {
        check.findings.whole("Code too intricate to be checked: use fewer indirections");
    }
}

/// One check of one piece of code.
struct Check<'c, 't> {
    scopes: Scopes<'t>,
    policy: &'c CodePolicy,
    findings: &'c mut Findings,
}

impl<'t> Check<'_, 't> {
    fn node(&mut self, node: Node<'t>) {
        match node.kind() {
            "identifier" | "shorthand_property_identifier" => self.name(node),
            "member_expression" | "subscript_expression" => self.member(node),
            "pair_pattern"
            | "shorthand_property_identifier_pattern"
            | "pair"
            | "computed_property_name"
            | "method_definition" => {
                self.key(node);
            }
            "call_expression" | "new_expression" => {
                self.call(node);
                self.text(node);
                if self.findings.level() >= Readonly {
                    self.writing_call(node);
                }
            }
            "import_statement" | "export_statement" => self.import(node),
            "string" | "template_string" | "binary_expression" => self.text(node),
            "assignment_expression" | "throw_statement" => self.symbol(node),
            "with_statement" | "using_declaration" => {
                let keyword = node.text().split_whitespace().next().unwrap_or_default();
                self.findings.pattern(Strict, keyword, node.at());
            }
            // This is a comment in scripts only: a module runs the code behind it.
            "html_comment" => self.findings.pattern(Standard, "<!--", node.at()),
            "function_declaration" => endless_recursion(node, self.findings),
            "while_statement" | "do_statement" | "for_statement" => self.endless_loop(node),
            _ => {}
        }
    }

    /// Checks for a loop that never ends and does nothing.
    fn endless_loop(&mut self, node: Node<'t>) {
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

    /// Checks a string for the things that it names, and for the words that it is put together to hide.
    fn text(&mut self, node: Node<'t>) {
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
