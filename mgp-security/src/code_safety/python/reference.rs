//! Rules for names and dotted names, which are judged by what they refer to, not by their spelling.

use mgp_types::mgp::SafetyLevel::{Standard, Strict};

use super::Check;
use super::call::positional;
use super::names::{ACCESSORS, DANGEROUS, HIDDEN_MODULES, POWERFUL, STEERING, STRICT};
use crate::code_safety::identifier::plain;
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    pub(super) fn identifier(&mut self, node: Node<'t>) {
        self.pattern_keyword(node);
        if !is_use(node) {
            return;
        }
        let paths = self.code.paths(node);
        for path in paths.iter() {
            if is_object(node) {
                self.environment(path, node);
                continue;
            }
            self.path(path, node.at());
            self.environment(path, node);
            let is_called = node.field_name() == Some("function");
            if ACCESSORS.contains(path) && !is_called && !self.is_followed(node) {
                self.findings.pattern(Strict, &shown(path), node.at());
            }
            if POWERFUL.contains(path) && !self.is_followed(node) {
                self.findings.pattern(Strict, path, node.at());
            }
        }
    }

    pub(super) fn attribute(&mut self, node: Node<'t>) {
        self.member(node);
        let paths = self.code.paths(node);
        for path in paths.iter() {
            if !is_object(node) {
                self.path(path, node.at());
            }
            self.environment(path, node);
        }
    }

    /// Checks a subscript: `sys.modules['os']`, `vars(os)['system']`, and namespace keys that are not known before the
    /// code runs.
    pub(super) fn subscript(&mut self, node: Node<'t>) {
        if is_object(node) {
            return;
        }
        for path in self.code.paths(node).iter() {
            self.path(path, node.at());
        }
    }

    /// Records the violations of a path.
    pub(super) fn path(&mut self, path: &str, at: usize) {
        if let Some(entry) = DANGEROUS.iter().find(|entry| covers(entry, path)) {
            return self.findings.pattern(Standard, &shown(entry), at);
        }
        if let Some(entry) = STRICT.iter().find(|entry| covers(entry, path)) {
            self.findings.pattern(Strict, &shown(entry), at);
        }
        let declared = self.policy.patterns().iter().find(|pattern| {
            let wanted = pattern.dotted();
            covers(wanted, path) || path.strip_prefix("builtins.").is_some_and(|name| name == wanted)
        });
        if let Some(pattern) = declared {
            self.findings.pattern(Standard, pattern.text(), at);
        }
        if path.starts_with("builtins.") {
            return;
        }
        if self.policy.blocks_import(path) {
            let root = path.split('.').next().unwrap_or(path);
            return self.findings.import(if self.policy.blocks_import(root) { root } else { path }, at);
        }
        // Parts behind a class or a result are attributes of objects, not modules.
        let is_module = |part: &&str| !part.ends_with([')', ']']) && !part.starts_with(char::is_uppercase);
        for part in path.split('.').take_while(is_module).skip(1) {
            let bare = part.trim_start_matches('_');
            if HIDDEN_MODULES.contains(part) {
                self.findings.pattern(Standard, path, at);
            } else if part != bare && (HIDDEN_MODULES.contains(bare) || self.policy.blocks_import(bare)) {
                self.findings.pattern(Strict, path, at);
            }
        }
    }

    /// Checks the use of the environment, which holds secrets and steers other programs: single variables may be read.
    fn environment(&mut self, path: &str, node: Node<'t>) {
        let Some(parent) = node.parent() else { return };
        if path == "sys.modules" && !self.is_known_module(parent) {
            self.findings.pattern(Strict, "sys.modules", node.at());
        }
        if path != "os.environ" {
            return;
        }
        let is_fine = match parent.kind() {
            "attribute" => {
                let call = parent.parent().filter(|call| call.kind() == "call");
                let key = call.and_then(|call| positional(call).next());
                match parent.field("attribute").map(Node::text) {
                    Some("get") => true,
                    Some("setdefault" | "pop") => !self.may_steer(key),
                    _ => false,
                }
            }
            "subscript" => self.is_harmless_variable(parent),
            "comparison_operator" | "import_from_statement" | "dotted_name" => true,
            "assignment" => parent.field("left").is_some_and(|left| left.kind() == "identifier"),
            _ => false,
        };
        if !is_fine {
            self.findings.pattern(Strict, "os.environ", node.at());
        }
    }

    /// Returns whether `sys.modules` is used only to ask for one module, by a name that the rules know or the code's
    /// own name, or for whether it is loaded.
    fn is_known_module(&self, parent: Node<'t>) -> bool {
        let is_known = |key: Node<'t>| {
            let of_object = key.field("attribute").is_some_and(|name| name.text() == "__module__");
            of_object || key.text() == "__name__" || self.code.text(key).is_some()
        };
        match parent.kind() {
            "comparison_operator" | "dotted_name" | "import_from_statement" => true,
            "subscript" => {
                let is_deleted = parent.parent().is_some_and(|around| around.kind() == "delete_statement");
                parent.field("subscript").is_some_and(is_known)
                    && parent.field_name() != Some("left")
                    && !is_deleted
            }
            "attribute" => {
                let is_get = parent.field("attribute").is_some_and(|name| name.text() == "get");
                let call = parent.parent().filter(|call| call.kind() == "call");
                is_get && call.and_then(|call| positional(call).next()).is_some_and(is_known)
            }
            _ => false,
        }
    }

    /// Returns whether `os.environ[x]` reads a variable, or sets one that steers no program.
    fn is_harmless_variable(&self, item: Node<'t>) -> bool {
        let is_set = item.field_name() == Some("left")
            || item.parent().is_some_and(|p| p.kind() == "delete_statement");
        if !is_set {
            return true;
        }
        !self.may_steer(item.field("subscript"))
    }

    /// Returns whether a variable of this name may make programs load or run something; an unknown name may.
    fn may_steer(&self, name: Option<Node<'t>>) -> bool {
        let name = name.and_then(|name| self.code.text(name)).map(|name| name.to_uppercase());
        name.is_none_or(|name| STEERING.iter().any(|start| name.starts_with(start)))
    }

    /// Returns whether a module is used in a way that the rules can follow.
    fn is_followed(&self, node: Node<'t>) -> bool {
        let Some(parent) = node.parent() else { return false };
        match parent.kind() {
            "assignment" => parent.field("left").is_some_and(|left| left.kind() == "identifier"),
            "named_expression"
            | "default_parameter"
            | "comparison_operator"
            | "delete_statement"
            | "not_operator" => true,
            "argument_list" => {
                let is_first = parent.named_children().next() == Some(node);
                let function = parent.parent().and_then(|call| call.field("function"));
                is_first
                    && function.is_some_and(|function| {
                        ["builtins.getattr", "builtins.hasattr", "builtins.vars"]
                            .iter()
                            .any(|path| self.code.is(function, path))
                    })
            }
            _ => false,
        }
    }

    /// Checks a keyword in a pattern: `case object(__class__=c)` reads an attribute without a dot.
    fn pattern_keyword(&mut self, node: Node<'t>) {
        let name = plain(node.text());
        if node.parent().is_some_and(|parent| parent.kind() == "keyword_pattern") && name.starts_with("__") {
            self.findings.pattern(Standard, &name, node.at());
        }
    }
}

