use mgp_types::{Object, RawJson};

/// An argument that a tool takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Parameter {
    /// Its name.
    pub(crate) name: String,
    /// What it means; may be empty.
    pub(crate) description: String,
}

/// The arguments that a JSON Schema describes, those within others after them.
pub(super) fn of(schema: &RawJson) -> Vec<Parameter> {
    let mut found = Vec::new();
    collect(schema, 0, &mut found);
    found
}

fn collect(schema: &RawJson, depth: usize, found: &mut Vec<Parameter>) {
    let Ok(schema) = Object::from_raw(schema) else { return };
    let mut inner = Vec::new();
    if let Some(properties) = schema.get("properties").and_then(|raw| Object::from_raw(&raw).ok()) {
        for (name, property) in properties.iter() {
            if found.len() == MOST {
                return;
            }
            let description = Object::from_raw(&property)
                .ok()
                .and_then(|members| members.text("description").map(Into::into))
                .unwrap_or_default();
            found.push(Parameter { name: name.into_owned(), description });
            inner.push(property);
        }
    }
    inner.extend(schema.get("items"));
    if depth < DEEPEST {
        for schema in &inner {
            collect(schema, depth + 1, found);
        }
    }
}

/// More arguments than this say nothing more of what a tool is for.
const MOST: usize = 64;

const DEEPEST: usize = 3;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(schema: &serde_json::Value) -> Vec<String> {
        of(&RawJson::from_value(schema).unwrap()).into_iter().map(|parameter| parameter.name).collect()
    }

    #[test]
    fn arguments_are_found_within_objects_and_lists() {
        let schema = r#"{ "type": "object", "properties": {
            "to": { "type": "array", "items": { "properties": { "address": { "type": "string" } } } },
            "subject": { "type": "string", "description": "One line" }
        } }"#;
        let found = of(&RawJson::parse(schema).unwrap());
        let names: Vec<&str> = found.iter().map(|parameter| parameter.name.as_str()).collect();
        assert_eq!(names, ["to", "subject", "address"]);
        assert_eq!(found[1].description, "One line");
    }

    #[test]
    fn nonsense_has_no_arguments_and_there_is_an_end_to_them() {
        assert!(names(&json!({ "properties": [1, 2] })).is_empty());
        assert!(names(&json!(true)).is_empty());
        let many: serde_json::Map<_, _> = (0..1000).map(|n| (format!("p{n}"), json!({}))).collect();
        assert_eq!(names(&json!({ "properties": many })).len(), MOST);
    }
}
