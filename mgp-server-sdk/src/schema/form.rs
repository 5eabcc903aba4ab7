//! Forms for elicitation, made from the schemas of types.

use mgp_types::mcp::FormSchema;
use mgp_types::{Error, RawJson};
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::read_by;

/// Returns the form whose fields are those of `T`: a flat object of texts, numbers, booleans and choices.
pub(crate) fn form_of<T: JsonSchema>() -> Result<FormSchema, Error> {
    let schema = read_by::<T>().to_value();
    flatten(&schema)
        .and_then(|form| RawJson::from_value(&form).and_then(|form| form.to()).ok())
        .ok_or_else(|| Error::internal("the fields of a form must be texts, numbers, booleans or choices"))
}

fn flatten(schema: &Value) -> Option<Value> {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let mut properties = Map::new();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        properties.insert(name.clone(), field(property, definitions)?);
    }
    let mut form = json!({ "type": "object", "properties": properties });
    if let Some(required) = schema.get("required") {
        form["required"] = required.clone();
    }
    Some(form)
}

/// Returns the schema of one field, with its references replaced by their targets.
fn field(schema: &Value, definitions: Option<&Map<String, Value>>) -> Option<Value> {
    let mut members = schema.as_object()?.clone();
    let target = match (members.remove("$ref"), members.remove("anyOf")) {
        (Some(reference), None) => Some(reference),
        // An optional choice is one of the two.
        (None, Some(Value::Array(either))) => either.iter().find_map(|one| one.get("$ref").cloned()),
        (None, None) => None,
        _ => return None,
    };
    if let Some(target) = target {
        let name = target.as_str()?.strip_prefix("#/$defs/")?;
        for (keyword, value) in definitions?.get(name)?.as_object()? {
            members.entry(keyword.clone()).or_insert_with(|| value.clone());
        }
    }
    if let Some(kinds) = members.get("type").and_then(Value::as_array) {
        let kind = kinds.iter().find(|kind| *kind != "null")?.clone();
        members.insert("type".into(), kind);
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
    if let Some(choices) = members.remove("oneOf") {
        members.insert("type".into(), "string".into());
        if let Some(choices) = titled(&choices) {
            members.insert("oneOf".into(), choices);
        } else {
            members.insert("enum".into(), plain(&choices)?);
        }
    }
    match members.get("type").and_then(Value::as_str)? {
        "string" | "boolean" => {}
        "number" | "integer" => _ = members.remove("format"),
        "array" => {
            let items = field(members.get("items")?, definitions)?;
            let items = match items.get("oneOf") {
                Some(choices) => json!({ "anyOf": choices }),
                None => items,
            };
            members.insert("items".into(), items);
        }
        _ => return None,
    }
    Some(Value::Object(members))
}

/// Returns choices with a name for people, which is the first line that documents each.
fn titled(choices: &Value) -> Option<Value> {
    let choices = choices.as_array()?.iter().map(|choice| {
        let title = choice.get("title").or_else(|| choice.get("description"))?;
        Some(json!({ "const": choice.get("const")?, "title": title }))
    });
    choices.collect()
}

/// Returns choices without a name.
fn plain(choices: &Value) -> Option<Value> {
    let mut values = Vec::new();
    for choice in choices.as_array()? {
        match (choice.get("const"), choice.get("enum").and_then(Value::as_array)) {
            (Some(value), _) => values.push(value.clone()),
            (None, Some(several)) => values.extend(several.iter().cloned()),
            (None, None) => return None,
        }
    }
    Some(Value::Array(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Profile {
        /// What to call you.
        name: String,
        age: Option<u8>,
        #[schemars(range(min = 0.0, max = 100.0))]
        score: f64,
        status: Option<Status>,
        agreed: bool,
        colours: Vec<Status>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema matters")]
    enum Status {
        Active,
        Inactive,
    }

    #[test]
    fn fields_become_flat_schemas() {
        let form = RawJson::from_value(&form_of::<Profile>().unwrap()).unwrap();
        let form: Value = form.to().unwrap();
        let fields = &form["properties"];
        assert_eq!(fields["name"], json!({"type": "string", "description": "What to call you."}));
        assert_eq!(fields["age"]["type"], "integer");
        assert_eq!(fields["score"]["maximum"].as_f64(), Some(100.0));
        assert_eq!(fields["status"], json!({"type": "string", "enum": ["active", "inactive"]}));
        assert_eq!(fields["agreed"], json!({"type": "boolean"}));
        assert_eq!(fields["colours"]["items"], json!({"type": "string", "enum": ["active", "inactive"]}));
        assert_eq!(form["required"], json!(["name", "score", "agreed", "colours"]));
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Nested {
        inner: Profile,
    }

    #[test]
    fn a_nested_object_is_no_field() {
        assert!(form_of::<Nested>().is_err());
    }
}
