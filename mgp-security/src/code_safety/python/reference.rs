//! Rules for names and dotted names, which are judged by what they refer to, not by their spelling.

use mgp_types::mgp::SafetyLevel::{Standard, Strict};

use super::{LISTS, PythonCheck};
use crate::code_safety::rules::{Meaning as _, is_naming, shown};
use crate::code_safety::syntax::Node;

impl<'t> PythonCheck<'_, 't> {
    /// Checks what an expression refers to, unless a longer expression takes a member of it.
    pub(super) fn reference(&mut self, node: Node<'t>) {
        let is_call = node.kind() == "call";
        if !is_call && (node.field_name() == Some("object") || is_naming(node, &LISTS)) {
            return;
        }
        // The result of an unknown function is an object, and no part of a module.
        for path in self.code.paths(node).iter().filter(|path| !is_call || !path.ends_with("()")) {
            self.path(path, node.at());
        }
    }

    /// Records the violations of a path.
    pub(super) fn path(&mut self, path: &str, at: usize) {
        let entry = |list| LISTS.names(list).iter().find(|entry| covers(entry, path));
        if let Some(entry) = entry("dangerous") {
            return self.findings.pattern(Standard, &shown(entry), at);
        }
        if let Some(entry) = entry("strict") {
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
            let is_hidden = |name| LISTS.has("hidden-modules", name);
            if is_hidden(part) {
                self.findings.pattern(Standard, path, at);
            } else if part != bare && (is_hidden(bare) || self.policy.blocks_import(bare)) {
                self.findings.pattern(Strict, path, at);
            }
        }
    }
}

fn covers(entry: &str, path: &str) -> bool {
    path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '(', '[']))
}
