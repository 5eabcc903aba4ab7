//! The OpenAPI 3.0 document of the paths by which tools are called over plain HTTP.
//!
//! Its schemas are of an older and smaller dialect of JSON Schema.

use serde_json::{Map, Value, json};

use super::ListedTool;
use crate::names::UniqueNames;
use crate::tool_spec::schema_rules::types;

/// Returns the OpenAPI document of `tools`, in the order of their names.
///
/// Besides `/tools/{tool_name}`, which serves every tool, each tool has a path with the schemas of its own arguments and
/// of its result, so that generated clients have types. `title` and `version` are those of the server.
#[expect(clippy::missing_panics_doc, reason = "the file is part of the program")]
pub fn openapi(title: &str, version: &str, tools: &[ListedTool]) -> Value {
    let mut document: Value =
        serde_json::from_str(include_str!("openapi.json")).expect("the file is part of the program");
    document["info"] = json!({ "title": title, "version": version });
    let generic = document["paths"]["/tools/{tool_name}"].clone();
    let mut tools: Vec<_> = tools.iter().collect();
    tools.sort_by_key(|tool| tool.name());
    let mut operations = UniqueNames::default();
    operations.name("invoke_tool", "_");
    for tool in tools {
        let name = tool.name();
        if is_path_segment(&name) {
            let id = operations.name(&operation_id(&name), "_");
            document["paths"][format!("/tools/{name}")] = tool_path(tool, &id, generic.clone());
        }
    }
    document
}

/// Returns whether a name stands in a path as it is.
fn is_path_segment(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// Returns the path of one tool, made of the path that serves every tool.
fn tool_path(tool: &ListedTool, operation_id: &str, mut path: Value) -> Value {
    let description = tool.description();
    let summary: String = description.lines().next().unwrap_or_default().chars().take(120).collect();
    let operation = &mut path["post"];
    operation["operationId"] = operation_id.into();
    operation["summary"] = if summary.is_empty() { tool.name() } else { summary }.into();
    operation["description"] = description.into();
    operation["tags"] = json!([&*tool.server]);
    operation["parameters"] = json!([{ "$ref": "#/components/parameters/IdempotencyKey" }]);
    let input = tool.input_schema().to::<Value>().unwrap_or_else(|_| json!({ "type": "object" }));
    operation["requestBody"]["content"]["application/json"]["schema"] = openapi_schema(&input);
    let output = tool.definition.get("outputSchema").and_then(|schema| schema.to::<Value>().ok());
    if let Some(output) = output.filter(|schema| schema["type"] == "object") {
        operation["responses"]["200"]["content"]["application/json"]["schema"] = openapi_schema(&output);
    }
    path
}

/// Returns the id of an operation, which generated clients make names of, before it is made unique.
fn operation_id(tool: &str) -> String {
    tool.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// The deepest nesting of a schema that is translated; what lies deeper allows any value.
const MAX_DEPTH: usize = 32;

/// Returns `schema` in the words of OpenAPI 3.0.
///
/// A demand that these words cannot say is left out, so more values are allowed than by the schema, never fewer: the server
/// checks every call itself. References within the schema are replaced by what they name; one that leads elsewhere, or back to where it
/// stands, allows any value.
fn openapi_schema(schema: &Value) -> Value {
    translated(schema, schema, MAX_DEPTH)
}

fn translated(schema: &Value, root: &Value, depth: usize) -> Value {
    let members = match schema {
        Value::Bool(false) => return json!({ "not": {} }),
        Value::Object(members) if depth > 0 => members,
        _ => return json!({}),
    };
    if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(|| json!({}), |target| translated(target, root, depth / 2));
    }
    let inner = |schema: &Value| translated(schema, root, depth - 1);
    let mut out = Map::new();
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("title" | "description" | "pattern" | "format", Value::String(_))
            | (
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
                | "multipleOf" | "minimum" | "maximum",
                Value::Number(_),
            )
            | (
                "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" | "additionalProperties",
                Value::Bool(_),
            )
            | ("default", _) => {
                out.insert(keyword.clone(), value.clone());
            }
            ("required" | "enum", Value::Array(values)) if !values.is_empty() => {
                out.insert(keyword.clone(), value.clone());
                if keyword == "enum" && values.contains(&Value::Null) {
                    out.insert("nullable".into(), true.into());
                }
            }
            ("const", value) => _ = out.insert("enum".into(), json!([value])),
            ("exclusiveMinimum", Value::Number(_)) => set_exclusive(&mut out, "minimum", keyword, value),
            ("exclusiveMaximum", Value::Number(_)) => set_exclusive(&mut out, "maximum", keyword, value),
            ("examples", Value::Array(examples)) => {
                if let Some(example) = examples.first() {
                    out.insert("example".into(), example.clone());
                }
            }
            ("properties", Value::Object(properties)) => {
                let properties = properties.iter().map(|(name, schema)| (name.clone(), inner(schema)));
                out.insert(keyword.clone(), Value::Object(properties.collect()));
            }
            ("additionalProperties" | "items" | "not", Value::Object(_)) => {
                out.insert(keyword.clone(), inner(value));
            }
            ("allOf" | "oneOf" | "anyOf", Value::Array(schemas)) if !schemas.is_empty() => {
                set_choice(&mut out, keyword, schemas, inner);
            }
            _ => {}
        }
    }
    set_type(&mut out, schema);
    settle_null(&mut out);
    Value::Object(out)
}