/// Returns whether an attribute or item of the node is taken, so that the rules look at the longer expression.
fn is_object(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.kind() == "attribute" && node.field_name() == Some("object"))
}

/// Returns whether an identifier stands for a value, rather than giving something a name.
fn is_use(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return true };
    match (parent.kind(), node.field_name()) {
        ("attribute", Some("attribute"))
        | (
            "keyword_argument"
            | "default_parameter"
            | "typed_default_parameter"
            | "function_definition"
            | "class_definition"
            | "named_expression",
            Some("name"),
        )
        | ("assignment" | "for_statement" | "for_in_clause", Some("left")) => false,
        (kind, _) => !matches!(
            kind,
            "dotted_name"
                | "aliased_import"
                | "parameters"
                | "lambda_parameters"
                | "typed_parameter"
                | "global_statement"
                | "nonlocal_statement"
                | "pattern_list"
                | "tuple_pattern"
                | "list_pattern"
                | "as_pattern_target"
                | "keyword_pattern"
        ),
    }
}

fn covers(entry: &str, path: &str) -> bool {
    path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '(', '[']))
}

/// Returns the path as people write it.
fn shown(entry: &str) -> String {
    entry.strip_prefix("builtins.").map_or_else(|| entry.to_owned(), |name| format!("{name}("))
}
