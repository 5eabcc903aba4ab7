//! Rules for imports in every form of the statement.

use mgp_types::mgp::SafetyLevel::Standard;

use super::scope::dotted;
use super::{LISTS, PythonCheck};
use crate::code_safety::rules::Meaning as _;
use crate::code_safety::scan::Import;
use crate::code_safety::syntax::Node;

impl<'t> PythonCheck<'_, 't> {
    pub(super) fn import(&mut self, node: Node<'t>) {
        let names: Vec<(String, usize)> = node
            .children()
            .filter(|child| child.field_name() == Some("name"))
            .map(|name| (dotted(name.field("name").unwrap_or(name).text()), name.at()))
            .collect();
        let Some(module) = node.field("module_name") else {
            for (name, at) in names {
                self.note(0, &name);
                if self.policy.refuses_import(&name) || self.is_unexplained(&name, node) {
                    self.findings.import(&name, at);
                }
            }
            return;
        };
        let written = dotted(module.text());
        let from = written.trim_start_matches('.');
        // A module of the own package is not one of the modules that are allowed or blocked by name, unless the package
        // holds a copy of a blocked one or a reference to it.
        let dots = written.len() - from.len();
        let is_relative = dots > 0;
        self.note(dots, from);
        for (name, _) in &names {
            self.note(dots, &if from.is_empty() { name.clone() } else { format!("{from}.{name}") });
        }
        if self.policy.blocks_import(from) || (!is_relative && self.refuses_all(from, &names)) {
            self.findings.import(from, module.at());
            return;
        }
        for (name, at) in &names {
            let path = if from.is_empty() { name.clone() } else { format!("{from}.{name}") };
            if self.policy.blocks_import(&path) || (is_relative && self.policy.blocks_import(name)) {
                self.findings.import(&path, *at);
            } else if !is_relative {
                self.path(&path, *at);
            }
        }
        let has_dangerous =
            || LISTS.names("dangerous").iter().any(|path| path.split('.').next() == Some(from));
        if node.children().any(|child| child.kind() == "wildcard_import") && has_dangerous() {
            self.findings.pattern(Standard, &format!("from {from} import *"), node.at());
        }
    }

    fn note(&mut self, dots: usize, path: &str) {
        self.findings.note_import(Import::Python { dots, path: path.into() });
    }

    /// Returns whether a module with some blocked parts is imported, and the code takes no part of it by a dot.
    fn is_unexplained(&self, module: &str, import: Node<'t>) -> bool {
        if !LISTS.has("blocked-in-parts", module) {
            return false;
        }
        let taken_apart = self.taken_apart.get_or_init(|| {
            let root = import.ancestors().last().unwrap_or(import);
            let objects = root
                .descendants()
                .filter(|node| node.kind() == "identifier" && node.field_name() == Some("object"));
            objects.flat_map(|object| self.code.paths(object).to_vec()).collect()
        });
        let root = module.split('.').next().unwrap_or(module);
        !taken_apart.contains(module) && !taken_apart.contains(root)
    }

    /// Returns whether an import of `names` from a module is refused: `from urllib import parse` is `urllib.parse`,
    /// which may be allowed where `urllib` is not.
    fn refuses_all(&self, from: &str, names: &[(String, usize)]) -> bool {
        let refused = |name: &String| self.policy.refuses_import(&format!("{from}.{name}"));
        self.policy.refuses_import(from) && (names.is_empty() || names.iter().any(|(name, _)| refused(name)))
    }
}

/// Returns whether the module has a name that people give the parts of their own program, rather than an installed
/// package: such a module comes with the code, like a relative import, and its content is up to the operator.
pub(in crate::code_safety) fn is_own_module(module: &str) -> bool {
    let root = module.split('.').next().unwrap_or(module);
    root.split('_').any(|word| word.contains("mcp") || word == "server") || LISTS.has("own", root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_own_program_are_known_by_their_names() {
        for module in [
            "utils", "src.tools.search", "config", "paper_mcp_server.client", "weathermcp",
            "document_server.tools",
        ] {
            assert!(is_own_module(module), "{module}");
        }
        for module in ["socketlib", "evil", "subprocess", "os", ""] {
            assert!(!is_own_module(module), "{module}");
        }
    }
}
