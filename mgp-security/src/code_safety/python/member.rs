//! Rules for attributes that lead from any object into the interpreter.

use mgp_types::mgp::SafetyLevel::{Standard, Strict};

use super::Check;
use super::call::positional;
use super::names::{DESCRIPTIONS, INNER, LAUNCHERS, OF_LITERALS, PLAIN_OF_CLASS, TYPE_WALKS, WALKS};
use crate::code_safety::identifier::plain;
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    pub(super) fn member(&mut self, node: Node<'t>) {
        let (Some(object), Some(attribute)) = (node.field("object"), node.field("attribute")) else { return };
        let name = plain(attribute.text());
        let at = attribute.at();
        if (WALKS.contains(&name) && !is_description(&name, node))
            || (name == "__getattribute__" && !is_own_lookup(object))
            || LAUNCHERS.contains(&name)
            || is_launch(&name, node)
        {
            self.findings.pattern(Standard, &name, at);
        } else if (INNER.contains(&name) && !is_description(&name, node))
            || (name.starts_with("__") && is_literal(object) && !OF_LITERALS.contains(&name))
            || (TYPE_WALKS.contains(&name) && is_type_walk(node, object))
            || (name == "__class__" && (is_bare_class(node, object) || self.is_given(object)))
        {
            self.findings.pattern(Strict, &name, at);
        }
    }

    /// Returns whether the object is a builtin, or a function or class of a module.
    fn is_given(&self, object: Node<'t>) -> bool {
        self.code.paths(object).iter().any(|path| path.contains('.') && !path.contains(['(', '[']))
    }
}

/// Returns whether an attribute of this name leads into the interpreter, for code that has the name as a string.
pub(super) fn is_walk(name: &str) -> bool {
    WALKS.contains(name)
        || INNER.contains(name)
        || TYPE_WALKS.contains(name)
        || matches!(name, "__class__" | "__getattribute__")
}

/// Returns whether `object.__getattribute__(self, name)` is how a class looks up its own attributes.
fn is_own_lookup(object: Node<'_>) -> bool {
    object.text() == "object" || object.text().starts_with("super(")
}

/// Returns whether a call of `system` starts a command, as it does with an argument; without one it is
/// `platform.system()`.
fn is_launch(name: &str, node: Node<'_>) -> bool {
    let call =
        node.parent().filter(|parent| parent.kind() == "call" && node.field_name() == Some("function"));
    let arguments = call.and_then(|call| call.field("arguments"));
    name == "system" && arguments.is_some_and(|arguments| arguments.named_children().next().is_some())
}

/// Returns whether the code object of a function or frame is only asked for its description, not for what it does.
fn is_description(name: &str, node: Node<'_>) -> bool {
    let parent = node.parent().filter(|parent| parent.kind() == "attribute");
    let part = parent.and_then(|parent| parent.field("attribute")).map(Node::text);
    matches!(name, "__code__" | "f_code") && part.is_some_and(|part| DESCRIPTIONS.contains(part))
}

/// Returns whether the bases of a type are walked to reach a certain one, rather than looked through.
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

/// Returns whether the class of an object is used for anything else than its name, a comparison or a new instance.
fn is_bare_class(node: Node<'_>, object: Node<'_>) -> bool {
    if is_literal(object) {
        return true;
    }
    let Some(parent) = node.parent() else { return true };
    match (parent.kind(), node.field_name()) {
        ("attribute", _) => {
            let next = parent.field("attribute").map(|name| plain(name.text()));
            next.is_some_and(|next| next.starts_with("__") && !PLAIN_OF_CLASS.contains(&next))
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
