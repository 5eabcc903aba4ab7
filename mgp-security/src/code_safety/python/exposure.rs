//! Calls that switch a protection off: of connections, of templates, of readers of documents.

use mgp_types::mgp::SafetyLevel::Strict;

use super::Check;
use super::call::{keyword, positional};
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    pub(super) fn exposure(&mut self, node: Node<'t>) {
        let Some(function) = node.field("function") else { return };
        let paths = self.code.paths(function);
        for path in paths.iter() {
            let root = path.split('.').next().unwrap_or(path);
            let switched = SWITCHES.iter().find(|(of, name, value)| {
                (*of == root || **of == **path)
                    && keyword(node, name).is_some_and(|found| found.kind() == *value)
            });
            if let Some((_, name, _)) = switched {
                self.findings.pattern(Strict, &format!("{path}({name}="), node.at());
            }
            if root == "urllib" || root == "urllib2" {
                let url = positional(node).next().and_then(|url| self.code.text(url));
                if url.is_some_and(|url| url.trim_start().to_lowercase().starts_with("file:")) {
                    self.findings.pattern(Strict, path, node.at());
                }
            }
        }
    }
}

/// A module or function, a named argument, and the kind of the value that takes the protection away.
const SWITCHES: &[(&str, &str, &str)] = &[
    ("requests", "verify", "false"),
    ("httpx", "verify", "false"),
    ("jinja2", "autoescape", "false"),
    ("lxml", "resolve_entities", "true"),
    ("flask.Flask().run", "debug", "true"),
];
