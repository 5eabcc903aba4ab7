//! The elements that each schema of a specification has to have: looked for, and completed.

use serde_json::{Map, Value, json};

use crate::config::Severity;

/// The place of a schema in another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaPlace {
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
fn parts<'a>(pointer: &str, schema: &'a mut Map<String, Value>) -> Vec<(String, SchemaPlace, &'a mut Value)> {
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
    for name in texts(members.get("required")) {
        if properties.is_some_and(|properties| !properties.contains_key(name)) {
            fault(Severity::Error, &format!("`required` names `{name}`, which is not a property"));
        }
    }
    if types.contains(&"array") && !has(members, &["items", "prefixItems"]) {
        fault(Severity::Error, "`items` is missing");
    }
}

/// Returns the types that a schema names.
pub(crate) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        names => texts(names),
    }
}

/// Returns the texts in a list; none of any other value.
pub(super) fn texts(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The types of JSON Schema.
pub(super) const TYPES: [&str; 7] = ["object", "string", "integer", "number", "boolean", "array", "null"];

/// Returns the schema of an object with all elements, and the JSON pointers to the properties that it does not describe.
/// The object itself is described by `description` if the schema does not do so.
pub(super) fn completed(schema: &Value, description: &str) -> (Value, Vec<String>) {
    let (mut root, mut undescribed) = (schema.clone(), Vec::new());
    if let Some(members) = root.as_object_mut() {
        members.entry("type").or_insert_with(|| json!("object"));
        describe(members, description);
    }
    complete(&mut root, "", &mut undescribed);
    (root, undescribed)
}

/// Adds what says no more than the schema does: the types of any value, an empty list of required members.
fn complete(schema: &mut Value, pointer: &str, undescribed: &mut Vec<String>) {
    let Some(members) = schema.as_object_mut() else { return };
    complete_type(members);
    let kind = members.get("type").cloned().unwrap_or_default();
    let is = |name: &str| kind == name || kind.as_array().is_some_and(|all| all.iter().any(|it| it == name));
    if let Some(properties) = members.get_mut("properties").and_then(Value::as_object_mut) {
        // A property that may never be there is none.
        properties.retain(|_, property| *property != Value::Bool(false));
    }
    let is_free = !has(members, &["properties", "additionalProperties", "patternProperties"]);
    let properties = members.get("properties").and_then(Value::as_object);
    let has_properties = properties.is_some_and(|properties| !properties.is_empty());
    if is("object") && is_free {
        members.insert("additionalProperties".to_owned(), json!(true));
    }
    if is("object") && has_properties {
        members.entry("required").or_insert_with(|| json!([]));
    }
    if is("array") && !members.contains_key("prefixItems") {
        members.entry("items").or_insert_with(|| json!(true));
    }
    for (pointer, place, part) in parts(pointer, members) {
        let is_property = place == SchemaPlace::Property;
        if is_property && *part == Value::Bool(true) {
            *part = json!({});
        }
        complete(part, &pointer, undescribed);
        if let Some(members) = part.as_object_mut().filter(|_| is_property) {
            let title = members.get("title").and_then(Value::as_str).map(str::to_owned);
            if describe(members, &title.unwrap_or_else(|| in_words(&last_name(&pointer)))) {
                undescribed.push(pointer);
            }
        }
    }
}

/// Adds the type that follows from the other keywords, or else all types.
fn complete_type(members: &mut Map<String, Value>) {
    if has(members, &["type", "$ref", "$dynamicRef", "oneOf", "anyOf", "allOf"]) {
        return;
    }
    let values = members.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let values = values.or_else(|| members.get("const").map(std::slice::from_ref)).unwrap_or_default();
    let mut names: Vec<&str> = values.iter().map(type_of).collect();
    names.sort_unstable();
    names.dedup();
    let kind = match names.as_slice() {
        [] if members.contains_key("properties") => json!("object"),
        [] if members.contains_key("items") => json!("array"),
        [] => json!(["object", "string", "number", "boolean", "array", "null"]),
        [name] => json!(name),
        names => json!(names),
    };
    members.insert("type".to_owned(), kind);
}

/// Adds a description if there is none, and returns whether there was none.
fn describe(members: &mut Map<String, Value>, description: &str) -> bool {
    let is_described =
        members.get("description").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    if !is_described {
        // Beside the type, where people write it.
        let (first, rest): (Vec<_>, Vec<_>) =
            std::mem::take(members).into_iter().partition(|(name, _)| name == "$schema" || name == "type");
        members.extend(first);
        members.insert("description".to_owned(), json!(description));
        members.extend(rest);
    }
    !is_described
}

/// Returns a name as words: `city_name` becomes "City name".
fn in_words(name: &str) -> String {
    let words = name.replace(['_', '-', '.'], " ");
    let mut characters = words.trim().chars();
    characters
        .next()
        .map_or_else(|| name.to_owned(), |first| first.to_uppercase().chain(characters).collect())
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
