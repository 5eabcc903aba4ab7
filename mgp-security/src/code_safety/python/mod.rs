//! The rules for Python: `rules.txt`, and what imports, references and texts are refused for.

mod resolve;
mod scope;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::{Standard, Strict};
use regex::Regex;

use self::resolve::Resolver;
use self::scope::dotted;
use super::meaning::Meaning as _;
use super::rules::{Rules, check_nodes, check_text, is_naming, shown};
use super::{CodePolicy, CodeReading, Findings, Grammar, Import, Lists, Node, Tree, plain};
use crate::data_file::expression;

/// The readings of Python: as a program, as the indented part of one, and as the method of a class.
pub(super) const READINGS: &[CodeReading] =
    &[(Grammar::Python, "", ""), (Grammar::Python, "if 1:\n", "\n"), (Grammar::Python, "class F:\n", "\n")];

/// Records the violations of `policy` in the code.
pub(super) fn check(tree: &Tree, policy: &CodePolicy, findings: &mut Findings) {
    let code = Resolver::new(tree);
    let check = PythonCheck { code: &code, policy, taken_apart: OnceCell::new() };
    check_nodes(tree, &code, &RULES, findings, |node, findings| check.node(node, findings));
}

/// One check of one piece of code.
struct PythonCheck<'c, 't> {
    code: &'c Resolver<'t>,
    policy: &'c CodePolicy,
    /// The modules of which the code takes a part by a dot; collected when a rule first needs them.
    taken_apart: OnceCell<HashSet<Rc<str>>>,
}

