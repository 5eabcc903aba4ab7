//! Attributes that lead from any object into the interpreter, whatever the object is.

use mgp_types::mgp::SafetyLevel::{Standard, Strict};

use super::Check;
use super::call::positional;
use crate::code_safety::identifier::plain;
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    pub(super) fn member(&mut self, node: Node<'t>) {
        let (Some(object), Some(attribute)) = (node.field("object"), node.field("attribute")) else { return };
        let name = plain(attribute.text());
        let at = attribute.at();
        if (WALKS.contains(&&*name) && !is_description(&name, node))
            || (name == "__getattribute__" && !is_own_lookup(object))
            || LAUNCHERS.contains(&&*name)
            || is_launch(&name, node)
        {
            self.findings.pattern(Standard, &name, at);
        } else if (INNER.contains(&&*name) && !is_description(&name, node))
            || (name.starts_with("__") && is_literal(object) && !OF_LITERALS.contains(&&*name))
            || (TYPE_WALKS.contains(&&*name) && is_type_walk(node, object))
            || (name == "__class__" && (is_bare_class(node, object) || self.is_given(object)))
        {
            self.findings.pattern(Strict, &name, at);
        }
    }

    /// Whether the object is a builtin, or a function or class of a module.
    fn is_given(&self, object: Node<'t>) -> bool {
        self.code.paths(object).iter().any(|path| path.contains('.') && !path.contains(['(', '[']))
    }
}

/// Whether a name is one that leads into the interpreter, for code that has it as a text.
pub(super) fn is_walk(name: &str) -> bool {
    WALKS.contains(&name)
        || INNER.contains(&name)
        || TYPE_WALKS.contains(&name)
        || matches!(name, "__class__" | "__getattribute__")
}

/// `object.__getattribute__(self, name)` within a class is how a class looks up its own attributes.
fn is_own_lookup(object: Node<'_>) -> bool {
    object.text() == "object" || object.text().starts_with("super(")
}

/// `system` with an argument starts a command; without one it is `platform.system()`.
fn is_launch(name: &str, node: Node<'_>) -> bool {
    let call =
        node.parent().filter(|parent| parent.kind() == "call" && node.field_name() == Some("function"));
    let arguments = call.and_then(|call| call.field("arguments"));
    name == "system" && arguments.is_some_and(|arguments| arguments.named_children().next().is_some())
}

/// Whether the code of a function or frame is only asked for what describes it, not for what it does.
fn is_description(name: &str, node: Node<'_>) -> bool {
    let parent = node.parent().filter(|parent| parent.kind() == "attribute");
    let part = parent.and_then(|parent| parent.field("attribute")).map(Node::text);
    matches!(name, "__code__" | "f_code") && part.is_some_and(|part| DESCRIPTIONS.contains(&part))
}

/// Whether the bases of a type are walked to reach a certain one, rather than looked through.
fn is_type_walk(node: Node<'_>, object: Node<'_>) -> bool {
    let called = node.parent().filter(|parent| parent.kind() == "call");
    let taken = called.unwrap_or(node);
    let is_indexed = taken.parent().is_some_and(|parent| {
        let is_value = parent.kind() == "subscript" && taken.field_name() == Some("value");
        is_value
            && parent
                .field("subscript")
                .is_some_and(|index| matches!(index.kind(), "integer" | "unary_operator"))
    });
    let of_dunder = object.kind() == "attribute"
        && object.field("attribute").is_some_and(|name| name.text().starts_with("__"));
    let of_type = object.kind() == "call"
        && object.field("function").is_some_and(|function| function.text() == "type")
        && !positional(object).any(is_literal);
    is_indexed || of_dunder || is_literal(object) || (object.kind() == "call" && !of_type)
}

