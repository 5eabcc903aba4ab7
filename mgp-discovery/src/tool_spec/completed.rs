//! Schemas of definitions, completed with the elements that specifications demand.

use serde_json::{Map, Value, json};

use super::schema_rules::{SchemaPlace, last_name, parts};

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
    let has = |word| members.contains_key(word);
    let is_free = !["properties", "additionalProperties", "patternProperties"].into_iter().any(has);
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
    let refers = ["type", "$ref", "$dynamicRef", "oneOf", "anyOf", "allOf"];
    if refers.iter().any(|word| members.contains_key(*word)) {
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
