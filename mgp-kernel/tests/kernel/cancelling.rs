//! What becomes of a call that its client stops.

use std::process::ExitCode;

use mgp_client_sdk::{Client, StreamedCall};
use mgp_server_sdk::{Cx, Server, Tool, ToolError};
use mgp_stream::call::StreamPart;
use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::{ExtensionSet, Offer, StreamCancelled};
use mgp_types::{Revision, RpcService, code};
use serde_json::{Value, json};

use crate::host::{self, Host, Plain, ask, quiet, until};
use crate::runner::tests;
use crate::scripted::Script;
use crate::sections::raw::Raw;
use crate::talking;

tests![
    a_server_that_can_stop_a_call_does_and_says_what_there_is,
    a_call_at_a_server_that_knows_no_mgp_is_taken_back_from_it,
    a_server_that_only_says_it_can_is_not_waited_for,
    a_cancelled_call_ends_at_once_whether_or_not_its_server_answers_it,
    a_call_that_waits_in_line_is_stopped_there,
    nobody_stops_the_call_of_another_client,
];

/// The argument by which the test binary is a server that streams.
pub(crate) const SERVE: &str = "--streaming";

/// Serves on this process' standard input and output.
pub(crate) fn serve() -> ExitCode {
    let hang = async |cx: Cx| {
        for word in ["half ", "done"] {
            cx.stream(word).await?;
        }
        std::future::pending::<Result<String, ToolError>>().await
    };
    let server = Server::new("streaming", "1.0.0")
        .streaming()
        .tool(Tool::new("hang", "Streams two words and never ends."), hang);
    host::serve(server.serve_stdio())
}

async fn client(host: &Host, revision: Revision) -> Plain {
    let offer = Offer::new(ExtensionSet::standard());
    host.connect("ada", Client::builder("tests", "1.0.0").mgp(offer).revisions([revision])).await
}

/// Stops a call that goes on, and waits until it is answered.
async fn stop<S: RpcService>(mut call: StreamedCall<S, CallToolResult>) -> (StreamCancelled, CallToolResult) {
    // The call goes on only while it is read.
    let stopped = call.cancel(Some("user_cancelled")).await.unwrap();
    (stopped, call.finish().await.unwrap())
}

fn is_cancelled(result: &CallToolResult) -> bool {
    serde_json::to_value(result).unwrap()["_mgp"]["cancelled"] == true
}

/// How the calls of `ada` were recorded.
async fn recorded(host: &Host) -> Vec<(String, bool)> {
    let outcome = |event: &Value| {
        assert_eq!(event["event_type"], "TOOL_EXECUTED", "{event}");
        (event["result"].as_str().unwrap().to_owned(), event["details"]["cancelled"] == true)
    };
    host.recorded(json!({"agent_id": "ada"})).await.iter().map(outcome).collect()
}

async fn a_server_that_can_stop_a_call_does_and_says_what_there_is() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let host = Host::ready([host::child("files", [SERVE])]).await;
        let client = client(&host, revision).await;
        let mut call = client.call_tool("files.hang", ()).stream().unwrap();
        for word in ["half ", "done"] {
            let Some(StreamPart::Chunk(chunk)) = call.next().await else { panic!("no chunk") };
            assert_eq!(chunk.content.as_text(), Some(word));
        }
        let (stopped, result) = stop(call).await;
        let partial = stopped.partial_result.unwrap().content;
        assert_eq!((stopped.cancelled, partial[0].as_text()), (true, Some("half done")), "{revision:?}");
        assert!(is_cancelled(&result), "{result:?}");
        assert_eq!(host::text(&result), "half done");
        assert_eq!(recorded(&host).await, [("FAILURE".to_owned(), true)]);
    }
}

async fn a_call_at_a_server_that_knows_no_mgp_is_taken_back_from_it() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let script = Script::named(&["wait"]);
        let host = Host::ready([script.server("files")]).await;
        let client = client(&host, revision).await;
        let mut call = client.call_tool("files.wait", ()).stream().unwrap();
        running(&mut call, || !script.calls().is_empty()).await;
        let (stopped, result) = stop(call).await;
        assert!(stopped.cancelled && is_cancelled(&result), "{stopped:?} {result:?}");
        until("the server is told", || {
            script.notification_lines().contains("notifications/cancelled").then_some(())
        })
        .await;
        assert_eq!(recorded(&host).await, [("FAILURE".to_owned(), true)]);
    }
}

