//! Rules for imports in every form, calls whose danger is in their arguments, and symbols in place of strings.

use mgp_types::mgp::SafetyLevel::{Standard, Strict};

use super::Check;
use super::constant::number;
use super::names::{BUILTIN_CLASSES, OWN, SENSITIVE};
use crate::code_safety::identifier::plain;
use crate::code_safety::scan::Import;
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    pub(super) fn call(&mut self, node: Node<'t>) {
        let Some(function) = node.field("function").or_else(|| node.field("constructor")) else { return };
        let name = match function.kind() {
            "member_expression" => {
                function.field("property").map(|name| plain(name.text())).unwrap_or_default()
            }
            _ => plain(function.text()),
        };
        let first = arguments(node).next();
        match &*name {
            "import" => self.dynamic_import("import", node),
            "require" if !self.scopes.is_declared("require", node) => self.dynamic_import("require", node),
            "setTimeout" | "setInterval" | "setImmediate" if first.is_some_and(is_text) => {
                self.findings.pattern(Standard, &format!("{name}("), node.at());
            }
            // The address of a request is sent, too, so it can carry secrets.
            "fetch"
                if first.is_some_and(|address| {
                    let text = address.text();
                    SENSITIVE.iter().any(|name| text.contains(name))
                }) =>
            {
                self.findings.pattern(Strict, "fetch(", node.at());
            }
            "createElement"
                if first.is_some_and(|tag| {
                    tag.text().trim_matches(['\'', '"', '`']).eq_ignore_ascii_case("script")
                }) =>
            {
                self.findings.pattern(Strict, "createElement('script')", node.at());
            }
            "defineProperty" | "defineProperties" | "assign" | "create" | "freeze" => {
                let is_builtin = first.is_some_and(|of| {
                    let root = of.field("object").unwrap_or(of);
                    let name = plain(root.text());
                    BUILTIN_CLASSES.contains(&name) && !self.scopes.is_declared(&name, of)
                });
                if is_builtin && function.text().starts_with("Object.") {
                    self.findings.pattern(Strict, &format!("Object.{name}"), node.at());
                }
            }
            "repeat" | "Array" | "padStart" | "padEnd" | "ArrayBuffer" | "alloc"
                if first.and_then(number).is_some_and(|count| count > MAX_ELEMENTS) =>
            {
                self.findings.pattern(Strict, &format!("{name}("), node.at());
            }
            _ => {}
        }
    }

    pub(super) fn import(&mut self, node: Node<'t>) {
        // A type-only import is removed before the code runs.
        if node.children().nth(1).is_some_and(|word| word.kind() == "type") {
            return;
        }
        if let Some(module) = node.field("source").and_then(|source| self.scopes.text(source)) {
            self.module(&module, node.at());
        }
        // TypeScript also imports with `import x = require('y')`.
        for clause in node.named_children().filter(|clause| clause.kind() == "import_require_clause") {
            if let Some(module) = clause.field("source").and_then(|source| self.scopes.text(source)) {
                self.module(&module, node.at());
            }
        }
    }

    /// Checks `require(x)` and `import(x)`.
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

    /// Checks a symbol that is thrown or set as the name of an error: it makes the runtime itself fail where nothing
    /// catches it.
    pub(super) fn symbol(&mut self, node: Node<'t>) {
        let value = node.field("right").or_else(|| node.named_children().next());
        let is_symbol = value
            .is_some_and(|value| value.kind() == "call_expression" && value.text().starts_with("Symbol"));
        let is_text = node.kind() == "throw_statement"
            || node.field("left").and_then(|left| left.field("property")).is_some_and(|property| {
                matches!(&*plain(property.text()), "name" | "message" | "stack" | "code" | "toString")
            });
        if is_symbol && is_text {
            self.findings.pattern(Strict, "Symbol(", node.at());
        }
    }
}

pub(super) fn arguments(call: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let arguments = call.field("arguments").filter(|arguments| arguments.kind() == "arguments");
    arguments.into_iter().flat_map(Node::named_children)
}

fn is_text(node: Node<'_>) -> bool {
    matches!(node.kind(), "string" | "template_string" | "binary_expression")
}

/// The largest length of a string, array or buffer that a call may make.
const MAX_ELEMENTS: f64 = 1e8;
