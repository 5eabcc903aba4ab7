//! Resolution of expressions to dotted paths from a module or from the builtins.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::LISTS;
use super::scope::{Binding, PythonScopes};
use crate::code_safety::{Evaluation, Known, Meaning, Node, Paths, Tree, plain};

/// A resolver that follows names, aliases and attributes.
///
/// The order of statements is ignored: a name may refer to anything that it is bound to in its scope. That finds too
/// much rather than too little.
pub(super) struct Resolver<'t> {
    pub(super) scopes: PythonScopes<'t>,
    known: RefCell<HashMap<Key, Paths>>,
    paths: Known<Paths>,
    open: RefCell<HashSet<Key>>,
    /// True if a name was met that is already being resolved, so that the result is incomplete.
    is_partial: Cell<bool>,
    evaluation: Evaluation,
}

/// A path has `()` where something was called, as in `pathlib.Path().write_text`.
impl<'t> Meaning<'t> for Resolver<'t> {
    const NAMES_KEEP_NUMBERS: bool = true;

    fn evaluation(&self) -> &Evaluation {
        &self.evaluation
    }

    fn value(&self, name: Node<'t>) -> Option<Node<'t>> {
        match self.scopes.bindings(&plain(name.text()), name)[..] {
            [Binding::Value(value)] => Some(*value),
            _ => None,
        }
    }

    fn paths(&self, node: Node<'t>) -> Paths {
        self.paths.get(node, || self.resolve(node, MAX_DEPTH))
    }

    fn is_outermost(&self, node: Node<'t>) -> bool {
        self.scopes.is_outermost(node)
    }
}

/// The key of a resolved name: a scope, the name in it, and whether the name is certainly not the builtin.
type Key = (usize, Box<str>, bool);

