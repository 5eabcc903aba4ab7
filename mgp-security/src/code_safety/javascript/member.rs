//! Rules for members of objects, accessed by dot, by key, and by destructuring.

use mgp_types::mgp::SafetyLevel::{Standard, Strict};

use super::Check;
use super::call::arguments;
use super::names::{
    BUILTIN_CLASSES, DANGEROUS_GLOBALS, DANGEROUS_MEMBERS, GLOBAL_OBJECTS, PLAIN_CLASSES, STRICT_GLOBALS,
    STRICT_MEMBERS,
};
use crate::code_safety::identifier::plain;
use crate::code_safety::names::Names;
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    pub(super) fn member(&mut self, node: Node<'t>) {
        let Some(object) = node.field("object") else { return };
        let key = match node.field("property") {
            Some(property) => Some(plain(property.text()).into_owned()),
            None => node.field("index").and_then(|index| self.scopes.text(index)),
        };
        let of = if object.kind() == "identifier" { plain(object.text()) } else { "".into() };
        let is_global = |names: &Names| names.contains(&of) && !self.scopes.is_declared(&of, object);
        // A page keeps its own names in `window`; code reads the other global objects by key only to hide a name.
        let is_keyed = node.kind() == "subscript_expression" && matches!(&*of, "globalThis" | "global");
        if is_global(&GLOBAL_OBJECTS) && (is_keyed || key.is_none()) {
            self.findings.pattern(Strict, &format!("{of}["), node.at());
        }
        // A function expression that is called in place has the global object as its `this`, and often returns it.
        let is_on_the_spot = object.kind() == "call_expression"
            && object.field("function").is_some_and(|function| function.kind() == "parenthesized_expression");
        if is_on_the_spot && matches!(key.as_deref(), Some("process" | "require")) {
            self.findings.pattern(Strict, "process", node.at());
        }
        let is_empty = object.kind() == "array" && object.named_children().next().is_none();
        if is_empty && node.kind() == "subscript_expression" {
            self.findings.pattern(Strict, "[][", node.at());
        }
        let Some(key) = key else { return };
        if is_global(&GLOBAL_OBJECTS) {
            let is_inner = STRICT_GLOBALS.contains(&key) || matches!(&*key, "process" | "require");
            let level =
                if DANGEROUS_GLOBALS.contains(&key) { Some(Standard) } else { is_inner.then_some(Strict) };
            if let Some(level) = level {
                self.findings.pattern(level, &key, node.at());
            }
        }
        let of_process =
            of == "process" || object.field("property").is_some_and(|property| property.text() == "process");
        if key == "binding" && of_process {
            self.findings.pattern(Standard, "process.binding", node.at());
        }
        if is_global(&BUILTIN_CLASSES) {
            self.builtin(&of, &key, node);
        }
        if key == "constructor" {
            self.constructor(object, node);
        } else if !is_ordinary(&key, object, node) && !self.describes_parameter(&key, &of, node) {
            self.key_name(&key, node);
        }
    }

    /// Checks keys of object literals, classes and patterns.
    pub(super) fn key(&mut self, node: Node<'t>) {
        let key = match node.kind() {
            "shorthand_property_identifier_pattern" => Some(node),
            "computed_property_name" => node.named_children().next(),
            "method_definition" => node.field("name"),
            _ => node.field("key"),
        };
        let Some(key) = key else { return };
        let name = match key.kind() {
            "property_identifier" | "shorthand_property_identifier_pattern" => plain(key.text()).into_owned(),
            _ => self.scopes.text(key).unwrap_or_default(),
        };
        let is_taken = matches!(node.kind(), "pair_pattern" | "shorthand_property_identifier_pattern");
        let is_built = node.kind() == "computed_property_name";
        if name == "constructor" && (is_taken || is_built) {
            self.findings.pattern(Standard, "constructor", key.at());
        } else if is_taken || is_built || matches!(&*name, "__proto__" | "showProxy") {
            self.key_name(&name, key);
        }
    }

    fn key_name(&mut self, key: &str, node: Node<'t>) {
        if DANGEROUS_MEMBERS.contains(key) {
            self.findings.pattern(Standard, key, node.at());
        } else if STRICT_MEMBERS.contains(key) {
            self.findings.pattern(Strict, key, node.at());
        }
    }

    /// Checks members of the built-in classes: their functions may be called, but not passed around.
    fn builtin(&mut self, of: &str, key: &str, node: Node<'t>) {
        let Some(parent) = node.parent() else { return };
        let operator = parent.field("operator").map(Node::text);
        let is_compared =
            parent.kind() == "binary_expression" && matches!(operator, Some("===" | "!==" | "==" | "!="));
        let at = node.at();
        match key {
            "prototype" if is_compared => {}
            "prototype" => {
                let method = parent.field("property").filter(|_| node.field_name() == Some("object"));
                let is_set = parent.field_name() == Some("left") || parent.kind() == "assignment_expression";
                let is_plain =
                    PLAIN_CLASSES.contains(of) && method.is_some_and(|method| method.text() != "constructor");
                if is_set || !is_plain {
                    self.findings.pattern(Strict, &format!("{of}.prototype"), at);
                }
            }
            "apply" | "call" | "bind" if !matches!(of, "Math" | "JSON" | "Array" | "Date" | "Error") => {
                self.findings.pattern(Strict, &format!("{of}.{key}"), at);
            }
            "getPrototypeOf" if self.is_of_parameter(parent) => {}
            "getPrototypeOf" => {
                let call = parent
                    .parent()
                    .filter(|call| parent.kind() == "call_expression" && call.kind() == "binary_expression");
                let is_compared = call
                    .and_then(|call| call.field("operator"))
                    .is_some_and(|sign| sign.text().ends_with("=="));
                if !is_compared {
                    self.findings.pattern(Strict, "Object.getPrototypeOf", at);
                }
            }
            _ if parent.kind() == "assignment_expression" && node.field_name() == Some("left") => {
                self.findings.pattern(Strict, &format!("{of}.{key} ="), at);
            }
            _ => {}
        }
    }

    /// Returns whether a call inspects a parameter of its function, without naming a certain member of it.
    fn is_of_parameter(&self, call: Node<'t>) -> bool {
        let mut asked = arguments(call);
        let (Some(object), key) = (asked.next(), asked.next()) else { return false };
        let is_given = match object.kind() {
            "this" => true,
            "identifier" => {
                let name = plain(object.text());
                let is_caught = object.ancestors().take_while(|_| self.scopes.effort.spend()).any(|around| {
                    around.kind() == "catch_clause"
                        && around.field("parameter").is_some_and(|caught| caught.text() == object.text())
                });
                self.scopes.is_declared(&name, object)
                    && self.scopes.value(&name, object).is_none()
                    && !is_caught
            }
            _ => false,
        };
        is_given && key.is_none_or(|key| self.scopes.text(key).is_none())
    }

    /// Returns whether the call is `Object.getOwnPropertyDescriptor(source, key)` on a parameter, as in functions that
    /// copy objects.
    fn describes_parameter(&self, key: &str, of: &str, node: Node<'t>) -> bool {
        of == "Object"
            && matches!(key, "getOwnPropertyDescriptor" | "getOwnPropertyDescriptors")
            && node
                .parent()
                .is_some_and(|call| call.kind() == "call_expression" && self.is_of_parameter(call))
    }

    /// Checks the use of a constructor: the constructor of a function makes functions from strings, and every object
    /// leads to a function.
    fn constructor(&mut self, object: Node<'t>, node: Node<'t>) {
        let Some(parent) = node.parent() else { return };
        let of_constructor =
            object.field("property").is_some_and(|property| plain(property.text()) == "constructor");
        let is_made = !matches!(
            object.kind(),
            "identifier" | "this" | "super" | "member_expression" | "subscript_expression"
        );
        let is_called = parent.kind() == "call_expression"
            && node.field_name() == Some("function")
            && object.kind() != "super";
        let in_pair = node.kind() == "subscript_expression";
        if of_constructor || is_made || is_called || in_pair {
            return self.findings.pattern(Standard, "constructor", node.at());
        }
        let operator = parent.field("operator").map(Node::text);
        let next = parent
            .field("property")
            .filter(|_| node.field_name() == Some("object"))
            .map(|next| plain(next.text()));
        let is_plain = match parent.kind() {
            "member_expression" => next.is_some_and(|next| next == "name" || object.kind() == "this"),
            "binary_expression" => match operator {
                Some("===" | "!==" | "==" | "!=") => object.kind() == "identifier",
                Some("||" | "??") => object.kind() == "this",
                _ => false,
            },
            // This is the function above which a stack trace starts.
            "arguments" => {
                let function = parent.parent().and_then(|call| call.field("function"));
                object.kind() == "this" && function.is_some_and(|of| of.text().contains("captureStackTrace"))
            }
            "new_expression" if object.kind() == "identifier" => arguments(parent).next().is_none(),
            "new_expression" | "as_expression" | "parenthesized_expression" | "variable_declarator" => {
                object.kind() == "this"
            }
            _ => false,
        };
        if !is_plain {
            self.findings.pattern(Strict, "constructor", node.at());
        }
    }
}

