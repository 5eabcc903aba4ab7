//! The rules for JavaScript and TypeScript: each name, member, call and string of the tree has its own rules.

mod call;
mod constant;
mod effort;
mod member;
mod name;
mod names;
mod scope;
#[cfg(test)]
mod tests;
mod text;
mod write;

use mgp_types::mgp::SafetyLevel;

use self::scope::Scopes;
use super::effort::endless_recursion;
use super::finding::Findings;
use super::policy::CodePolicy;
use super::scan::Reading;
use super::syntax::{Grammar, Node, Tree};

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
                if self.findings.level() >= SafetyLevel::Readonly {
                    self.writing_call(node);
                }
            }
            "import_statement" | "export_statement" => self.import(node),
            "string" | "template_string" | "binary_expression" => self.text(node),
            "assignment_expression" | "throw_statement" => self.symbol(node),
            "with_statement" | "using_declaration" => {
                let keyword = node.text().split_whitespace().next().unwrap_or_default();
                self.findings.pattern(SafetyLevel::Strict, keyword, node.at());
            }
            // This is a comment in scripts only: a module runs the code behind it.
            "html_comment" => self.findings.pattern(SafetyLevel::Standard, "<!--", node.at()),
            "function_declaration" => endless_recursion(node, self.findings),
            "while_statement" | "do_statement" | "for_statement" => self.endless_loop(node),
            _ => {}
        }
    }
}
