//! The rules for JavaScript and TypeScript: `rules.txt`, what imports and texts are refused for, and the names that code
//! declares.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel::Standard;

use super::pattern::plain;
use super::rules::{Rules, callee, check_nodes};
use super::{
    CodePolicy, CodeReading, Evaluation, Findings, Grammar, Import, Known, Lists, Meaning, Node, Paths, Tree,
};

/// The readings of JavaScript: as a program, as the method of a class, and as the body of a function or a member of an
/// object; then with types, because runtimes strip them and people call both languages JavaScript.
pub(super) const JAVASCRIPT: &[CodeReading] = &[
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
pub(super) const TYPESCRIPT: &[CodeReading] = &[
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

/// The declarations of a whole tree by scope, with the declared values.
struct JavaScriptScopes<'t> {
    declared: HashMap<(usize, Cow<'t, str>), Vec<Option<Node<'t>>>>,
    /// The scope around every node, by the index of the node.
    around: Vec<Option<Node<'t>>>,
    paths: Known<Paths>,
    evaluation: Evaluation,
}

impl<'t> JavaScriptScopes<'t> {
    fn new(tree: &'t Tree) -> Self {
        let mut scopes = Self {
            declared: HashMap::new(),
            around: Vec::with_capacity(tree.len()),
            paths: Known::default(),
            evaluation: Evaluation::of(tree),
        };
        for node in tree.nodes() {
            let parent = node.parent();
            let around = parent.and_then(|parent| {
                if ["functions", "scopes"].iter().any(|list| LISTS.has(list, parent.kind())) {
                    Some(parent)
                } else {
                    scopes.around[parent.index()]
                }
            });
            scopes.around.push(around);
        }
        tree.nodes().for_each(|node| scopes.declare(node));
        scopes
    }

    /// Returns whether the code declares the name that `node` uses, so that it is not the global one.
    fn is_declared(&self, name: &str, node: Node<'_>) -> bool {
        self.declarations(name, node).is_some()
    }

    /// Returns the value that a name is declared with, if it is declared once.
    fn declared_value(&self, name: &str, node: Node<'_>) -> Option<Node<'t>> {
        match self.declarations(name, node)? {
            [value] => *value,
            _ => None,
        }
    }

    /// Returns the path of a global name or of a member of one; members of the global object are global names.
    fn path(&self, node: Node<'t>, depth: usize) -> Option<Cow<'t, str>> {
        let depth = depth.checked_sub(1)?;
        match node.kind() {
            "identifier" | "shorthand_property_identifier" => {
                Some(plain(node.text())).filter(|name| !self.is_declared(name, node))
            }
            "member_expression" | "subscript_expression" => {
                let (of, key) = (self.path(node.field("object")?, depth)?, self.key(node)?);
                Some(if LISTS.has("global-objects", &of) { key } else { format!("{of}.{key}").into() })
            }
            "parenthesized_expression" => self.path(node.named_children().next()?, depth),
            _ => None,
        }
    }

    fn declarations<'s>(&'s self, name: &'s str, node: Node<'_>) -> Option<&'s [Option<Node<'t>>]> {
        let mut scopes = self.scopes_around(node).take_while(|_| self.evaluation.spend());
        scopes.find_map(|scope| self.declared.get(&(scope.index(), Cow::Borrowed(name)))).map(Vec::as_slice)
    }

    /// Returns the scopes that a node is in, from the inside out.
    fn scopes_around(&self, node: Node<'_>) -> impl Iterator<Item = Node<'t>> {
        std::iter::successors(self.around[node.index()], |scope| self.around[scope.index()])
    }

    fn declare(&mut self, node: Node<'t>) {
        let mut value = None;
        let (scope, pattern) = match node.kind() {
            "variable_declarator" => {
                let name = node.field("name");
                value = node.field("value").filter(|_| name.is_some_and(|name| name.kind() == "identifier"));
                // At the top level, `var` does not hide a global name; elsewhere it belongs to the function.
                let is_var = node.parent().is_some_and(|parent| parent.kind() == "variable_declaration");
                let is_its = |scope: &Node<'_>| !is_var || LISTS.has("functions", scope.kind());
                (self.scopes_around(node).find(is_its), name)
            }
            "formal_parameters" => (node.parent(), Some(node)),
            "catch_clause" | "arrow_function" => (Some(node), node.field("parameter")),
            "function_declaration" | "generator_function_declaration" | "class_declaration" => {
                (self.scopes_around(node).next(), node.field("name"))
            }
            "for_in_statement" => (Some(node), node.field("left").filter(|_| node.field("kind").is_some())),
            "import_clause" => {
                let names = node.descendants().filter(|name| name.kind() == "identifier");
                let scope = self.scopes_around(node).last();
                for name in names {
                    let is_outer = name.field_name() == Some("name")
                        && name.parent().is_some_and(|p| p.field("alias").is_some());
                    if let Some(scope) = scope.filter(|_| !is_outer) {
                        self.bind(scope, name, None);
                    }
                }
                return;
            }
            _ => return,
        };
        if let (Some(scope), Some(pattern)) = (scope, pattern) {
            self.bind(scope, pattern, value);
        }
    }

    /// Declares every name in a pattern; defaults within it are values, not names.
    fn bind(&mut self, scope: Node<'t>, pattern: Node<'t>, value: Option<Node<'t>>) {
        let mut open = vec![pattern];
        while let Some(node) = open.pop() {
            match node.kind() {
                "identifier" | "shorthand_property_identifier_pattern" | "type_identifier" => {
                    self.declared.entry((scope.index(), plain(node.text()))).or_default().push(value);
                }
                "assignment_pattern" | "object_assignment_pattern" => open.extend(node.field("left")),
                "pair_pattern" => open.extend(node.field("value")),
                "required_parameter" | "optional_parameter" => open.extend(node.field("pattern")),
                "formal_parameters" | "object_pattern" | "array_pattern" | "rest_pattern" => {
                    open.extend(node.named_children());
                }
                _ => {}
            }
        }
    }
}

impl<'t> Meaning<'t> for JavaScriptScopes<'t> {
    // Assignments are not followed.
    const NAMES_KEEP_NUMBERS: bool = false;

    fn evaluation(&self) -> &Evaluation {
        &self.evaluation
    }

    fn value(&self, name: Node<'t>) -> Option<Node<'t>> {
        self.declared_value(&plain(name.text()), name)
    }

    fn paths(&self, node: Node<'t>) -> Paths {
        self.paths.get(node, || self.path(node, MAX_MEMBERS).into_iter().map(Rc::from).collect())
    }

    fn key(&self, node: Node<'t>) -> Option<Cow<'t, str>> {
        let key = match node.kind() {
            "member_expression" => node.field("property"),
            "subscript_expression" => node.field("index"),
            "shorthand_property_identifier_pattern" => Some(node),
            "computed_property_name" => node.named_children().next(),
            "method_definition" => node.field("name"),
            "pair" | "pair_pattern" => node.field("key"),
            _ => None,
        }?;
        match key.kind() {
            "property_identifier"
            | "private_property_identifier"
            | "shorthand_property_identifier_pattern" => Some(plain(key.text())),
            _ => Some(self.text(key)?.to_string().into()),
        }
    }

    fn is_parameter(&self, node: Node<'t>) -> bool {
        let name = plain(node.text());
        let is_caught = || {
            node.ancestors().take_while(|_| self.evaluation.spend()).any(|around| {
                around.kind() == "catch_clause"
                    && around.field("parameter").is_some_and(|caught| caught.text() == node.text())
            })
        };
        self.is_declared(&name, node) && self.declared_value(&name, node).is_none() && !is_caught()
    }
}

/// The longest chain of members that is followed to a global name.
const MAX_MEMBERS: usize = 20;

/// The lists of `names.txt` and `modules.txt`, which explain each.
pub(super) static LISTS: LazyLock<Lists> =
    LazyLock::new(|| Lists::read(concat!(include_str!("names.txt"), include_str!("modules.txt"))));
static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(include_str!("rules.txt"), &LISTS));
