//! The OpenAPI 3.0 document of the paths by which tools are called over plain HTTP.

use serde_json::{Value, json};

use super::ListedTool;
use super::openapi_schema::openapi_schema;
use crate::names::UniqueNames;

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
}