impl<'t> Resolver<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self {
            scopes: PythonScopes::new(tree),
            known: RefCell::default(),
            paths: Known::default(),
            open: RefCell::default(),
            is_partial: Cell::new(false),
            evaluation: Evaluation::of(tree),
        }
    }

    fn resolve(&self, node: Node<'t>, depth: usize) -> Paths {
        let Some(depth) = depth.checked_sub(1).filter(|_| self.evaluation.spend()) else {
            self.evaluation.exhaust();
            return Paths::default();
        };
        let inner = |field: Option<Node<'t>>| field.map(|node| self.resolve(node, depth)).unwrap_or_default();
        match node.kind() {
            "identifier" => self.name(node, depth),
            "attribute" => {
                let Some(attribute) = node.field("attribute") else { return Paths::default() };
                let name = plain(attribute.text());
                inner(node.field("object")).iter().map(|path| join(path, &name)).collect()
            }
            "subscript" => self.item(node, depth).unwrap_or_default(),
            "call" => self.result(node, depth).unwrap_or_default(),
            "parenthesized_expression" | "await" | "list_splat" | "list_splat_pattern" => {
                inner(node.named_children().next())
            }
            "named_expression" => inner(node.field("value")),
            "conditional_expression" | "boolean_operator" => {
                let branches: Vec<_> =
                    node.named_children().map(|branch| self.resolve(branch, depth)).collect();
                branches.iter().flat_map(|paths| paths.iter().cloned()).take(MAX_PATHS).collect()
            }
            _ => Paths::default(),
        }
    }

    fn name(&self, node: Node<'t>, depth: usize) -> Paths {
        let name = plain(node.text());
        let is_certain = self.scopes.is_certain(&name, node);
        let key: Key = (self.scopes.scope(node).index(), (&*name).into(), is_certain);
        if let Some(paths) = self.known.borrow().get(&key) {
            return paths.clone();
        }
        if !self.open.borrow_mut().insert(key.clone()) {
            self.is_partial.set(true);
            return Paths::default();
        }
        let was_partial = self.is_partial.replace(false);
        let bindings = self.scopes.bindings(&name, node);
        let is_bound = !bindings.is_empty();
        let mut paths: Vec<Rc<str>> = Vec::new();
        for binding in bindings {
            match binding {
                Binding::Import(path) => paths.push((&**path).into()),
                Binding::Value(value) => paths.extend(self.resolve(*value, depth).iter().cloned()),
                Binding::Unknown => {}
            }
        }
        if !is_certain && LISTS.has("builtins", &name) {
            paths.push(format!("builtins.{name}").into());
        } else if !is_bound && LISTS.has("well-known", &name) {
            paths.push((&*name).into());
        }
        paths.sort_unstable();
        paths.dedup();
        if paths.len() > MAX_PATHS {
            self.evaluation.exhaust();
        }
        let paths: Paths = paths.into();
        self.open.borrow_mut().remove(&key);
        // A result within a cycle of names depends on where the cycle was entered, so it is not kept.
        if !self.is_partial.get() || self.open.borrow().is_empty() {
            self.known.borrow_mut().insert(key, paths.clone());
        }
        self.is_partial.set(was_partial || (self.is_partial.get() && !self.open.borrow().is_empty()));
        paths
    }

    /// Resolves a subscript: `sys.modules['os']`, `os.__dict__['system']`, `globals()['eval']`.
    fn item(&self, node: Node<'t>, depth: usize) -> Option<Paths> {
        let (value, index) = node.field("value").zip(node.field("subscript"))?;
        let of = Some(self.resolve(value, depth)).filter(|of| !of.is_empty())?;
        let key = self.text(index)?;
        Some(of.iter().map(|path| member(path, &key)).collect())
    }

    fn result(&self, node: Node<'t>, depth: usize) -> Option<Paths> {
        let (function, arguments) = node.field("function").zip(node.field("arguments"))?;
        let functions = self.resolve(function, depth);
        let mut positional =
            arguments.named_children().filter(|argument| argument.kind() != "keyword_argument");
        let (first, second) = (positional.next(), positional.next());
        let mut found: Vec<Rc<str>> = Vec::new();
        for path in functions.iter() {
            match (&**path, first, second) {
                ("builtins.getattr", Some(object), Some(name)) => {
                    let Some(name) = self.text(name) else { continue };
                    found.extend(self.resolve(object, depth).iter().map(|path| join(path, &plain(&name))));
                }
                ("builtins.vars", Some(object), _) => {
                    found.extend(self.resolve(object, depth).iter().map(|path| join(path, "__dict__")));
                }
                (path, Some(name), _) if IMPORTERS.contains(&path) => found.extend(self.text(name)),
                _ => {
                    // The call `mapping.get('x')` is `mapping['x']`.
                    let of = path.strip_suffix(".get").or_else(|| path.strip_suffix(".__getitem__"));
                    let key = first.and_then(|key| self.text(key));
                    match (of, key) {
                        (Some(of), Some(key)) if is_namespace(of) => found.push(member(of, &key)),
                        _ => found.push(format!("{path}()").into()),
                    }
                }
            }
        }
        found.truncate(MAX_PATHS);
        Some(found.into())
    }
}

/// Returns whether the path is a dictionary of names.
fn is_namespace(path: &str) -> bool {
    path.ends_with(".__dict__") || LISTS.has("namespaces", path)
}

fn join(path: &str, name: &str) -> Rc<str> {
    // The `__self__` of a builtin function is the module of the builtins.
    if name == "__self__" && path.starts_with("builtins.") && !path.contains('(') {
        return "builtins".into();
    }
    format!("{path}.{name}").into()
}

fn member(path: &str, key: &str) -> Rc<str> {
    match path {
        "builtins.globals()" | "builtins.locals()" | "builtins.vars()" if LISTS.has("builtins", key) => {
            join("builtins", key)
        }
        "sys.modules" | "builtins.globals()" | "builtins.locals()" | "builtins.vars()" => key.into(),
        "builtins.__builtins__" => join("builtins", key),
        _ => match path.strip_suffix(".__dict__") {
            Some(object) => join(object, key),
            None => format!("{path}[]").into(),
        },
    }
}

/// The functions that return the module with a name.
const IMPORTERS: [&str; 3] = ["builtins.__import__", "importlib.import_module", "importlib.__import__"];

/// The deepest nesting of expressions that is followed; people do not write deeper ones.
const MAX_DEPTH: usize = 100;
/// The largest number of paths that a name may refer to; with more, the resolver gives up.
const MAX_PATHS: usize = 64;
