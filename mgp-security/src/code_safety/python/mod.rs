//! The rules for Python: each name, attribute, call, string and import of the tree has its own rules.

mod call;
mod constant;
mod effort;
mod import;
mod member;
mod names;
mod reference;
mod resolve;
mod scope;
#[cfg(test)]
mod tests;
mod text;
mod write;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;

use mgp_types::mgp::SafetyLevel;

use self::resolve::Resolver;
use super::effort::endless_recursion;
use super::finding::Findings;
use super::policy::CodePolicy;
use super::scan::Reading;
use super::syntax::{Grammar, Node, Tree};

pub(super) use self::import::is_own_module;
pub(super) use self::names::{ALLOWED_MODULES, BLOCKED_IN_PARTS, BLOCKED_MODULES, EXEMPT_MODULES};

/// The readings of Python: as a program, as the indented part of one, and as the method of a class.
pub(super) const READINGS: &[Reading] =
    &[(Grammar::Python, "", ""), (Grammar::Python, "if 1:\n", "\n"), (Grammar::Python, "class F:\n", "\n")];

/// Records the violations of `policy` in the code.
pub(super) fn check(tree: &Tree, policy: &CodePolicy, findings: &mut Findings) {
    let mut check = Check { code: Resolver::new(tree), policy, findings, taken_apart: OnceCell::new() };
    for node in tree.nodes() {
        check.node(node);
    }
    if check.code.effort.is_exhausted() {
        check.findings.whole("Code too intricate to be checked: use fewer indirections");
    }
}

/// One check of one piece of code.
struct Check<'c, 't> {
    code: Resolver<'t>,
    policy: &'c CodePolicy,
    findings: &'c mut Findings,
    /// The modules of which the code takes a part by a dot; collected when a rule first needs them.
    taken_apart: OnceCell<HashSet<Rc<str>>>,
}

impl<'t> Check<'_, 't> {
    fn node(&mut self, node: Node<'t>) {
        match node.kind() {
            "import_statement" | "import_from_statement" => self.import(node),
            "identifier" => self.identifier(node),
            "attribute" => self.attribute(node),
            "subscript" => {
                self.subscript(node);
                self.assembled(node);
            }
            "call" => {
                self.call(node);
                self.exposure(node);
                self.assembled(node);
                if self.findings.level() >= SafetyLevel::Readonly {
                    self.writing_call(node);
                }
            }
            "string" => self.string(node),
            "concatenated_string" => self.assembled(node),
            "binary_operator" => {
                self.assembled(node);
                self.growth(node);
            }
            "decorator" => self.decorator(node),
            "while_statement" => self.endless_loop(node),
            "exec_statement" => self.findings.pattern(SafetyLevel::Standard, "exec(", node.at()),
            "function_definition" => endless_recursion(node, self.findings),
            "comment" => self.encoding(node),
            "delete_statement" | "assignment" | "augmented_assignment" => self.assignment(node),
            _ => {}
        }
    }
}