/// Whether the class of an object is taken for something else than its name, a comparison or a new instance.
fn is_bare_class(node: Node<'_>, object: Node<'_>) -> bool {
    if is_literal(object) {
        return true;
    }
    let Some(parent) = node.parent() else { return true };
    match (parent.kind(), node.field_name()) {
        ("attribute", _) => {
            let next = parent.field("attribute").map(|name| plain(name.text()));
            next.is_some_and(|next| next.starts_with("__") && !PLAIN_OF_CLASS.contains(&&*next))
        }
        ("assignment" | "augmented_assignment", Some("left"))
        | ("subscript", Some("value"))
        | ("delete_statement", _) => true,
        _ => false,
    }
}

fn is_literal(node: Node<'_>) -> bool {
    match node.kind() {
        "parenthesized_expression" => node.named_children().next().is_some_and(is_literal),
        kind => matches!(
            kind,
            "tuple"
                | "list"
                | "dictionary"
                | "set"
                | "string"
                | "concatenated_string"
                | "integer"
                | "float"
                | "true"
                | "false"
                | "none"
                | "ellipsis"
                | "lambda"
                | "list_comprehension"
                | "generator_expression"
        ),
    }
}

/// What of a code object says where it is from and what its parameters are.
const DESCRIPTIONS: &[&str] = &[
    "co_name",
    "co_qualname",
    "co_filename",
    "co_firstlineno",
    "co_flags",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_varnames",
    "co_nlocals",
];

/// Methods by which a literal is compared and searched; nobody writes `().__class__` but for what it leads to.
const OF_LITERALS: &[&str] = &["__contains__", "__eq__", "__ne__", "__getitem__", "__mod__", "__name__"];

/// Frames, code, and what is global to a function.
const WALKS: &[&str] = &[
    "__subclasses__",
    "__globals__",
    "__builtins__",
    "__builtin__",
    "__import__",
    "__reduce__",
    "__reduce_ex__",
    "func_globals",
    "func_code",
    "im_func",
    "im_self",
    "im_class",
    "gi_frame",
    "gi_code",
    "gi_yieldfrom",
    "cr_frame",
    "cr_code",
    "cr_await",
    "cr_origin",
    "ag_frame",
    "ag_code",
    "ag_await",
    "f_back",
    "f_globals",
    "f_locals",
    "f_builtins",
    "f_code",
    "f_trace",
    "tb_frame",
    "tb_next",
    "co_code",
    "__build_class__",
    "__loader__",
    "enable_load_extension",
    "load_extension",
];

/// What plain code has no use for, though libraries do.
const INNER: &[&str] = &[
    "__code__",
    "__closure__",
    "cell_contents",
    "__self__",
    "__spec__",
    "__base__",
    "__weakref__",
    "__class_getitem__",
    "_Printer__filenames",
];

const TYPE_WALKS: &[&str] = &["__mro__", "__bases__", "mro"];

/// What of a class says no more than what it is, or makes an instance.
const PLAIN_OF_CLASS: &[&str] = &[
    "__name__",
    "__qualname__",
    "__module__",
    "__doc__",
    "__init__",
    "__new__",
    "__dict__",
    "__slots__",
    "__annotations__",
    "__mro__",
    "__bases__",
    "__eq__",
    "__hash__",
    "__repr__",
    "__str__",
    "__setattr__",
    "__getattr__",
];

/// Methods that start a process or load a module, of whatever object.
const LAUNCHERS: &[&str] = &[
    "popen",
    "popen2",
    "popen3",
    "popen4",
    "Popen",
    "execl",
    "execle",
    "execlp",
    "execlpe",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "spawnl",
    "spawnle",
    "spawnlp",
    "spawnlpe",
    "spawnv",
    "spawnve",
    "spawnvp",
    "spawnvpe",
    "posix_spawn",
    "posix_spawnp",
    "forkpty",
    "check_output",
    "check_call",
    "getoutput",
    "getstatusoutput",
    "create_subprocess_exec",
    "create_subprocess_shell",
    "subprocess_exec",
    "subprocess_shell",
    "load_module",
    "exec_module",
    "import_module",
    "run_path",
    "run_module",
    "exec_command",
    "CDLL",
    "LoadLibrary",
];