/// Gives a schema that allows `null` the type that `nullable` needs beside it: that of all its choices. Where they differ,
/// the schema allows any value.
fn settle_null(out: &mut Map<String, Value>) {
    if !out.contains_key("nullable") || out.contains_key("type") {
        return;
    }
    let type_of = |schema: &Value| schema.get("type").cloned();
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|name| out.get(name)?.as_array());
    let mut types: Vec<_> = choices.flatten().map(type_of).collect();
    types.dedup();
    if let [Some(kind)] = types.as_slice() {
        out.insert("type".into(), kind.clone());
    } else {
        out.retain(|keyword, _| matches!(keyword.as_str(), "title" | "description" | "default" | "example"));
    }
}

fn set_exclusive(out: &mut Map<String, Value>, bound: &str, keyword: &str, value: &Value) {
    out.insert(bound.into(), value.clone());
    out.insert(keyword.into(), true.into());
}

/// Sets a choice between schemas. A choice of "nothing" becomes `nullable`, because there is no such type.
fn set_choice(
    out: &mut Map<String, Value>,
    keyword: &str,
    schemas: &[Value],
    inner: impl Fn(&Value) -> Value,
) {
    let is_null = |schema: &&Value| schema.get("type").and_then(Value::as_str) == Some("null");
    let some: Vec<Value> = schemas.iter().filter(|schema| !is_null(schema)).map(&inner).collect();
    if keyword != "allOf" && some.len() < schemas.len() {
        out.insert("nullable".into(), true.into());
    }
    match some.as_slice() {
        [] => {}
        // `nullable` counts only beside a type, and a single choice brings its own.
        [Value::Object(only)] if keyword != "allOf" => {
            for (name, value) in only {
                out.entry(name).or_insert_with(|| value.clone());
            }
        }
        _ => _ = out.insert(keyword.into(), Value::Array(some)),
    }
}

