//! The values of envelopes: what a server answers in them, and what it takes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::peer::{Era, Peer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mgp_server_sdk::mcp::{CallToolResult, ContentBlock, ImageContent, Meta};
use mgp_server_sdk::schemars::{self, JsonSchema};
use mgp_server_sdk::types::ext::{
    EnvelopeReading, ErrorDetail, ErrorType, ExtensionId, ResultStatus, ToolCall, ToolResult,
};
use mgp_server_sdk::types::mgp::Timestamp;
use mgp_server_sdk::{Json, Object, RawJson, Server, Tool, ToolError, base64};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Calls a tool of the server in this process, with the JSON of an envelope.
async fn call(server: Server, json: impl Into<Vec<u8>>) -> ToolResult {
    let mut tools = server.into_envelopes("test").await.unwrap();
    match ToolCall::from_json(json.into(), EnvelopeReading::Strict) {
        Ok(call) => tools.call(&call).await,
        Err(fault) => ToolResult::failure(fault.to_error_detail()),
    }
}

/// Returns the result of the server's only tool, in the envelope that a client of this era gets.
async fn in_frames(server: Server, era: Era) -> (Value, Value) {
    let mut peer = Peer::open(server.envelopes(), era).await;
    let meta = json!({ ExtensionId::Envelopes.id(): {"envelope": true} });
    let params = json!({"name": "sync", "arguments": {}, "_meta": meta});
    let result = peer.call("tools/call", params).await.unwrap();
    (result["structuredContent"].clone(), result)
}

/// A server whose only tool returns this result.
fn returning(result: &ToolResult) -> Server {
    let result = result.clone();
    Server::new("test", "1").tool(Tool::new("sync", "Synchronises."), move || {
        let result = result.clone();
        async move { result }
    })
}

fn data(json: &str) -> Object {
    Object::parse(json.to_owned()).unwrap()
}

