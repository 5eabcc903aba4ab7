//! Imports in every form.

use mgp_types::mgp::SafetyLevel::Standard;

use super::Check;
use crate::code_safety::scan::Import;
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    pub(super) fn import(&mut self, node: Node<'t>) {
        // What is imported as a type only is gone before the code runs.
        if node.children().nth(1).is_some_and(|word| word.kind() == "type") {
            return;
        }
        if let Some(module) = node.field("source").and_then(|source| self.scopes.text(source)) {
            self.module(&module, node.at());
        }
        // `import x = require('y')` of TypeScript.
        for clause in node.named_children().filter(|clause| clause.kind() == "import_require_clause") {
            if let Some(module) = clause.field("source").and_then(|source| self.scopes.text(source)) {
                self.module(&module, node.at());
            }
        }
    }

    /// `require(x)` and `import(x)`.
    pub(super) fn dynamic_import(&mut self, name: &str, call: Node<'t>) {
        let first = call.field("arguments").and_then(|arguments| arguments.named_children().next());
        match first.and_then(|module| self.scopes.text(module)) {
            Some(module) => self.module(&module, call.at()),
            None => self.findings.pattern(Standard, &format!("{name}("), call.at()),
        }
    }

    fn module(&mut self, module: &str, at: usize) {
        self.findings.note_import(Import::JavaScript(module.into()));
        let is_own = OWN.iter().any(|start| module.starts_with(start)) || matches!(module, "." | "..");
        let is_native = module.rsplit('.').next().is_some_and(|ending| ending.eq_ignore_ascii_case("node"));
        let is_code =
            is_native && module.contains('/') || module.contains(':') && !module.starts_with("node:");
        if is_code || (!is_own && self.policy.refuses_import(module)) {
            self.findings.import(module, at);
        }
    }
}

/// How paths to the code's own files begin, also by the short names that projects give their folders.
const OWN: [&str; 7] = ["./", "../", "@/", "~/", "#", "$lib/", "src/"];