/// Sets the type. OpenAPI knows one type for a schema, so several become a choice.
fn set_type(out: &mut Map<String, Value>, schema: &Value) {
    let types = types(schema);
    if types.contains(&"null") {
        out.insert("nullable".into(), true.into());
    }
    let types: Vec<&str> = types.into_iter().filter(|kind| *kind != "null").collect();
    match *types.as_slice() {
        [] => {}
        [one] => _ = out.insert("type".into(), one.into()),
        _ => {
            let choices = types.iter().map(|kind| openapi_schema(&json!({ "type": kind }))).collect();
            out.entry("anyOf").or_insert(Value::Array(choices));
        }
    }
    // A list without a schema for its elements is not valid there.
    if out.get("type").and_then(Value::as_str) == Some("array") {
        out.entry("items").or_insert_with(|| json!({}));
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::Object;

    use super::*;

    fn tool(definition: &Value) -> ListedTool {
        ListedTool {
            server: "s".into(),
            definition: Object::parse(definition.to_string()).unwrap(),
            tags: Vec::new(),
        }
    }

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    found.push(reference.clone());
                }
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    // covers: GGEN-4-05
    #[test]
    fn every_reference_of_the_document_leads_somewhere() {
        let tools = [
            tool(&json!({"name": "add", "description": "Adds.\nTwice.", "inputSchema": {
                "type": "object", "properties": {"a": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"type": "number"}}}})),
            tool(
                &json!({"name": "Add", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}}}),
            ),
            tool(&json!({"name": "a/b", "inputSchema": {"type": "object"}})),
        ];
        let document = openapi("mgp", "1.0.0", &tools);
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 20);
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("references stay in the document");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        let mut paths: Vec<_> = document["paths"].as_object().unwrap().keys().cloned().collect();
        paths.sort();
        assert_eq!(paths, ["/tools/Add", "/tools/add", "/tools/{tool_name}"]);
        let post = &document["paths"]["/tools/{tool_name}"]["post"];
        assert_eq!(post["summary"], "Invoke a tool");
        assert_eq!(post["responses"]["409"]["$ref"], "#/components/responses/Conflict");
        for path in ["/tools/{tool_name}", "/tools/add"] {
            let parameters = &document["paths"][path]["post"]["parameters"];
            let last = parameters.as_array().unwrap().last().unwrap()["$ref"].as_str().unwrap();
            let parameter = document.pointer(last.strip_prefix('#').unwrap()).unwrap();
            assert_eq!(
                (&parameter["in"], &parameter["name"]),
                (&json!("header"), &json!("X-Idempotency-Key"))
            );
        }
        assert_eq!(post["responses"]["404"]["$ref"], "#/components/responses/NotFound");
        let add = &document["paths"]["/tools/add"]["post"];
        assert_eq!((&add["summary"], &add["operationId"]), (&json!("Adds."), &json!("add_2")));
        let schema = &add["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(schema["properties"]["a"], json!({"type": "number"}));
        let output =
            &document["paths"]["/tools/Add"]["post"]["responses"]["200"]["content"]["application/json"];
        assert_eq!(output["schema"]["properties"]["sum"], json!({"type": "number"}));
    }

    #[test]
    fn each_word_that_openapi_lacks_is_said_otherwise_or_left_out() {
        for (schema, expected) in [
            (json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true})),
            (
                json!({"type": ["string", "array"]}),
                json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}),
            ),
            (json!({"const": 3}), json!({"enum": [3]})),
            (
                json!({"type": "number", "exclusiveMinimum": 0}),
                json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
            ),
            (json!({"type": "array"}), json!({"type": "array", "items": {}})),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}]}),
                json!({"type": "array", "items": {}}),
            ),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
                json!({"type": "integer", "nullable": true}),
            ),
            (json!({"examples": ["a", "b"], "$schema": "x", "if": {}, "x-y": 1}), json!({"example": "a"})),
            (json!({"required": [], "properties": {"a": true}}), json!({"properties": {"a": {}}})),
            (
                json!({"oneOf": [{"const": "a", "type": "string"}, {"type": "null"}, {"type": "string"}]}),
                json!({"oneOf": [{"enum": ["a"], "type": "string"}, {"type": "string"}], "nullable": true, "type": "string"}),
            ),
            (json!({"description": "d", "type": ["string", "integer", "null"]}), json!({"description": "d"})),
            (json!(false), json!({"not": {}})),
            (json!(true), json!({})),
        ] {
            assert_eq!(openapi_schema(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn references_are_replaced_by_what_they_name_and_circles_end() {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}, "far": {"$ref": "https://example.com/x"}},
            "$defs": {"A": {"type": "string", "minLength": 1}},
        });
        let expected = json!({"a": {"type": "string", "minLength": 1}, "far": {}});
        assert_eq!(openapi_schema(&schema)["properties"], expected);
        let circle = json!({"properties": {"next": {"$ref": "#"}}});
        assert!(openapi_schema(&circle).to_string().len() < 2_000);
    }
}
