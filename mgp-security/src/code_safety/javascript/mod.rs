//! The rules for JavaScript and TypeScript: `rules.txt`, and what imports and texts are refused for.

mod scope;

use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::Standard;

use self::scope::JavaScriptScopes;
use super::meaning::Meaning as _;
use super::rules::{Rules, callee, check_nodes};
use super::{CodePolicy, Findings, Grammar, Import, Lists, Node, Reading, Tree};

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
    let code = JavaScriptScopes::new(tree);
    let check = JavaScriptCheck { code: &code, policy };
    check_nodes(tree, &code, &RULES, findings, |node, findings| check.node(node, findings));
}

/// One check of one piece of code.
struct JavaScriptCheck<'c, 't> {
    code: &'c JavaScriptScopes<'t>,
    policy: &'c CodePolicy,
}

impl<'t> JavaScriptCheck<'_, 't> {
    fn node(&self, node: Node<'t>, findings: &mut Findings) {
        match node.kind() {
            "call_expression" | "new_expression" => self.dynamic_import(node, findings),
            // A type-only import is removed before the code runs.
            "import_statement" | "export_statement"
                if node.children().nth(1).is_none_or(|word| word.kind() != "type") =>
            {
                // TypeScript also imports with `import x = require('y')`.
                let clauses = node.named_children().filter(|clause| clause.kind() == "import_require_clause");
                for source in std::iter::once(node).chain(clauses).filter_map(|it| it.field("source")) {
                    if let Some(module) = self.code.text(source) {
                        self.module(&module, node.at(), findings);
                    }
                }
            }
            _ => {}
        }
    }

    /// Checks `require(x)` and `import(x)`.
    fn dynamic_import(&self, call: Node<'t>, findings: &mut Findings) {
        let Some(name) = callee(call) else { return };
        let is_own = || name == "require" && self.code.is_declared("require", call);
        if !matches!(&*name, "import" | "require") || is_own() {
            return;
        }
        let module = call.field("arguments").and_then(|arguments| arguments.named_children().next());
        match module.and_then(|module| self.code.text(module)) {
            Some(module) => self.module(&module, call.at(), findings),
            None => findings.pattern(Standard, &format!("{name}("), call.at()),
        }
    }

    fn module(&self, module: &str, at: usize, findings: &mut Findings) {
        findings.imported.insert(Import::JavaScript(module.into()));
        let is_own = module.starts_with('#')
            || LISTS.names("own").iter().any(|start| module.starts_with(start))
            || matches!(module, "." | "..");
        let is_native = module.rsplit('.').next().is_some_and(|ending| ending.eq_ignore_ascii_case("node"));
        let is_code =
            is_native && module.contains('/') || module.contains(':') && !module.starts_with("node:");
        if is_code || (!is_own && self.policy.refuses_import(module)) {
            findings.import(module, at);
        }
    }
}

/// The lists of `names.txt` and `modules.txt`, which explain each.
pub(super) static LISTS: LazyLock<Lists> =
    LazyLock::new(|| Lists::read(concat!(include_str!("names.txt"), include_str!("modules.txt"))));
static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(include_str!("rules.txt"), &LISTS));
