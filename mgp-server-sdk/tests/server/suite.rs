//! The required tests of the JSON Schema Test Suite, asked over a connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::peer::{Era, Peer};
use mgp_server_sdk::{RawJson, Server, Tool};
use serde_json::{Value, json};

/// Returns whether the text of a schema refers to a schema elsewhere, which is never fetched.
fn leads_elsewhere(schema: &str) -> bool {
    ["http://localhost:1234", r#""$ref":"http://json-schema.org/draft-07/schema#""#]
        .iter()
        .any(|elsewhere| schema.contains(elsewhere))
}

/// Returns a schema of arguments whose member `x` is of this schema.
fn around(schema: &Value, dialect: &str) -> RawJson {
    let text = schema.to_string();
    let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or(dialect);
    let is_root = |word: &&str| text.contains(*word);
    let around = if ["$ref", "$id", "$anchor", "$dynamicRef", "$defs", "localhost"].iter().any(is_root) {
        // References lead from the root of the schema, so it stays a root within the other.
        let mut case = schema.clone();
        let id =
            case.as_object_mut().unwrap().entry("$id").or_insert("https://suite.example/case".into()).clone();
        let definitions = if dialect.contains("draft-07") { "definitions" } else { "$defs" };
        json!({
            "$schema": dialect, "type": "object", "properties": {"x": {"$ref": id}}, definitions: {"case": case},
        })
    } else {
        json!({"$schema": dialect, "type": "object", "properties": {"x": schema}})
    };
    RawJson::from_value(&around).unwrap()
}

/// Runs the tests, and returns how many there were.
async fn run(suite: &str, dialect: &str) -> usize {
    let suite: BTreeMap<String, Vec<Value>> = serde_json::from_str(suite).unwrap();
    let (mut tests, mut wrong) = (0, Vec::new());
    for (file, group) in suite.iter().flat_map(|(file, groups)| groups.iter().map(move |group| (file, group)))
    {
        let schema = &group["schema"];
        let server = Server::new("suite", "1")
            .tool(Tool::with_schema("case", "A case.", around(schema, dialect)), async |_: RawJson| ())
            .offer_validation();
        let accept = match server.accept() {
            Ok(accept) => accept,
            Err(_) if leads_elsewhere(&schema.to_string()) => continue,
            Err(error) => {
                wrong.push(format!("{file}: {}: {error}", group["description"]));
                continue;
            }
        };
        let mut peer = Peer::connect(&accept, Era::Session, json!({}), Arc::new(|_, _| json!({}))).await;
        for test in group["tests"].as_array().unwrap() {
            tests += 1;
            let params = json!({"name": "case", "arguments": {"x": test[0]}});
            let result = peer.call("tools/validate", params).await.unwrap();
            // The suite takes a format for a remark, as 2020-12 does. Arguments have to have theirs.
            let is_format =
                result["errors"].as_array().unwrap().iter().all(|error| error["keyword"] == "format");
            if result["valid"] != test[1] && !(file == "format" && is_format) {
                wrong.push(format!("{file}: {}: {} {result}", group["description"], test[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    tests
}

// covers: GGEN-8.2-01
#[tokio::test]
async fn required_tests_of_2020_12_pass() {
    let tests =
        run(include_str!("suite/draft2020-12.json"), "https://json-schema.org/draft/2020-12/schema").await;
    assert!(tests > 1200, "{tests}");
}

// covers: GGEN-8.2-01
#[tokio::test]
async fn required_tests_of_draft_7_pass() {
    let tests = run(include_str!("suite/draft7.json"), "http://json-schema.org/draft-07/schema#").await;
    assert!(tests > 850, "{tests}");
}
