//! The elements that each schema of a specification has to have.

use serde_json::Value;

use crate::config::Severity;

/// An element that a schema lacks or has in a form that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchemaFault {
    pub(super) severity: Severity,
    /// The JSON pointer to the schema.
    pub(super) pointer: String,
    pub(super) what: String,
    pub(super) help: String,
}

/// Returns what a schema lacks, in the order of its members.
///
/// Every schema has a `type`, or refers to others that have one. The root and each property have a `description`.
/// Objects have `properties` and `required` unless they are maps from any name, arrays have `items`. Properties should
/// have `examples`.
pub(super) fn faults(schema: &Value) -> Vec<SchemaFault> {
    let mut faults = Vec::new();
    walk(schema, &mut String::new(), SchemaPlace::Root, &mut faults);
    faults
}

/// Returns the pointer to a member of what `pointer` leads to.
pub(super) fn member(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The place of a schema in another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaPlace {
    Root,
    Property,
    /// Items, branches and definitions, which what refers to them describes.
    Part,
}

fn walk(schema: &Value, pointer: &mut String, place: SchemaPlace, faults: &mut Vec<SchemaFault>) {
    let mut fault = |severity, what: &str, help: &str| {
        faults.push(SchemaFault { severity, pointer: pointer.clone(), what: what.to_owned(), help: help.to_owned() });
    };
    let Some(members) = schema.as_object() else {
        if place != SchemaPlace::Part || !schema.is_boolean() {
            fault(Severity::Error, "this is not a schema with a `type`", "write an object with `type` and `description`");
        }
        return;
    };
    let types = types(schema);
    let refers = ["$ref", "$dynamicRef", "oneOf", "anyOf", "allOf"].iter().any(|word| members.contains_key(*word));
    if types.is_empty() && !refers {
        fault(Severity::Error, "`type` is missing", "add it: object, string, integer, number, boolean, array or null");
    }
    if let Some(unknown) = types.iter().find(|name| !TYPES.contains(name)) {
        fault(Severity::Error, &format!("`{unknown}` is not a type"), "the types are object, string, integer, number, boolean, array and null");
    }
    let is_described = members.get("description").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    if place != SchemaPlace::Part && !is_described {
        fault(Severity::Error, "`description` is missing", "say what the value means, for people and models");
    }
    let properties = members.get("properties").and_then(Value::as_object);
    if types.contains(&"object") {
        let is_map = ["additionalProperties", "patternProperties"]
            .iter()
            .any(|word| members.get(*word).is_some_and(|value| *value != Value::Bool(false)));
        match properties {
            None if !is_map => {
                fault(Severity::Error, "`properties` is missing", "describe the members, or set `additionalProperties` if they are free");
            }
            Some(properties) if !properties.is_empty() && !members.contains_key("required") => {
                fault(Severity::Error, "`required` is missing", "list the required members; `[]` if none is");
            }
            _ => {}
        }
    }
    let required = members.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|name| properties.is_some_and(|properties| !properties.contains_key(*name))) {
        fault(Severity::Error, &format!("`required` names `{name}`, which is not a property"), "add the property, or take the name out");
    }
    if types.contains(&"array") && !members.contains_key("items") && !members.contains_key("prefixItems") {
        fault(Severity::Error, "`items` is missing", "add the schema of the elements");
    }
    let is_evident = ["examples", "enum", "const", "properties", "$ref"].iter().any(|word| members.contains_key(*word))
        || types == ["boolean"]
        || types == ["null"];
    if place == SchemaPlace::Property && !is_evident {
        fault(Severity::Warning, "`examples` is missing", "add one or two values that callers would send or get");
    }
    for (word, value) in members {
        let length = pointer.len();
        let mut below = |steps: &[&str], schema: &Value, place| {
            for step in steps {
                *pointer = member(pointer, step);
            }
            walk(schema, pointer, place, faults);
            pointer.truncate(length);
        };
        match (word.as_str(), value) {
            ("properties", Value::Object(all)) => {
                all.iter().for_each(|(name, schema)| below(&[word, name], schema, SchemaPlace::Property));
            }
            ("patternProperties" | "$defs" | "definitions", Value::Object(all)) => {
                all.iter().for_each(|(name, schema)| below(&[word, name], schema, SchemaPlace::Part));
            }
            ("items" | "prefixItems" | "oneOf" | "anyOf" | "allOf", Value::Array(all)) => {
                for (index, schema) in all.iter().enumerate() {
                    below(&[word, &index.to_string()], schema, SchemaPlace::Part);
                }
            }
            ("items" | "additionalProperties", schema @ Value::Object(_)) => below(&[word], schema, SchemaPlace::Part),
            _ => {}
        }
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