// covers: ENV-3.2-05, ENV-3.2-09, ENV-3.2-13
#[tokio::test]
async fn a_tool_says_that_nothing_changed_or_a_part_was_done_and_why() {
    let late = ErrorDetail::new(ErrorType::TimeoutError, "two of three mirrors are late");
    for (outcome, expected) in [
        (ToolResult::no_change_needed(), json!({"status": "no_change_needed"})),
        (ToolResult::default(), json!({"status": "success"})),
        (
            ToolResult::no_change_needed().with_explanation("all mirrors are equal"),
            json!({"status": "no_change_needed", "explanation": "all mirrors are equal"}),
        ),
        (
            ToolResult::partial_success(data(r#"{"done":1}"#), late),
            json!({"status": "partial_success", "data": {"done": 1}, "error": {
                "error_type": "TimeoutError", "error_message": "two of three mirrors are late",
            }}),
        ),
    ] {
        for era in Era::BOTH {
            let (envelope, result) = in_frames(returning(&outcome), era).await;
            assert_eq!(envelope, expected, "{era:?}");
            assert_eq!(result.get("isError"), None, "neither is a failure");
            let mut plain = Peer::open(returning(&outcome), era).await;
            let result = plain.tool("sync", json!({})).await.unwrap();
            assert_ne!(result["isError"], true);
            let data = expected.get("data").cloned().unwrap_or_default();
            assert_eq!(result["structuredContent"], data, "a client of MCP gets the data");
        }
        let in_process = call(returning(&outcome), r#"{"tool_name":"test.sync","arguments":{}}"#).await;
        assert_eq!(in_process, outcome);
    }
    let failed = ToolResult::failure(ErrorDetail::new(ErrorType::PermissionError, "the mirror is closed"));
    let (envelope, result) = in_frames(returning(&failed), Era::Stateless).await;
    assert_eq!(
        (&envelope["error"]["error_type"], &result["isError"]),
        (&json!("PermissionError"), &json!(true))
    );
}

/// A server whose tool writes the result of an envelope by itself, as a library in another language does.
fn foreign(envelope: &'static str) -> Server {
    Server::new("test", "1").tool(Tool::new("sync", "Synchronises."), move || async move {
        let mut meta = Meta::new();
        let members = format!(r#"{{"result":{envelope}}}"#);
        meta.insert(ExtensionId::Envelopes.id(), RawJson::parse(members).unwrap());
        CallToolResult::text("done").with_meta(meta)
    })
}

// covers: ENV-2-02, ENV-3.2-10, ENV-3.2-11, ENV-8.2-02
#[tokio::test]
async fn members_that_are_null_count_as_absent_and_unknown_ones_are_kept() {
    let asked = r#"{"tool_name":"test.sync","arguments":{}}"#;
    let nulls = r#"{"status":"success","data":{"a":1},"error":null,"explanation":null}"#;
    let read = call(foreign(nulls), asked).await;
    assert_eq!((read.status(), read.error(), read.explanation()), (ResultStatus::Success, None, None));
    assert_eq!(read.to_raw().as_bytes(), br#"{"status":"success","data":{"a":1}}"#);
    assert_eq!(read.to_raw_with_nulls().to_string(), nulls.replace(' ', ""));

    let newer = r#"{"status":"success","data":{"a":1},"cost":{"units":5},"z":[1,"é"]}"#;
    let read = call(foreign(newer), asked).await;
    assert_eq!(read.unknown().get("cost").unwrap().as_bytes(), br#"{"units":5}"#);
    assert_eq!(read.to_raw().to_string(), newer);
    // Frames carry them too.
    let (envelope, _) = in_frames(foreign(newer), Era::Session).await;
    assert_eq!(envelope.to_string(), serde_json::from_str::<Value>(newer).unwrap().to_string());
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Values {
    text: String,
    small: i64,
    large: u64,
    ratio: f64,
    flag: bool,
    list: Vec<String>,
    map: BTreeMap<String, i64>,
    missing: Option<String>,
    path: PathBuf,
    #[schemars(with = "String")]
    at: Timestamp,
}

/// A server that reads values into their types and writes them back.
fn typed() -> Server {
    Server::new("test", "1")
        .tool(Tool::new("echo", "Returns its arguments."), async |values: Values| Json(values))
}

// covers: ENV-6.2-01, ENV-6.1-01
#[tokio::test]
async fn each_type_has_its_form_in_json_and_comes_back_as_it_went() {
    let mut peer = Peer::open(typed(), Era::Stateless).await;
    let tools = peer.call("tools/list", json!({})).await.unwrap();
    let properties = &tools["tools"][0]["inputSchema"]["properties"];
    for (name, kind) in [
        ("text", "string"),
        ("small", "integer"),
        ("large", "integer"),
        ("ratio", "number"),
        ("flag", "boolean"),
        ("list", "array"),
        ("map", "object"),
        ("path", "string"),
        ("at", "string"),
    ] {
        assert_eq!(properties[name]["type"], kind, "{name}");
    }
    assert_eq!(properties["missing"]["type"], json!(["string", "null"]));

    let arguments = concat!(
        r#"{"text":"日本 größe 🦀","small":-9007199254740993,"large":18446744073709551615,"ratio":0.1,"flag":true,"#,
        r#""list":["z","a","m"],"map":{"b":2},"missing":null,"path":"/srv/données","at":"2024-01-15T10:30:00.000Z"}"#
    );
    let result = call(typed(), format!(r#"{{"tool_name":"test.echo","arguments":{arguments}}}"#)).await;
    assert_eq!(result.data().unwrap().to_raw().to_string(), arguments);

    let mut broken = br#"{"tool_name":"test.echo","arguments":{"text":"?"}}"#.to_vec();
    let at = broken.iter().position(|byte| *byte == b'?').unwrap();
    broken[at] = 0xff;
    let refused = call(typed(), broken).await;
    assert_eq!(refused.error().unwrap().error_type, ErrorType::ValidationError);
}

// covers: ENV-6.1-04
#[tokio::test]
async fn numbers_that_json_does_not_have_are_refused() {
    for number in ["01", "0x1F", "0o7", "+1", "1.", ".5", "NaN", "Infinity"] {
        let arguments = format!(r#"{{"tool_name":"test.echo","arguments":{{"small":{number}}}}}"#);
        let refused = call(typed(), arguments).await;
        let error = refused.error().unwrap();
        assert_eq!(error.error_type, ErrorType::ValidationError, "{number}");
    }
}

// covers: ENV-6.1-03
#[tokio::test]
async fn moments_are_taken_with_any_offset_and_answered_in_utc() {
    let server = || {
        Server::new("test", "1").tool(Tool::new("next", "Adds an hour."), async |arguments: Object| {
            let at: Timestamp = arguments.text("at").unwrap_or_default().parse()?;
            let mut out = Object::new();
            let next = at.saturating_add(std::time::Duration::from_hours(1));
            out.set("next", RawJson::from_value(&next).map_err(|error| ToolError::new(error.to_string()))?);
            Ok::<_, ToolError>(ToolResult::success(out))
        })
    };
    for at in ["2024-01-15T10:30:00Z", "2024-01-15T12:30:00+02:00", "2024-01-15T05:00:00-05:30"] {
        let json = format!(r#"{{"tool_name":"test.next","arguments":{{"at":"{at}"}}}}"#);
        let result = call(server(), json).await;
        assert_eq!(
            result.data().unwrap().text("next").unwrap_or_default(),
            "2024-01-15T11:30:00.000Z",
            "{at}: {result:?}"
        );
    }
    let result = call(server(), r#"{"tool_name":"test.next","arguments":{"at":"15.1.2024"}}"#).await;
    assert_eq!(result.status(), ResultStatus::Failure);
}

// covers: ENV-3.2-12, ENV-6.3-01
#[tokio::test]
async fn a_result_of_code_goes_through_text_and_back_and_a_raw_line_break_does_not() {
    let generated = ToolResult::success(data(r#"{"code":"fn main() {\n    run();\n}","lines":3}"#))
        .with_explanation("a program that runs");
    let asked = r#"{"tool_name":"test.sync","arguments":{}}"#;
    let result = call(returning(&generated), asked).await;
    assert_eq!(result.data().unwrap().text("code").unwrap(), "fn main() {\n    run();\n}");
    let pretty = result.to_json_pretty();
    assert!(pretty.starts_with("{\n  \"status\": \"success\",\n  \"data\": {\n    \"code\""), "{pretty}");
    assert_eq!(ToolResult::from_json(pretty).unwrap().to_raw(), result.to_raw());
    assert_eq!(ToolResult::from_json(result.to_raw().to_string()).unwrap(), result);
    let map = Object::from_raw(&result.to_raw()).unwrap();
    assert_eq!(ToolResult::from_object(&map).unwrap(), result);

    let broken = result.to_raw().to_string().replace("\\n", "\n");
    assert!(ToolResult::from_json(broken).is_err());
    let failed = ToolResult::failure(ErrorDetail::new(ErrorType::FileNotFoundError, "no\nsuch file"));
    assert_eq!(call(returning(&failed), asked).await, failed);
    let raw = "{\"tool_name\":\"test.sync\",\"arguments\":{\"text\":\"a\nb\"}}";
    let refused = call(returning(&generated), raw).await;
    assert_eq!(refused.error().unwrap().error_type, ErrorType::ValidationError);
}

// covers: ENV-10-04
#[tokio::test]
async fn binary_data_go_in_and_out_in_base64_beside_their_type() {
    #[derive(Deserialize, JsonSchema)]
    struct Picture {
        image: String,
    }
    let server = || {
        Server::new("test", "1").tool(
            Tool::new("negative", "Inverts a picture."),
            async |Picture { image }: Picture| {
                let bytes = STANDARD.decode(image)?;
                let inverted: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
                Ok::<_, ToolError>(ContentBlock::from(ImageContent::new(base64(&inverted), "image/png")))
            },
        )
    };
    let bytes: Vec<u8> = (0..=255).collect();
    let image = base64(&bytes);
    let json = json!({"tool_name": "test.negative", "arguments": {"image": image}}).to_string();
    let result = call(server(), json).await;
    let content: Value = result.data().unwrap().get("content").unwrap().to().unwrap();
    let inverted: Vec<u8> = (0..=255).rev().collect();
    assert_eq!(content[0], json!({"type": "image", "data": base64(&inverted), "mimeType": "image/png"}));
    let wrong = r#"{"tool_name":"test.negative","arguments":{"image":"?"}}"#;
    assert_eq!(call(server(), wrong).await.status(), ResultStatus::Failure);
}

// covers: ENV-5.2-01
#[tokio::test]
async fn tools_have_versions_of_their_own_under_one_version_of_the_protocol() {
    let version = |text: &str| RawJson::from_text(text);
    let server = Server::new("test", "9.9.9")
        .tool(Tool::new("old", "Old.").meta("version", version("1.4.2")), async || "1")
        .tool(Tool::new("new", "New.").meta("version", version("2.0.0")), async || "2");
    let mut peer = Peer::silent(server.envelopes(), Era::Session, json!({})).await;
    let settings = &peer.initialized["capabilities"]["extensions"][ExtensionId::Envelopes.id()];
    assert_eq!(settings["version"], "1.0.0");
    let tools = peer.call("tools/list", json!({})).await.unwrap();
    let versions: Vec<_> =
        tools["tools"].as_array().unwrap().iter().map(|tool| &tool["_meta"]["version"]).collect();
    assert_eq!(versions, ["1.4.2", "2.0.0"]);
    for (tool, text) in [("old", "1"), ("new", "2")] {
        assert_eq!(peer.text(tool, json!({})).await, text);
    }
}
