//! Tools in envelopes: the same result in this process and inside of `tools/call`, and every rule of the envelopes at a
//! server that does something.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::peer::{Era, Peer};
use mgp_server_sdk::mcp::{CallToolResult, Meta};
use mgp_server_sdk::schemars::{self, JsonSchema};
use mgp_server_sdk::types::ext::{EnvelopeReading, ResultStatus, ToolCall, ToolResult};
use mgp_server_sdk::{Json, RawJson, Server, Tool, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Terms {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Words {
    text: String,
}

const ID: &str = "io.github.mcp-extension-proposals/env";

/// A server whose tools count how often they ran.
fn server(runs: &Arc<AtomicUsize>) -> Server {
    let count = |runs: &Arc<AtomicUsize>| {
        let runs = Arc::clone(runs);
        move || runs.fetch_add(1, Ordering::Relaxed)
    };
    let (add, fail, panic) = (count(runs), count(runs), count(runs));
    Server::new("calc", "1.0.0")
        .tool(Tool::new("add", "Adds two numbers."), move |terms: Terms| {
            add();
            async move { Json(Sum { sum: terms.a + terms.b }) }
        })
        .tool(Tool::new("fail", "Fails."), move || {
            fail();
            async { Err::<String, _>(ToolError::new("the disk is full")) }
        })
        .tool(Tool::new("Open-File", "Opens a file that is not there."), || async {
            let data = r#"{"code":"FILE_NOT_FOUND","message":"no such file","category":"permanent","details":{"path":"notes.txt"}}"#;
            let mut meta = Meta::new();
            meta.insert("error", RawJson::parse(data).unwrap());
            CallToolResult::error("no such file").with_meta(meta)
        })
        .tool(Tool::new("echo", "Gives back what it gets."), |words: Words| async { Json(words) })
        .tool(Tool::new("say", "Knows of envelopes: its result is the text that it gets."), |words: Words| async move {
            let mut meta = Meta::new();
            meta.insert(ID, RawJson::parse(format!(r#"{{"result":{}}}"#, words.text)).unwrap());
            CallToolResult::text("").with_meta(meta)
        })
        .tool(Tool::new("panic", "Panics."), move || {
            panic();
            async { if true { panic!("the tool is broken") } else { "never" } }
        })
}

fn without_arguments(tool: &str) -> ToolCall {
    let call = format!(r#"{{"tool_name":"{tool}","arguments":{{}}}}"#);
    ToolCall::from_json(call, EnvelopeReading::Strict).unwrap()
}

async fn in_process(call: &str) -> (Value, usize) {
    let runs = Arc::default();
    let mut tools = server(&runs).into_envelopes("calc").await.unwrap();
    let result = match ToolCall::from_json(call.to_owned(), EnvelopeReading::Strict) {
        Ok(call) => tools.call(&call).await,
        Err(fault) => ToolResult::failure(fault.to_error_detail()),
    };
    assert!(!result.to_raw().as_bytes().contains(&b'\n'));
    (result.to_raw().to().unwrap(), runs.load(Ordering::Relaxed))
}

// covers: ENV-2-01, ENV-3.1-07, ENV-7.1-01, ENV-7.2-03, ENV-11.1-05
#[tokio::test]
async fn a_call_runs_its_tool_once_and_gives_its_data() {
    let (result, runs) = in_process(r#"{"tool_name":"calc.add","arguments":{"a":20,"b":22}}"#).await;
    assert_eq!((result, runs), (json!({"status": "success", "data": {"sum": 42}}), 1));
}

/// Sends calls that break a rule, each with the kind of its error and the parameter that the error names.
async fn assert_refused(calls: &[(&str, &str, Option<&str>)]) {
    for (call, kind, parameter) in calls {
        let (result, runs) = in_process(call).await;
        assert_eq!((&result["status"], runs), (&json!("failure"), 0), "{call}: {result}");
        assert_eq!(result["error"]["error_type"], *kind, "{call}: {result}");
        if let Some(parameter) = parameter {
            assert_eq!(result["error"]["error_details"]["parameter"], *parameter, "{call}: {result}");
        }
    }
}

// covers: ENV-3.1-01..05, ENV-11.2-01
#[tokio::test]
async fn a_message_that_is_no_envelope_runs_no_tool() {
    assert_refused(&[
        (r#"{"arguments":{}}"#, "ValidationError", Some("tool_name")),
        (r#"{"tool_name":7,"arguments":{}}"#, "ValidationError", Some("tool_name")),
        (r#"{"tool_name":"add","arguments":{}}"#, "ValidationError", Some("tool_name")),
        (r#"{"tool_name":"calc.Add","arguments":{}}"#, "ValidationError", Some("tool_name")),
        (r#"{"tool_name":"calc.add"}"#, "ValidationError", Some("arguments")),
        (r#"{"tool_name":"calc.add","arguments":null}"#, "ValidationError", Some("arguments")),
        (r#"{"tool_name":"calc.add","arguments":[]}"#, "ValidationError", Some("arguments")),
        (r#"{"tool_name":"calc.add","arguments":{"a":1,"b":2},"x":1}"#, "ValidationError", Some("envelope")),
        (r#"{"tool_name":"calc.add","arguments":{"a":01}}"#, "ValidationError", None),
    ])
    .await;
    let (result, _) = in_process(r#"{"tool_name":"calc.echo","arguments":{"text":"naïve 日本"}}"#).await;
    assert_eq!(result["data"]["text"], "naïve 日本", "{result}");
}

// covers: ENV-7.2-01, ENV-8.1-01, ENV-8.1-02, ENV-11.2-02
#[tokio::test]
async fn arguments_that_a_tool_does_not_take_do_not_run_it() {
    assert_refused(&[
        (r#"{"tool_name":"calc.add","arguments":{"a":"x","b":2}}"#, "ValidationError", None),
        (r#"{"tool_name":"calc.add","arguments":{"a":1}}"#, "ValidationError", None),
        (r#"{"tool_name":"calc.add","arguments":{"first":1,"second":2}}"#, "ValidationError", None),
        (r#"{"tool_name":"calc.subtract","arguments":{}}"#, "ResourceNotFound", None),
    ])
    .await;
}

// covers: ENV-3.2-04, ENV-3.2-06, ENV-3.2-07, ENV-7.2-02, ENV-8.3-01, ENV-9-02, ENV-11.1-04, ENV-11.2-03
#[tokio::test]
async fn a_tool_that_fails_or_panics_gives_an_error_and_no_data() {
    for (tool, message) in
        [("calc.fail", "the disk is full"), ("calc.open_file", "no such file"), ("calc.panic", "")]
    {
        let mut tools = server(&Arc::default()).into_envelopes("calc").await.unwrap();
        let result = tools.call(&without_arguments(tool)).await;
        assert_eq!((result.status(), result.data()), (ResultStatus::Failure, None), "{tool}");
        assert!(result.error().unwrap().error_message.contains(message), "{result:?}");
        // It goes on after a panic.
        let add = r#"{"tool_name":"calc.add","arguments":{"a":1,"b":1}}"#;
        let add = ToolCall::from_json(add, EnvelopeReading::Strict).unwrap();
        assert_eq!(tools.call(&add).await.status(), ResultStatus::Success);
    }
}

// covers: ENV-3.3-01..06, ENV-11.1-06
#[tokio::test]
async fn each_failure_has_a_type_a_message_and_details_that_name_what_failed() {
    let mut tools = server(&Arc::default()).into_envelopes("calc").await.unwrap();
    for (tool, kind, details) in [
        ("calc.fail", "ToolExecutionError", Value::Null),
        ("calc.open_file", "FileNotFoundError", json!({"path": "notes.txt"})),
        ("calc.panic", "ToolExecutionError", Value::Null),
        ("calc.none", "ResourceNotFound", Value::Null),
    ] {
        let result: Value = tools.call(&without_arguments(tool)).await.to_raw().to().unwrap();
        let error = &result["error"];
        assert_eq!(error["error_type"], kind, "{tool}: {result}");
        assert!(error["error_message"].is_string(), "{tool}: {result}");
        if !details.is_null() {
            assert_eq!(error["error_details"], details, "{tool}: {result}");
        }
    }
    let own = r#"{"status":"failure","error":{"error_type":"Asleep","error_message":"m","error_details":"until noon"}}"#;
    assert_eq!(said(own).await, serde_json::from_str::<Value>(own).unwrap());
}

/// Calls the tool that knows of envelopes.
async fn said(result: &str) -> Value {
    let call = json!({"tool_name": "calc.say", "arguments": {"text": result}});
    in_process(&call.to_string()).await.0
}

// covers: ENV-3.2-01, ENV-3.2-02, ENV-3.2-03, ENV-3.2-08, ENV-3.3-03
#[tokio::test]
async fn a_result_that_a_tool_makes_itself_keeps_the_rules() {
    for (envelope, written) in [
        (r#"{"status":"success","data":null,"error":null}"#, r#"{"status":"success"}"#),
        (r#"{"status":"success","data":{"a":1}}"#, r#"{"status":"success","data":{"a":1}}"#),
        (r#"{"status":"no_change_needed"}"#, r#"{"status":"no_change_needed"}"#),
        (r#"{"status":"partial_success","data":{}}"#, r#"{"status":"partial_success","data":{}}"#),
    ] {
        assert_eq!(said(envelope).await, serde_json::from_str::<Value>(written).unwrap(), "{envelope}");
    }
    for (wrong, member) in [
        (r#"{"data":{}}"#, "status"),
        (r#"{"status":"done"}"#, "status"),
        (r#"{"status":"success","data":[1]}"#, "data"),
        (r#"{"status":"success","data":7}"#, "data"),
        (r#"{"status":"failure"}"#, "error"),
        (r#"{"status":"failure","error":{"error_type":"T"}}"#, "error_message"),
        (
            r#"{"status":"failure","error":{"error_type":"T","error_message":"m","error_details":7}}"#,
            "error_details",
        ),
    ] {
        let result = said(wrong).await;
        assert_eq!(result["status"], "failure", "{wrong}: {result}");
        assert!(result["error"]["error_message"].as_str().unwrap().contains(member), "{wrong}: {result}");
    }
}

// covers: ENV-5.1-01, ENV-5.3-01, ENV-7.1-01
#[tokio::test]
async fn a_client_gets_the_same_envelope_inside_of_a_call() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(&Arc::default()).envelopes(), era).await;
        let call = async |peer: &mut Peer, name: &str, arguments: Value, settings: Value| {
            let meta = json!({ ID: settings });
            peer.call("tools/call", json!({"name": name, "arguments": arguments, "_meta": meta}))
                .await
                .unwrap()
        };
        let wanted = json!({"envelope": true, "version": "1.2.0"});
        let done = call(&mut peer, "add", json!({"a": 20, "b": 22}), wanted.clone()).await;
        assert_eq!(done["structuredContent"], json!({"status": "success", "data": {"sum": 42}}));
        assert_eq!(done["content"][0]["text"], r#"{"status":"success","data":{"sum":42}}"#);
        assert_eq!(done["_meta"][ID]["version"], "1.0.0");
        let failed = call(&mut peer, "fail", json!({}), wanted.clone()).await;
        assert_eq!(
            (&failed["isError"], &failed["structuredContent"]["status"]),
            (&json!(true), &json!("failure"))
        );
        let unknown = call(&mut peer, "none", json!({}), wanted).await;
        assert_eq!(unknown["structuredContent"]["error"]["error_type"], "ResourceNotFound");
        let newer =
            call(&mut peer, "add", json!({"a": 1, "b": 1}), json!({"envelope": true, "version": "2.0.0"}))
                .await;
        assert!(
            newer["structuredContent"]["error"]["error_message"].as_str().unwrap().contains("1.0.0"),
            "{newer}"
        );
        let plain = peer.tool("add", json!({"a": 20, "b": 22})).await.unwrap();
        assert_eq!(plain["structuredContent"], json!({"sum": 42}), "nobody asked for an envelope");
    }
}
