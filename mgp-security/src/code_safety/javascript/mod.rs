//! The rules for JavaScript and TypeScript: `rules.txt`, and what imports and texts are refused for.

mod scope;

use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::Standard;

use self::scope::JavaScriptScopes;
use super::constant::Constants as _;
use super::finding::Findings;
use super::identifier::plain;
use super::names::Lists;
use super::policy::CodePolicy;
use super::rules::{Rules, Seen, endless_recursion};
use super::scan::{Import, Reading};
use super::syntax::{Grammar, Node, Tree};
use super::text::check_text;

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
    let mut check = JavaScriptCheck { code: JavaScriptScopes::new(tree), policy, findings };
    let mut seen = Seen::default();
    for node in tree.nodes() {
        RULES.check(node, &check.code, &mut seen, check.findings);
        check.node(node);
    }
    if check.code.evaluation.effort.is_exhausted() {
        check.findings.whole("Code too intricate to be checked: use fewer indirections");
    }
}

/// One check of one piece of code.
struct JavaScriptCheck<'c, 't> {
    code: JavaScriptScopes<'t>,
    policy: &'c CodePolicy,
    findings: &'c mut Findings,
}

impl<'t> JavaScriptCheck<'_, 't> {
    fn node(&mut self, node: Node<'t>) {
        match node.kind() {
            "call_expression" | "new_expression" => {
                self.dynamic_import(node);
                check_text(node, &self.code, &LISTS, HIDDEN, self.findings);
            }
            "string" | "template_string" | "binary_expression" => {
                check_text(node, &self.code, &LISTS, HIDDEN, self.findings);
            }
            // A type-only import is removed before the code runs.
            "import_statement" | "export_statement"
                if node.children().nth(1).is_none_or(|word| word.kind() != "type") =>
            {
                // TypeScript also imports with `import x = require('y')`.
                let clauses = node.named_children().filter(|clause| clause.kind() == "import_require_clause");
                for source in std::iter::once(node).chain(clauses).filter_map(|it| it.field("source")) {
                    if let Some(module) = self.code.text(source) {
                        self.module(&module, node.at());
                    }
                }
            }
            "function_declaration" => endless_recursion(node, self.findings),
            _ => {}
        }
    }

    /// Checks `require(x)` and `import(x)`.
    fn dynamic_import(&mut self, call: Node<'t>) {
        let Some(function) = call.field("function").or_else(|| call.field("constructor")) else { return };
        let name = plain(function.field("property").unwrap_or(function).text());
        let is_own = || name == "require" && self.code.is_declared("require", call);
        if !matches!(&*name, "import" | "require") || is_own() {
            return;
        }
        let module = call.field("arguments").and_then(|arguments| arguments.named_children().next());
        match module.and_then(|module| self.code.text(module)) {
            Some(module) => self.module(&module, call.at()),
            None => self.findings.pattern(Standard, &format!("{name}("), call.at()),
        }
    }

    fn module(&mut self, module: &str, at: usize) {
        self.findings.note_import(Import::JavaScript(module.into()));
        let is_own = module.starts_with('#')
            || LISTS.names("own").iter().any(|start| module.starts_with(start))
            || matches!(module, "." | "..");
        let is_native = module.rsplit('.').next().is_some_and(|ending| ending.eq_ignore_ascii_case("node"));
        let is_code =
            is_native && module.contains('/') || module.contains(':') && !module.starts_with("node:");
        if is_code || (!is_own && self.policy.refuses_import(module)) {
            self.findings.import(module, at);
        }
    }
}

/// The lists of words that honest code has no reason to put together from pieces.
const HIDDEN: &[&str] = &["dangerous-members", "dangerous-globals", "hidden-words"];
/// The lists of `names.txt` and `modules.txt`, which explain each.
pub(super) static LISTS: LazyLock<Lists> =
    LazyLock::new(|| Lists::read(concat!(include_str!("names.txt"), include_str!("modules.txt"))));
static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(include_str!("rules.txt"), &LISTS));
