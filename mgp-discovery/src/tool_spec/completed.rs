//! Schemas of definitions, completed with the elements that specifications demand.

use serde_json::{Map, Value, json};

use super::schema_rules::{member, types};

/// A schema with all elements, and what it was silent about.
#[derive(Debug)]
pub(super) struct CompletedSchema {
    pub(super) schema: Value,
    /// The JSON pointers to the properties without a description.
    pub(super) undescribed: Vec<String>,
}

impl CompletedSchema {
    /// Completes the schema of an object, which `description` describes if the schema does not.
    pub(super) fn new(schema: &Value, description: &str) -> Self {
        let mut completed = Self { schema: schema.clone(), undescribed: Vec::new() };
        let mut root = completed.schema.take();
        if let Some(members) = root.as_object_mut() {
            members.entry("type").or_insert_with(|| json!("object"));
            describe(members, description);
        }
        completed.complete(&mut root, &mut String::new());
        completed.schema = root;
        completed
    }

    /// Adds what says no more than the schema does: the types of any value, an empty list of required members.
    fn complete(&mut self, schema: &mut Value, pointer: &mut String) {
        if *schema == Value::Bool(true) {
            *schema = json!({});
        }
        let Some(members) = schema.as_object_mut() else { return };
        complete_type(members);
        let types: Vec<String> =
            types(&Value::Object(members.clone())).into_iter().map(str::to_owned).collect();
        let is = |name: &str| types.iter().any(|known| known == name);
        if is("object") {
            let is_map =
                ["additionalProperties", "patternProperties"].iter().any(|word| members.contains_key(*word));
            if !members.contains_key("properties") && !is_map {
                members.insert("additionalProperties".to_owned(), json!(true));
            }
            if members
                .get("properties")
                .and_then(Value::as_object)
                .is_some_and(|properties| !properties.is_empty())
            {
                members.entry("required").or_insert_with(|| json!([]));
            }
        }
        if is("array") && !members.contains_key("prefixItems") {
            members.entry("items").or_insert_with(|| json!(true));
        }
        for (word, value) in members {
            let length = pointer.len();
            *pointer = member(pointer, word);
            match (word.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    // A property that may never be there is none.
                    properties.retain(|_, property| *property != Value::Bool(false));
                    for (name, property) in properties {
                        self.below(name, property, pointer);
                        self.describe_property(name, property, pointer);
                    }
                }
                ("patternProperties" | "$defs" | "definitions", Value::Object(all)) => {
                    for (name, part) in all.iter_mut().filter(|(_, part)| part.is_object()) {
                        self.below(name, part, pointer);
                    }
                }
                ("items" | "prefixItems" | "oneOf" | "anyOf" | "allOf", Value::Array(all)) => {
                    for (index, part) in all.iter_mut().enumerate().filter(|(_, part)| part.is_object()) {
                        self.below(&index.to_string(), part, pointer);
                    }
                }
                ("items" | "additionalProperties", part @ Value::Object(_)) => self.complete(part, pointer),
                _ => {}
            }
            pointer.truncate(length);
        }
    }

    /// Completes the schema that has this name below what `pointer` leads to.
    fn below(&mut self, name: &str, schema: &mut Value, pointer: &mut String) {
        let length = pointer.len();
        *pointer = member(pointer, name);
        self.complete(schema, pointer);
        pointer.truncate(length);
    }

    fn describe_property(&mut self, name: &str, property: &mut Value, pointer: &str) {
        let Some(members) = property.as_object_mut() else { return };
        let title = members.get("title").and_then(Value::as_str).map(str::to_owned);
        if describe(members, &title.unwrap_or_else(|| in_words(name))) {
            self.undescribed.push(member(pointer, name));
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
