//! The names that a piece of Python binds, their scopes, and their values.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::super::pattern::plain;
use super::super::syntax::{Node, Tree};
use super::LISTS;

/// One binding of a name.
#[derive(Clone)]
pub(super) enum Binding<'t> {
    /// A module, or an object imported from one, by its dotted path.
    Import(Box<str>),
    Value(Node<'t>),
    /// A function, a class, a parameter, or part of a value that was unpacked.
    Unknown,
}

/// The bindings of a whole tree by scope.
#[derive(Default)]
pub(super) struct PythonScopes<'t> {
    /// The scope of every node, by the index of the node: the node of the function, class or comprehension, or the
    /// root for the module.
    of: Vec<Node<'t>>,
    bound: HashMap<(usize, Cow<'t, str>), Bound<'t>>,
    /// The names that a scope declares to belong to another one.
    foreign: HashSet<(usize, Cow<'t, str>)>,
    deleted: HashSet<Cow<'t, str>>,
}

/// The bindings of one name in one scope.
#[derive(Default)]
struct Bound<'t> {
    bindings: Vec<Binding<'t>>,
    /// The byte from which on a definition that always runs has bound the name.
    defined_from: Option<usize>,
}

impl<'t> PythonScopes<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        let mut scopes = Self::default();
        for node in tree.nodes() {
            scopes.of.push(scopes.place(node));
        }
        tree.nodes().for_each(|node| scopes.bind_node(node));
        scopes
    }

    /// Returns the scope that a node is in.
    pub(super) fn scope(&self, node: Node<'_>) -> Node<'t> {
        self.of[node.index()]
    }

    /// Returns `scope` and the scopes around it, from the inside out.
    fn around(&self, scope: Node<'t>) -> impl Iterator<Item = Node<'t>> {
        std::iter::successors(Some(scope), |scope| scope.parent().map(|_| self.scope(*scope)))
    }

    /// Returns whether the node is in no function, so that submitting the code is enough to run it.
    pub(super) fn is_outermost(&self, node: Node<'_>) -> bool {
        !self.around(self.scope(node)).any(|it| matches!(it.kind(), "function_definition" | "lambda"))
    }

    /// Returns whether `name` is certainly bound by the code itself at `node`, so that it cannot be the builtin of that
    /// name.
    pub(super) fn is_certain(&self, name: &str, node: Node<'_>) -> bool {
        self.visible(name, self.scope(node)).any(|(scope, bound)| self.ends_search(name, scope, bound, node))
    }

    /// Returns the bindings that `name` may have at `node`.
    pub(super) fn bindings<'s>(&'s self, name: &'s str, node: Node<'_>) -> Vec<&'s Binding<'t>> {
        let mut found = Vec::new();
        for (scope, bound) in self.visible(name, self.scope(node)) {
            found.extend(&bound.bindings);
            if self.ends_search(name, scope, bound, node) {
                break;
            }
        }
        found
    }

    /// Returns whether no scope around `scope`, in which `name` is bound, can bind the name at `node`: always in a function
    /// or a comprehension, and in the module once the name is defined.
    fn ends_search(&self, name: &str, scope: Node<'t>, bound: &Bound<'_>, node: Node<'_>) -> bool {
        let is_module = scope.parent().is_none();
        let is_defined =
            !self.deleted.contains(name) && bound.defined_from.is_some_and(|from| from <= node.at());
        scope.kind() != "class_definition" && (!is_module || is_defined)
    }

    /// Returns the scopes around `start` that bind `name`, from the inside out.
    fn visible<'s>(
        &'s self,
        name: &'s str,
        start: Node<'t>,
    ) -> impl Iterator<Item = (Node<'t>, &'s Bound<'t>)> {
        self.around(start).filter_map(move |scope| {
            let key = (scope.index(), Cow::Borrowed(name));
            let bound = self.bound.get(&key).filter(|_| !self.foreign.contains(&key))?;
            // The names of a class are visible in its own body only.
            (scope.kind() != "class_definition" || scope == start).then_some((scope, bound))
        })
    }

    /// Returns the scope in which a node is evaluated, given the scopes of the nodes before it.
    fn place(&self, node: Node<'t>) -> Node<'t> {
        let Some(parent) = node.parent() else { return node };
        let around = self.scope(parent);
        match (parent.kind(), node.field_name()) {
            ("function_definition" | "lambda", Some("body" | "parameters"))
            | ("class_definition", Some("body")) => parent,
            // Defaults and annotations are evaluated where the function is defined.
            ("default_parameter" | "typed_default_parameter", Some("value" | "type"))
            | ("typed_parameter", Some("type")) => self.scope(around),
            // The first iterable of a comprehension is evaluated outside of the comprehension.
            ("for_in_clause", Some("right")) if is_first_clause(parent) => self.scope(around),
            (kind, _) if LISTS.has("comprehensions", kind) => parent,
            _ => around,
        }
    }

    fn bind_node(&mut self, node: Node<'t>) {
        let scope = self.scope(node);
        match node.kind() {
            "import_statement" | "import_from_statement" => self.bind_imports(node, scope),
            "assignment" | "named_expression" => {
                let name = node.field("left").or_else(|| node.field("name"));
                let value = node.field("right").or_else(|| node.field("value"));
                // The name of an expression belongs to the scope around comprehensions.
                let is_beyond = |at: &Node<'t>| {
                    node.kind() != "named_expression" || !LISTS.has("comprehensions", at.kind())
                };
                let scope = self.around(scope).find(is_beyond).unwrap_or(scope);
                if let Some(name) = name {
                    self.bind_target(name, value, scope);
                }
            }
            "augmented_assignment" | "for_statement" | "for_in_clause" => {
                let Some(left) = node.field("left") else { return };
                // A loop binds its target to each of the elements if they are written down, else to an unknown value.
                self.bind_target(left, None, scope);
                let is_known = left.kind() == "identifier" && node.kind() != "augmented_assignment";
                let over = elements(node.field("right").filter(|_| is_known));
                for element in over {
                    self.bind_target(left, Some(element), scope);
                }
            }
            "function_definition" | "class_definition" => {
                if let Some(name) = node.field("name") {
                    let in_module = node.parent().is_some_and(|parent| parent.kind() == "module");
                    let end = node.at() + node.text().len();
                    let bound = self.bind(scope, name, Binding::Unknown);
                    if in_module && bound.defined_from.is_none() {
                        bound.defined_from = Some(end);
                    }
                }
            }
            "parameters" | "lambda_parameters" => self.bind_parameters(node, scope),
            "as_pattern_target" => {
                let value = node.parent().and_then(|pattern| pattern.named_children().next());
                let names = node.descendants().filter(|name| name.kind() == "identifier");
                names.for_each(|name| self.bind_target(name, value, scope));
            }
            "global_statement" | "nonlocal_statement" => {
                self.foreign.extend(node.named_children().map(|name| (scope.index(), plain(name.text()))));
            }
            "delete_statement" => {
                let names = node.descendants().filter(|name| name.kind() == "identifier");
                self.deleted.extend(names.map(|name| plain(name.text())));
            }
            _ => {}
        }
    }

    fn bind_imports(&mut self, node: Node<'t>, scope: Node<'t>) {
        let from = node.field("module_name").map(|module| dotted(module.text()));
        for name in node.children().filter(|child| child.field_name() == Some("name")) {
            let both = name.field("name").zip(name.field("alias"));
            let (path, alias) = both.map_or((name, None), |(path, alias)| (path, Some(alias)));
            let imported = dotted(path.text());
            match (&from, alias) {
                (Some(module), alias) => {
                    let bound = Binding::Import(format!("{module}.{imported}").into());
                    self.bind(scope, alias.unwrap_or(path), bound);
                }
                (None, Some(alias)) => {
                    self.bind(scope, alias, Binding::Import(imported.into()));
                }
                (None, None) => {
                    let root = imported.split('.').next().unwrap_or_default();
                    let key = (scope.index(), Cow::Owned(root.to_owned()));
                    self.bound.entry(key).or_default().bindings.push(Binding::Import(root.into()));
                }
            }
        }
    }

    fn bind_parameters(&mut self, node: Node<'t>, scope: Node<'t>) {
        for parameter in node.named_children() {
            let name = parameter.field("name").unwrap_or(parameter);
            let first =
                std::iter::once(name).chain(name.descendants()).find(|part| part.kind() == "identifier");
            if let Some(name) = first {
                self.bind_target(name, parameter.field("value"), scope);
            }
        }
    }

    /// Binds the names in a target. Only patterns bind: the names within `a.b` or `a[b]` are used, not bound.
    fn bind_target(&mut self, target: Node<'t>, value: Option<Node<'t>>, scope: Node<'t>) {
        if target.kind() == "identifier" {
            self.bind(scope, target, value.map_or(Binding::Unknown, Binding::Value));
            return;
        }
        if !LISTS.has("destructuring", target.kind()) {
            return;
        }
        let parts: Vec<_> = target.named_children().collect();
        // The elements of a set have no order.
        let values = elements(value.filter(|value| value.kind() != "set"));
        for (index, part) in parts.iter().enumerate() {
            let is_known = values.len() == parts.len() && part.kind() == "identifier";
            self.bind_target(*part, values.get(index).copied().filter(|_| is_known), scope);
        }
    }

    fn bind(&mut self, scope: Node<'t>, name: Node<'t>, binding: Binding<'t>) -> &mut Bound<'t> {
        let bound = self.bound.entry((scope.index(), plain(name.text()))).or_default();
        bound.bindings.push(binding);
        bound
    }
}

/// Returns the elements of a list that is written down.
fn elements(list: Option<Node<'_>>) -> Vec<Node<'_>> {
    let is_list = |list: &Node<'_>| matches!(list.kind(), "list" | "tuple" | "set" | "expression_list");
    list.filter(is_list).into_iter().flat_map(Node::named_children).collect()
}

/// Returns a dotted name without the space and line ends within it, and with its identifiers normalized.
pub(super) fn dotted(text: &str) -> String {
    let joined: String = text.chars().filter(|c| !c.is_whitespace() && *c != '\\').collect();
    plain(&joined).into_owned()
}

fn is_first_clause(clause: Node<'_>) -> bool {
    let first =
        clause.parent().and_then(|around| around.children().find(|child| child.kind() == "for_in_clause"));
    first == Some(clause)
}
