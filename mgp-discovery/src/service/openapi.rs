//! The OpenAPI 3.0 document of the paths by which tools are called over plain HTTP.

use serde_json::{Map, Value, json};

use super::ListedTool;
use super::openapi_schema::openapi_schema;
use crate::names::UniqueNames;

/// Returns the OpenAPI document of `tools`, in the order of their names.
///
/// Besides `/tools/{tool_name}`, which serves every tool, each tool has a path with the schemas of its own arguments and
/// of its result, so that generated clients have types. `title` and `version` are those of the server.
pub fn openapi(title: &str, version: &str, tools: &[ListedTool]) -> Value {
    let mut paths = Map::new();
    paths.insert("/tools/{tool_name}".into(), generic_path());
    let mut tools: Vec<_> = tools.iter().collect();
    tools.sort_by_key(|tool| tool.name());
    let mut operations = UniqueNames::default();
    operations.name("invoke_tool", "_");
    for tool in tools {
        let name = tool.name();
        if is_path_segment(&name) {
            paths.insert(
                format!("/tools/{name}"),
                tool_path(tool, &operations.name(&operation_id(&name), "_")),
            );
        }
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": title, "version": version },
        "servers": [{ "url": "/" }],
        "security": [{}, { "bearer": [] }],
        "paths": paths,
        "components": components(),
    })
}

/// Returns whether a name stands in a path as it is.
fn is_path_segment(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

fn generic_path() -> Value {
    json!({ "post": {
        "operationId": "invoke_tool",
        "summary": "Invoke a tool",
        "parameters": [{
            "name": "tool_name",
            "in": "path",
            "required": true,
            "description": "The name of the tool, as the catalog lists it.",
            "schema": { "type": "string" },
        }, { "$ref": IDEMPOTENCY_KEY }],
        "requestBody": body(&json!({ "$ref": "#/components/schemas/ToolInput" })),
        "responses": responses(&json!({ "$ref": "#/components/schemas/ToolOutput" })),
    }})
}

fn tool_path(tool: &ListedTool, operation_id: &str) -> Value {
    let schema = |member: &str| tool.definition.get(member).and_then(|schema| schema.to::<Value>().ok());
    let input = tool.input_schema().to::<Value>().unwrap_or_else(|_| json!({ "type": "object" }));
    let output = schema("outputSchema").filter(|schema| schema["type"] == "object");
    let output = output.map_or_else(
        || json!({ "$ref": "#/components/schemas/ToolOutput" }),
        |schema| openapi_schema(&schema),
    );
    let description = tool.description();
    let summary: String = description.lines().next().unwrap_or_default().chars().take(120).collect();
    json!({ "post": {
        "operationId": operation_id,
        "summary": if summary.is_empty() { tool.name() } else { summary },
        "description": description,
        "tags": [&*tool.server],
        "parameters": [{ "$ref": IDEMPOTENCY_KEY }],
        "requestBody": body(&openapi_schema(&input)),
        "responses": responses(&output),
    }})
}

const IDEMPOTENCY_KEY: &str = "#/components/parameters/IdempotencyKey";

fn body(schema: &Value) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}

fn responses(output: &Value) -> Value {
    let mut responses = json!({ "200": {
        "description": "Tool execution successful",
        "content": { "application/json": { "schema": output } },
    }});
    for (status, name, _) in ERRORS {
        responses[status] = json!({ "$ref": format!("#/components/responses/{name}") });
    }
    responses
}

/// The statuses of errors, with the names of their responses and what they mean.
const ERRORS: [(&str, &str, &str); 12] = [
    ("400", "ValidationError", "The arguments do not fit the tool."),
    ("401", "AuthenticationError", "The caller did not prove who it is."),
    ("403", "AuthorizationError", "The caller may not call the tool, or not with these arguments."),
    ("404", "NotFound", "There is no such tool."),
    (
        "409",
        "Conflict",
        "The key of the call belongs to a call with other arguments, or that call still runs.",
    ),
    ("413", "TooLarge", "The arguments are too long."),
    ("415", "NotJson", "The body does not say that it is JSON."),
    ("422", "ToolFailure", "The tool says that it failed."),
    ("429", "RateLimited", "The caller sent too many requests, or used up a quota."),
    ("500", "ToolExecutionError", "The call broke."),
    ("503", "Unavailable", "The server of the tool cannot be reached now."),
    ("504", "Timeout", "The tool took too long."),
];

fn components() -> Value {
    let error = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } });
    let responses: Map<String, Value> = ERRORS
        .iter()
        .map(|(_, name, meaning)| ((*name).into(), json!({ "description": meaning, "content": error })))
        .collect();
    json!({
        "schemas": {
            "ToolInput": {
                "type": "object",
                "description": "The arguments of the tool, by the names of its parameters.",
                "additionalProperties": true,
            },
            "ToolOutput": {
                "type": "object",
                "description": "The structured result of the tool; `content` with its blocks where it has none.",
                "additionalProperties": true,
            },
            "Error": {
                "type": "object",
                "required": ["error"],
                "properties": { "error": {
                    "type": "object",
                    "required": ["message", "error_type", "reason", "trace_id", "suggestions"],
                    "properties": {
                        "code": { "type": "string", "description": "The word for the error." },
                        "message": { "type": "string" },
                        "category": { "type": "string" },
                        "error_type": { "type": "string" },
                        "field": { "type": "string", "description": "The argument that is wrong." },
                        "reason": { "type": "string" },
                        "trace_id": { "type": "string", "description": "The id of the request in the record." },
                        "suggestions": { "type": "array", "items": { "type": "string" } },
                        "retry_after_seconds": { "type": "integer", "minimum": 0 },
                        "documentation_url": { "type": "string", "format": "uri" },
                    },
                    "additionalProperties": true,
                }},
            },
        },
        "responses": responses,
        "parameters": { "IdempotencyKey": {
            "name": "X-Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "A call with a key is carried out once: another one with the same key gets the result of the first.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9_.:-]+$" },
        }},
        "securitySchemes": { "bearer": {
            "type": "http",
            "scheme": "bearer",
            "description": "A key of `mgp keys new`. On the loopback address none is needed unless it is required.",
        }},
    })
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
