//! Bodies read from arbitrary JSON: no panic, and a body that was read is written so that it reads the same.

use mgp_types::mcp::{
    Answer, CallToolResult, CompleteParams, CreateMessageParams, ElicitParams, ForRevision, GetPromptResult,
    InitializeParams, ListToolsResult, task_extension,
};
use mgp_types::{Object, Revision};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

proptest! {
    #[test]
    fn whatever_is_read_is_written_so_that_it_reads_the_same(json in object()) {
        check::<Answer<CallToolResult>>(&json)?;
        check::<Answer<GetPromptResult>>(&json)?;
        check::<ListToolsResult>(&json)?;
        check::<InitializeParams>(&json)?;
        check::<CreateMessageParams>(&json)?;
        check::<ElicitParams>(&json)?;
        check::<CompleteParams>(&json)?;
        check::<task_extension::DetailedTask>(&json)?;
    }

    #[test]
    fn a_result_around_arbitrary_parts_is_read_or_refused(block in object(), extra in value()) {
        let json = format!(r#"{{"content":[{block}],"x":{extra},"_meta":{block}}}"#);
        check::<Answer<CallToolResult>>(&json)?;
        let json = format!(r#"{{"messages":[{{"role":"user","content":{block}}}],"maxTokens":1,"tools":[{block}]}}"#);
        check::<CreateMessageParams>(&json)?;
        let json = format!(r#"{{"message":"","requestedSchema":{{"type":"object","properties":{block}}}}}"#);
        check::<ElicitParams>(&json)?;
    }
}

fn check<T>(json: &str) -> Result<(), TestCaseError>
where
    T: Serialize + DeserializeOwned + ForRevision + Clone + PartialEq + std::fmt::Debug,
{
    // Frames are scanned before their bodies are read; the scan refuses names repeated at any depth.
    if Object::parse(json.to_owned()).is_err() {
        return Ok(());
    }
    let Ok(body) = serde_json::from_str::<T>(json) else { return Ok(()) };
    let written = serde_json::to_string(&body)?;
    prop_assert_eq!(&serde_json::from_str::<T>(&written)?, &body);
    prop_assert!(Object::parse(written).is_ok());
    for revision in Revision::ALL {
        let once = body.clone().for_revision(revision);
        prop_assert_eq!(&once.clone().for_revision(revision), &once);
    }
    Ok(())
}

/// JSON values whose members and texts are often those of the specification.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        proptest::sample::select(LEAVES).prop_map(str::to_owned),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("JSON has no such number", |number| number.is_finite())
            .prop_map(|number| format!("{number:?}")),
    ];
    leaf.prop_recursive(4, 48, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            members(inner),
        ]
    })
}

fn object() -> impl Strategy<Value = String> {
    members(value())
}

fn members(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let names = proptest::sample::subsequence(NAMES, 0..12).prop_shuffle();
    (names, proptest::collection::vec(value, 12)).prop_map(|(names, values)| {
        let members: Vec<String> =
            names.iter().zip(values).map(|(name, value)| format!(r#""{name}":{value}"#)).collect();
        format!("{{{}}}", members.join(","))
    })
}

const LEAVES: &[&str] = &[
    "null", "true", "false", "0", "1.0", r#""""#, r#""text""#, r#""image""#, r#""audio""#, r#""resource""#,
    r#""resource_link""#, r#""tool_use""#, r#""tool_result""#, r#""object""#, r#""string""#, r#""array""#,
    r#""number""#, r#""user""#, r#""complete""#, r#""input_required""#, r#""task""#, r#""form""#, r#""url""#,
    r#""ref/prompt""#, r#""elicitation/create""#, r#""roots/list""#, r#""working""#, r#""a\nb""#,
];

const NAMES: &[&str] = &[
    "type", "text", "data", "mimeType", "uri", "name", "title", "content", "structuredContent", "isError",
    "resultType", "messages", "role", "tools", "inputSchema", "outputSchema", "annotations", "icons", "src",
    "_meta", "capabilities", "clientInfo", "protocolVersion", "version", "mode", "message",
    "requestedSchema", "properties", "required", "enum", "oneOf", "items", "ref", "argument", "value",
    "inputRequests", "method", "params", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs",
    "maxTokens", "id", "input", "toolUseId", "resource", "x", "a\\nb", "n\\u0061me",
];
