//! Rules for global names, which depend on what a name is used for.

use mgp_types::mgp::SafetyLevel::{Standard, Strict};

use super::Check;
use super::names::{DANGEROUS_GLOBALS, PROCESS_MEMBERS, STEERING, STRICT_GLOBALS};
use crate::code_safety::identifier::plain;
use crate::code_safety::names::Names;
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    pub(super) fn name(&mut self, node: Node<'t>) {
        let name = plain(node.text());
        let is_interesting = DANGEROUS_GLOBALS.contains(&name)
            || STRICT_GLOBALS.contains(&name)
            || matches!(&*name, "process" | "require" | "module" | "globalThis" | "global");
        if !is_interesting || is_naming(node) || self.scopes.is_declared(&name, node) {
            return;
        }
        let Some(parent) = node.parent() else { return };
        let is_tested = is_tested(node, parent);
        let at = node.at();
        if DANGEROUS_GLOBALS.contains(&name) {
            if !is_tested {
                self.findings.pattern(Standard, &shown(&name), at);
            }
        } else if STRICT_GLOBALS.contains(&name) {
            if !is_tested {
                self.findings.pattern(Strict, &name, at);
            }
        } else if !is_tested && !is_harmless_use(&name, node, parent) {
            self.findings.pattern(Strict, &name, at);
        }
    }
}

fn is_harmless_use(name: &str, node: Node<'_>, parent: Node<'_>) -> bool {
    let is_object = node.field_name() == Some("object");
    let member = parent.field("property").filter(|_| is_object).map(|member| plain(member.text()));
    match name {
        "process" => match member {
            Some(member) => {
                PROCESS_MEMBERS.contains(&member) && (member != "env" || is_single_variable(parent))
            }
            None => parent.kind() == "variable_declarator" && takes_only(parent, &PROCESS_MEMBERS),
        },
        "require" => {
            let is_called = parent.kind() == "call_expression" && node.field_name() == Some("function");
            is_called || member.is_some_and(|member| matches!(&*member, "main" | "resolve"))
        }
        "module" => member.is_some_and(|member| {
            let is_plain = matches!(&*member, "exports" | "hot" | "id" | "filename");
            is_plain
                || (member == "parent" && parent.parent().is_some_and(|around| is_tested(parent, around)))
        }),
        _ => is_object || is_of_one_name(node, parent),
    }
}

/// Returns whether the global object is passed for one of its names only, which is harmless: `spyOn(globalThis,
/// 'fetch')`.
fn is_of_one_name(node: Node<'_>, parent: Node<'_>) -> bool {
    let mut given = parent.named_children();
    let next = given.next().filter(|first| *first == node).and_then(|_| given.next());
    let name = next.filter(|next| next.kind() == "string").map(|next| next.text().trim_matches(['\'', '"']));
    parent.kind() == "arguments"
        && name.is_some_and(|name| {
            name.chars().all(char::is_alphabetic)
                && !DANGEROUS_GLOBALS.contains(name)
                && !STRICT_GLOBALS.contains(name)
                && !matches!(name, "process" | "require" | "constructor")
        })
}

/// Returns whether a single variable of the environment is read: `process.env.X`, `process.env['X']`, `const {X} =
/// process.env`.
fn is_single_variable(env: Node<'_>) -> bool {
    let Some(parent) = env.parent() else { return false };
    match parent.kind() {
        "member_expression" | "subscript_expression" => {
            let is_set = parent.field_name() == Some("left");
            let name = parent.field("property").or_else(|| parent.field("index")).map(Node::text);
            let steers = name.is_some_and(|name| {
                STEERING.iter().any(|start| name.trim_matches(['\'', '"']).starts_with(start))
            });
            env.field_name() == Some("object") && !(is_set && steers)
        }
        "variable_declarator" => parent.field("name").is_some_and(|name| {
            name.kind() == "object_pattern"
                && !name.named_children().any(|part| part.kind() == "rest_pattern")
        }),
        "binary_expression" => parent.field("operator").is_some_and(|operator| operator.text() == "in"),
        _ => false,
    }
}

/// Returns whether a declaration destructures an object into members of these names only.
fn takes_only(declarator: Node<'_>, allowed: &Names) -> bool {
    let Some(pattern) = declarator.field("name").filter(|name| name.kind() == "object_pattern") else {
        return false;
    };
    pattern.named_children().all(|part| {
        let key = part.field("key").unwrap_or(part);
        let key = plain(key.text());
        allowed.contains(&key) && key != "env"
    })
}

/// Returns whether the node is only tested for its type or value: `typeof x`, `y instanceof x`, `y === x`.
fn is_tested(node: Node<'_>, parent: Node<'_>) -> bool {
    let operator = parent.field("operator").map(Node::text);
    match parent.kind() {
        "unary_expression" => matches!(operator, Some("typeof" | "!")),
        "binary_expression" => {
            matches!(operator, Some("===" | "!==" | "==" | "!="))
                || (matches!(operator, Some("instanceof" | "in")) && node.field_name() == Some("right"))
        }
        _ => false,
    }
}

/// Returns whether the identifier gives something a name rather than standing for a value.
fn is_naming(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return false };
    match (parent.kind(), node.field_name()) {
        (
            "function_declaration" | "class_declaration" | "function_expression" | "generator_function",
            Some("name"),
        )
        | ("variable_declarator" | "import_specifier" | "export_specifier", Some("name" | "alias")) => true,
        (kind, _) => matches!(
            kind,
            "formal_parameters"
                | "import_clause"
                | "namespace_import"
                | "required_parameter"
                | "property_signature"
        ),
    }
}

fn shown(name: &str) -> String {
    if matches!(name, "eval" | "Function" | "importScripts" | "execScript") {
        format!("{name}(")
    } else {
        name.to_owned()
    }
}