/// Returns whether a member name that is dangerous elsewhere is used in a harmless way.
fn is_ordinary(key: &str, object: Node<'_>, node: Node<'_>) -> bool {
    let parent = node.parent();
    match key {
        "species" | "dispose" | "asyncDispose" => object.text() != "Symbol",
        "_extensions" => object.kind() == "this",
        // Classes of errors get their prototype this way where classes are compiled down to functions.
        "setPrototypeOf" => parent.is_some_and(|call| {
            let mut given = arguments(call).filter(|_| call.kind() == "call_expression");
            let of_this = given.next().is_some_and(|first| first.kind() == "this");
            let prototype = given.next().map(|of| plain(of.text()));
            of_this
                && prototype.and_then(|of| of.strip_suffix(".prototype").map(str::to_owned)).is_some_and(
                    |class| {
                        class == "new.target"
                            || (class.chars().all(char::is_alphanumeric) && !BUILTIN_CLASSES.contains(&class))
                    },
                )
        }),
        "captureStackTrace" => parent.is_some_and(|parent| {
            let is_call = parent.kind() == "call_expression" && node.field_name() == Some("function");
            let of_this = || arguments(parent).next().is_some_and(|first| first.kind() == "this");
            let is_asked = matches!(parent.kind(), "parenthesized_expression" | "unary_expression");
            if is_call { of_this() } else { is_asked }
        }),
        _ => false,
    }
}
