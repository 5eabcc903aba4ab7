//! The elements that each schema of a specification has to have.

use serde_json::{Map, Value};

use crate::config::Severity;

/// The place of a schema in another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaPlace {
    Root,
    Property,
    /// Items, branches and definitions, which what refers to them describes.
    Part,
}

/// Tells `fault` what a schema lacks, in the order of its members: how bad that is, the JSON pointer to its place, and what
/// is wrong.
///
/// Every schema has a `type`, or refers to others that have one. The root and each property have a `description`.
/// Objects have `properties` and `required` unless they are maps from any name, arrays have `items`. Properties should
/// have `examples`.
pub(super) fn faults(schema: &Value, fault: &mut dyn FnMut(Severity, &str, &str)) {
    walk(&mut schema.clone(), "", SchemaPlace::Root, fault);
}

/// Returns the pointer to a member of what `pointer` leads to.
pub(super) fn member(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns the name of the member that a pointer ends with.
pub(super) fn last_name(pointer: &str) -> String {
    pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~")
}

/// Returns the schemas directly within the one that `pointer` leads to, each with the pointer to it.
pub(super) fn parts<'a>(
    pointer: &str,
    schema: &'a mut Map<String, Value>,
) -> Vec<(String, SchemaPlace, &'a mut Value)> {
    let mut parts = Vec::new();
    for (word, value) in schema {
        let at = member(pointer, word);
        match (word.as_str(), value) {
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(all)) => {
                let place = if word == "properties" { SchemaPlace::Property } else { SchemaPlace::Part };
                parts.extend(all.iter_mut().map(|(name, part)| (member(&at, name), place, part)));
            }
            ("items" | "prefixItems" | "oneOf" | "anyOf" | "allOf", Value::Array(all)) => {
                let all = all.iter_mut().enumerate();
                parts.extend(all.map(|(index, part)| (format!("{at}/{index}"), SchemaPlace::Part, part)));
            }
            ("items" | "additionalProperties", part @ Value::Object(_)) => {
                parts.push((at, SchemaPlace::Part, part));
            }
            _ => {}
        }
    }
    parts
}

fn walk(schema: &mut Value, pointer: &str, place: SchemaPlace, fault: &mut dyn FnMut(Severity, &str, &str)) {
    let mut here = |severity, what: &str| fault(severity, pointer, what);
    match schema.as_object() {
        None if place == SchemaPlace::Part && schema.is_boolean() => {}
        None => here(Severity::Error, "this is not a schema with a `type`"),
        Some(members) => check(members, &types(schema), place, &mut here),
    }
    for (pointer, place, part) in schema.as_object_mut().into_iter().flat_map(|all| parts(pointer, all)) {
        walk(part, &pointer, place, fault);
    }
}

fn has(members: &Map<String, Value>, words: &[&str]) -> bool {
    words.iter().any(|word| members.contains_key(*word))
}

/// Checks the elements that schemas of all types have, and those that say what objects and arrays contain.
fn check(
    members: &Map<String, Value>,
    types: &[&str],
    place: SchemaPlace,
    fault: &mut dyn FnMut(Severity, &str),
) {
    if types.is_empty() && !has(members, &["$ref", "$dynamicRef", "oneOf", "anyOf", "allOf"]) {
        fault(Severity::Error, "`type` is missing");
    }
    if let Some(unknown) = types.iter().find(|name| !TYPES.contains(name)) {
        fault(Severity::Error, &format!("`{unknown}` is not a type: it is one of {}", TYPES.join(", ")));
    }
    let description = members.get("description").and_then(Value::as_str).unwrap_or_default();
    if place != SchemaPlace::Part && description.trim().is_empty() {
        fault(Severity::Error, "`description` is missing");
    }
    let is_evident = has(members, &["examples", "enum", "const", "properties", "$ref"])
        || types == ["boolean"]
        || types == ["null"];
    if place == SchemaPlace::Property && !is_evident {
        fault(Severity::Warning, "`examples` is missing");
    }
    let properties = members.get("properties").and_then(Value::as_object);
    let is_open = |word| members.get(word).is_some_and(|value| *value != Value::Bool(false));
    let is_map = is_open("additionalProperties") || is_open("patternProperties");
    let is_object = types.contains(&"object");
    if is_object && properties.is_none() && !is_map {
        fault(Severity::Error, "`properties` is missing, and so is `additionalProperties`");
    }
    if is_object && properties.is_some_and(|all| !all.is_empty()) && !has(members, &["required"]) {
        fault(Severity::Error, "`required` is missing, which may be `[]`");
    }
    let required = members.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if properties.is_some_and(|properties| !properties.contains_key(name)) {
            fault(Severity::Error, &format!("`required` names `{name}`, which is not a property"));
        }
    }
    if types.contains(&"array") && !has(members, &["items", "prefixItems"]) {
        fault(Severity::Error, "`items` is missing");
    }
}

/// Returns the types that a schema names.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The types of JSON Schema.
pub(super) const TYPES: [&str; 7] = ["object", "string", "integer", "number", "boolean", "array", "null"];
