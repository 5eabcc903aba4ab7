//! The rules for Python: `rules.txt`, and what imports, references and texts are refused for.

mod constant;
mod import;
mod reference;
mod resolve;
mod scope;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::Standard;
use regex::Regex;

use self::resolve::Resolver;
use super::effort::endless_recursion;
use super::finding::Findings;
use super::identifier::plain;
use super::names::Lists;
use super::policy::CodePolicy;
use super::rules::{Rules, Seen};
use super::scan::Reading;
use super::syntax::{Grammar, Node, Tree};
use super::text::check_text;

pub(super) use self::import::is_own_module;

/// The readings of Python: as a program, as the indented part of one, and as the method of a class.
pub(super) const READINGS: &[Reading] =
    &[(Grammar::Python, "", ""), (Grammar::Python, "if 1:\n", "\n"), (Grammar::Python, "class F:\n", "\n")];

/// Records the violations of `policy` in the code.
pub(super) fn check(tree: &Tree, policy: &CodePolicy, findings: &mut Findings) {
    let mut check = PythonCheck { code: Resolver::new(tree), policy, findings, taken_apart: OnceCell::new() };
    let mut seen = Seen::default();
    for node in tree.nodes() {
        RULES.check(node, &check.code, &mut seen, check.findings);
        check.node(node);
    }
    if check.code.effort.is_exhausted() {
        check.findings.whole("Code too intricate to be checked: use fewer indirections");
    }
}

/// One check of one piece of code.
struct PythonCheck<'c, 't> {
    code: Resolver<'t>,
    policy: &'c CodePolicy,
    findings: &'c mut Findings,
    /// The modules of which the code takes a part by a dot; collected when a rule first needs them.
    taken_apart: OnceCell<HashSet<Rc<str>>>,
}

impl<'t> PythonCheck<'_, 't> {
    fn node(&mut self, node: Node<'t>) {
        match node.kind() {
            "import_statement" | "import_from_statement" => self.import(node),
            "identifier" | "attribute" => self.reference(node),
            "subscript" | "call" => {
                self.reference(node);
                check_text(node, &self.code, &LISTS, HIDDEN, self.findings);
            }
            "string" => self.string(node),
            "concatenated_string" | "binary_operator" => {
                check_text(node, &self.code, &LISTS, HIDDEN, self.findings);
            }
            "function_definition" => endless_recursion(node, self.findings),
            _ => {}
        }
    }

    fn string(&mut self, node: Node<'t>) {
        let is_alone = node.parent().is_some_and(|parent| {
            parent.kind() == "expression_statement" && parent.named_children().count() == 1
        });
        let has_fields = node.children().any(|part| part.kind() == "interpolation");
        // A string that stands alone as a statement does nothing.
        if is_alone && !has_fields {
            return;
        }
        check_text(node, &self.code, &LISTS, HIDDEN, self.findings);
        // The fields of an f-string are code of their own in the tree.
        if node.children().next().is_some_and(|start| start.text().contains(['f', 'F', 't', 'T'])) {
            return;
        }
        // In a format string, `'{0.__class__.__mro__}'.format(x)` reads attributes; strings need only the name of a class.
        for field in FIELD.find_iter(&plain(node.text())) {
            let mut names =
                field.as_str().split(['.', '[', ']']).filter(|name| name.starts_with("__")).peekable();
            let is_plain = std::iter::from_fn(|| names.next().map(|name| (name, names.peek().is_none())))
                .all(
                    |(name, is_last)| {
                        if is_last { LISTS.has("describing", name) } else { name == "__class__" }
                    },
                );
            if !is_plain {
                self.findings.pattern(Standard, field.as_str(), node.at());
            }
        }
    }
}

/// A field of a format string that reads an attribute or item with a dunder name.
static FIELD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{[^{}!:]*[.\[]_{2,}[^{}!:]*").expect("the expression is constant"));
/// The lists of words that honest code has no reason to put together from pieces.
const HIDDEN: &[&str] = &["walks", "inner", "type-walks", "lookups", "class", "hidden-words"];
/// The lists of `names.txt` and `modules.txt`, which explain each.
pub(super) static LISTS: LazyLock<Lists> =
    LazyLock::new(|| Lists::read(concat!(include_str!("names.txt"), include_str!("modules.txt"))));
static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(include_str!("rules.txt"), &LISTS));
