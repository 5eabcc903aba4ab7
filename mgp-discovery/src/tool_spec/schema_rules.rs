//! The elements that each schema of a specification has to have.

use serde_json::{Map, Value};

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
    let Some(members) = schema.as_object() else {
        if place != SchemaPlace::Part || !schema.is_boolean() {
            faults.push(SchemaFault {
                severity: Severity::Error,
                pointer: pointer.clone(),
                what: "this is not a schema with a `type`".to_owned(),
                help: "write an object with `type` and `description`".to_owned(),
            });
        }
        return;
    };
    let own = OwnElements { members, types: types(schema), pointer };
    own.check(place, faults);
    own.check_members(faults);
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
            ("items" | "additionalProperties", schema @ Value::Object(_)) => {
                below(&[word], schema, SchemaPlace::Part);
            }
            _ => {}
        }
    }
}

/// The elements of one schema, without those of the schemas in it.
struct OwnElements<'a> {
    members: &'a Map<String, Value>,
    types: Vec<&'a str>,
    pointer: &'a str,
}

impl OwnElements<'_> {
    fn has(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.members.contains_key(*word))
    }

    fn fault(&self, severity: Severity, what: &str, help: &str) -> SchemaFault {
        SchemaFault {
            severity,
            pointer: self.pointer.to_owned(),
            what: what.to_owned(),
            help: help.to_owned(),
        }
    }

    /// Checks the elements that schemas of all types have.
    fn check(&self, place: SchemaPlace, faults: &mut Vec<SchemaFault>) {
        if self.types.is_empty() && !self.has(&["$ref", "$dynamicRef", "oneOf", "anyOf", "allOf"]) {
            faults.push(self.fault(Severity::Error, "`type` is missing", WRITE_TYPE));
        }
        if let Some(unknown) = self.types.iter().find(|name| !TYPES.contains(name)) {
            faults.push(self.fault(Severity::Error, &format!("`{unknown}` is not a type"), WRITE_TYPE));
        }
        let description = self.members.get("description").and_then(Value::as_str).unwrap_or_default();
        if place != SchemaPlace::Part && description.trim().is_empty() {
            let help = "say what the value means, for people and models";
            faults.push(self.fault(Severity::Error, "`description` is missing", help));
        }
        let is_evident = self.has(&["examples", "enum", "const", "properties", "$ref"])
            || self.types == ["boolean"]
            || self.types == ["null"];
        if place == SchemaPlace::Property && !is_evident {
            let help = "add one or two values that callers would send or get";
            faults.push(self.fault(Severity::Warning, "`examples` is missing", help));
        }
    }

    /// Checks the elements that say what objects and arrays contain.
    fn check_members(&self, faults: &mut Vec<SchemaFault>) {
        let properties = self.members.get("properties").and_then(Value::as_object);
        let is_open = |word| self.members.get(word).is_some_and(|value| *value != Value::Bool(false));
        let is_map = is_open("additionalProperties") || is_open("patternProperties");
        let is_object = self.types.contains(&"object");
        if is_object && properties.is_none() && !is_map {
            let help = "describe the members, or set `additionalProperties` if they are free";
            faults.push(self.fault(Severity::Error, "`properties` is missing", help));
        }
        let has_properties = properties.is_some_and(|properties| !properties.is_empty());
        if is_object && has_properties && !self.has(&["required"]) {
            let help = "list the required members; `[]` if none is";
            faults.push(self.fault(Severity::Error, "`required` is missing", help));
        }
        let required = self.members.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if properties.is_some_and(|properties| !properties.contains_key(name)) {
                let what = format!("`required` names `{name}`, which is not a property");
                faults.push(self.fault(Severity::Error, &what, "add the property, or take the name out"));
            }
        }
        if self.types.contains(&"array") && !self.has(&["items", "prefixItems"]) {
            faults.push(self.fault(Severity::Error, "`items` is missing", "add the schema of the elements"));
        }
    }
}

const WRITE_TYPE: &str = "write object, string, integer, number, boolean, array or null";

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