impl<'t> PythonCheck<'_, 't> {
    fn node(&self, node: Node<'t>, findings: &mut Findings) {
        match node.kind() {
            "import_statement" | "import_from_statement" => self.import(node, findings),
            "identifier" | "attribute" | "subscript" | "call" => self.reference(node, findings),
            "string" => self.string(node, findings),
            _ => {}
        }
    }

    fn string(&self, node: Node<'t>, findings: &mut Findings) {
        let is_alone = node.parent().is_some_and(|parent| {
            parent.kind() == "expression_statement" && parent.named_children().count() == 1
        });
        let has_fields = node.children().any(|part| part.kind() == "interpolation");
        // A string that stands alone as a statement does nothing.
        if is_alone && !has_fields {
            return;
        }
        check_text(node, self.code, &LISTS, findings);
        // The fields of an f-string are code of their own in the tree.
        if node.children().next().is_some_and(|start| start.text().contains(['f', 'F', 't', 'T'])) {
            return;
        }
        // In a format string, `'{0.__class__.__mro__}'.format(x)` reads attributes; strings need only the name of a class.
        for field in FIELD.find_iter(&plain(node.text())) {
            let names = field.as_str().split(['.', '[', ']']).filter(|name| name.starts_with("__"));
            let names: Vec<&str> = names.collect();
            let is_plain = names.split_last().is_none_or(|(last, before)| {
                LISTS.has("describing", last) && before.iter().all(|name| *name == "__class__")
            });
            if !is_plain {
                findings.pattern(Standard, field.as_str(), node.at());
            }
        }
    }

    /// Checks an import in every form of the statement.
    fn import(&self, node: Node<'t>, findings: &mut Findings) {
        let names: Vec<(String, usize)> = node
            .children()
            .filter(|child| child.field_name() == Some("name"))
            .map(|name| (dotted(name.field("name").unwrap_or(name).text()), name.at()))
            .collect();
        let imported = |dots, path: &str| Import::Python { dots, path: path.into() };
        let Some(module) = node.field("module_name") else {
            for (name, at) in names {
                findings.imported.insert(imported(0, &name));
                if self.policy.refuses_import(&name) || self.is_unexplained(&name, node) {
                    findings.import(&name, at);
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
        let within = |name: &String| if from.is_empty() { name.clone() } else { format!("{from}.{name}") };
        findings.imported.insert(imported(dots, from));
        findings.imported.extend(names.iter().map(|(name, _)| imported(dots, &within(name))));
        if self.policy.blocks_import(from) || (!is_relative && self.refuses_all(from, &names)) {
            findings.import(from, module.at());
            return;
        }
        for (name, at) in &names {
            let path = within(name);
            if self.policy.blocks_import(&path) || (is_relative && self.policy.blocks_import(name)) {
                findings.import(&path, *at);
            } else if !is_relative {
                self.path(&path, *at, findings);
            }
        }
        let has_dangerous =
            || LISTS.names("dangerous").iter().any(|path| path.split('.').next() == Some(from));
        if node.children().any(|child| child.kind() == "wildcard_import") && has_dangerous() {
            findings.pattern(Standard, &format!("from {from} import *"), node.at());
        }
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

    /// Checks what an expression refers to, unless a longer expression takes a member of it.
    fn reference(&self, node: Node<'t>, findings: &mut Findings) {
        let is_call = node.kind() == "call";
        if !is_call && (node.field_name() == Some("object") || is_naming(node, &LISTS)) {
            return;
        }
        // The result of an unknown function is an object, and no part of a module.
        for path in self.code.paths(node).iter().filter(|path| !is_call || !path.ends_with("()")) {
            self.path(path, node.at(), findings);
        }
    }

    /// Records the violations of a path.
    fn path(&self, path: &str, at: usize, findings: &mut Findings) {
        let entry = |list| LISTS.names(list).iter().find(|entry| covers(entry, path));
        if let Some(entry) = entry("dangerous") {
            return findings.pattern(Standard, &shown(entry), at);
        }
        if let Some(entry) = entry("strict") {
            findings.pattern(Strict, &shown(entry), at);
        }
        let declared = self.policy.patterns.iter().find(|pattern| {
            let wanted = pattern.dotted();
            covers(wanted, path) || path.strip_prefix("builtins.").is_some_and(|name| name == wanted)
        });
        if let Some(pattern) = declared {
            findings.pattern(Standard, &pattern.text, at);
        }
        if path.starts_with("builtins.") {
            return;
        }
        if self.policy.blocks_import(path) {
            let root = path.split('.').next().unwrap_or(path);
            return findings.import(if self.policy.blocks_import(root) { root } else { path }, at);
        }
        // Parts behind a class or a result are attributes of objects, not modules.
        let is_module = |part: &&str| !part.ends_with([')', ']']) && !part.starts_with(char::is_uppercase);
        for part in path.split('.').take_while(is_module).skip(1) {
            let bare = part.trim_start_matches('_');
            let is_hidden = |name| LISTS.has("hidden-modules", name);
            if is_hidden(part) {
                findings.pattern(Standard, path, at);
            } else if part != bare && (is_hidden(bare) || self.policy.blocks_import(bare)) {
                findings.pattern(Strict, path, at);
            }
        }
    }
}

/// Returns whether the module has a name that people give the parts of their own program, rather than an installed
/// package: such a module comes with the code, like a relative import, and its content is up to the operator.
pub(super) fn is_own_module(module: &str) -> bool {
    let root = module.split('.').next().unwrap_or(module);
    root.split('_').any(|word| word.contains("mcp") || word == "server") || LISTS.has("own", root)
}

fn covers(entry: &str, path: &str) -> bool {
    path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '(', '[']))
}

/// A field of a format string that reads an attribute or item with a dunder name.
static FIELD: LazyLock<Regex> = LazyLock::new(|| expression(r"\{[^{}!:]*[.\[]_{2,}[^{}!:]*"));
/// The lists of `names.txt` and `modules.txt`, which explain each.
pub(super) static LISTS: LazyLock<Lists> =
    LazyLock::new(|| Lists::read(concat!(include_str!("names.txt"), include_str!("modules.txt"))));
static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(include_str!("rules.txt"), &LISTS));