async fn a_server_that_only_says_it_can_is_not_waited_for() {
    let host = Host::ready([talking::server("files")]).await;
    let client = client(&host, Revision::V2025_11_25).await;
    let mut call = client.call_tool("files.count", json!({"to": 1_000_000})).stream().unwrap();
    assert!(call.next().await.is_some());
    let (stopped, result) = stop(call).await;
    assert!(stopped.cancelled && is_cancelled(&result), "{stopped:?} {result:?}");
}

// covers: MGP-12.7-01..06
async fn a_cancelled_call_ends_at_once_whether_or_not_its_server_answers_it() {
    let partial =
        json!({"content": [{"type": "text", "text": "Quantum computing is a paradigm that uses..."}]});
    let printed = json!({"cancelled": true, "partial_result": partial});
    let late = r#"{"jsonrpc":"2.0","id":"WAITING","result":{"content":[{"type":"text","text":"late"}]}}"#;
    let silent = || Script::named(&["wait"]).speaking(&["streaming"]);
    for script in [silent(), silent().then("mgp/stream/cancel", late)] {
        let script = script.answers("mgp/stream/cancel", &printed.to_string());
        let host = Host::ready([script.server("files")]).await;
        let mut ada = Raw::agent(&host, "ada", Revision::V2025_11_25).await;
        // The id is free again once the call is answered.
        for calls in 1..=2 {
            let params = json!({"name": "files.wait", "arguments": {}, "_mgp": {"stream": true}});
            ada.write(&json!({"jsonrpc": "2.0", "id": 20, "method": "tools/call", "params": params})).await;
            until("the server works", || (script.calls().len() == calls).then_some(())).await;
            let params = json!({"request_id": 20, "reason": "user_cancelled"});
            ada.write(&json!({"jsonrpc": "2.0", "id": 22, "method": "mgp/stream/cancel", "params": params}))
                .await;
            assert_eq!(ada.answer(22).await["result"], printed);
            let ended = ada.answer(20).await;
            assert_eq!(ended["result"]["_mgp"]["cancelled"], true, "{ended}");
            assert_eq!(ended["result"]["content"], partial["content"]);
        }
        let mut operator = Raw::operator(&host, Revision::V2025_11_25).await;
        let report = operator.result("mgp/health/status", json!({"server_id": "files"})).await;
        assert_eq!(report["pending_requests"], 0, "{report}");
        assert_eq!(recorded(&host).await, vec![("FAILURE".to_owned(), true); 2]);
        assert!(ada.heard.iter().all(|frame| frame["method"].is_string()), "{:?}", ada.heard);
    }
}

async fn a_call_that_waits_in_line_is_stopped_there() {
    let script = Script::named(&["wait"]);
    let mut server = script.server("files");
    server["limits"] = json!({"concurrency": 1});
    let host = Host::ready_with(quiet([server])).await;
    let client = client(&host, Revision::V2025_11_25).await;
    let mut first = client.call_tool("files.wait", ()).stream().unwrap();
    running(&mut first, || !script.calls().is_empty()).await;
    let mut waiting = client.call_tool("files.wait", ()).stream().unwrap();
    // It is answered by nobody until the first one ends.
    for _ in 0..20 {
        running(&mut waiting, || true).await;
    }
    let (stopped, result) = stop(waiting).await;
    assert!(stopped.cancelled && is_cancelled(&result), "{stopped:?} {result:?}");
    assert_eq!(script.calls().len(), 1, "it came to no server");
    assert!(stop(first).await.0.cancelled);
}

async fn nobody_stops_the_call_of_another_client() {
    let script = Script::named(&["wait"]);
    let host = Host::ready([script.server("files")]).await;
    let (own, other) = (client(&host, Revision::V2025_11_25).await, host.client("eve").await);
    let mut call = own.call_tool("files.wait", ()).stream().unwrap();
    running(&mut call, || !script.calls().is_empty()).await;
    for id in 0..20 {
        let stopped = ask(&other, "mgp/stream/cancel", json!({"request_id": id})).await;
        assert_eq!((&stopped["cancelled"], &stopped["reason"]), (&json!(false), &json!("not_active")));
    }
    assert!(stop(call).await.0.cancelled, "it was still there");
    let plain = host.plain("plain").await;
    let refused = plain.request("mgp/stream/cancel", json!({"request_id": 1})).await.unwrap_err();
    assert_eq!(refused.code(), code::METHOD_NOT_FOUND);
}

/// Reads the call until something is so.
async fn running<S: RpcService>(call: &mut StreamedCall<S, CallToolResult>, is_so: impl Fn() -> bool) {
    loop {
        let part = tokio::time::timeout(std::time::Duration::from_millis(10), call.next()).await;
        assert!(part.is_err(), "the call is over: {part:?}");
        if is_so() {
            return;
        }
    }
}
