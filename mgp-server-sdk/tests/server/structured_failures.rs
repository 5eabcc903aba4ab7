//! Failures of tools that say what to do next, and errors of calls in the same words.

use crate::peer::{Era, Peer, declaring};
use mgp_server_sdk::types::ext::{ErrorClass, StructuredError};
use mgp_server_sdk::{RawJson, Server, Timeouts, Tool, ToolError};
use serde_json::{Value, json};

/// Connects as a client that declares these extensions.
async fn client(server: Server, era: Era, extensions: &[&str]) -> Peer {
    Peer::silent(server, era, declaring(extensions)).await
}

/// A server whose tool `fail` fails as `error` says.
fn failing(error: &StructuredError) -> Server {
    let error = error.clone();
    Server::new("test", "1").tool(Tool::new("fail", "Fails."), move || {
        let error = error.clone();
        async move { Err::<String, _>(ToolError::structured(error)) }
    })
}

/// Returns the result of the tool, and the error in its metadata as the client reads it.
async fn failed(error: &StructuredError, era: Era) -> (Value, StructuredError) {
    let mut peer = client(failing(error), era, &["structured_errors"]).await;
    let result = peer.tool("fail", json!({})).await.unwrap();
    assert_eq!(result["isError"], true);
    let raw_error = RawJson::from_value(&result["_meta"]["error"]).unwrap();
    (result, StructuredError::read(&raw_error).unwrap())
}

// covers: EXT-11-02
#[tokio::test]
async fn each_of_the_five_classes_comes_to_the_client() {
    for era in Era::BOTH {
        for (class, word) in std::iter::zip(
            ErrorClass::KNOWN,
            ["transient", "permanent", "auth_required", "invalid_input", "rate_limited"],
        ) {
            let error = StructuredError::new("CONFLICT", class.clone(), "it is in use");
            let (result, read) = failed(&error, era).await;
            assert_eq!(result["_meta"]["error"]["category"], word);
            assert_eq!(read, error);
            assert_eq!(read.retry_after_seconds.is_some(), matches!(word, "transient" | "rate_limited"));
            assert_eq!(result["content"][0]["text"], "it is in use");
        }
    }
}

// covers: EXT-11-05
#[tokio::test]
async fn a_suggestion_reaches_the_model() {
    let error = StructuredError::new("INVALID_INPUT", ErrorClass::InvalidInput, "too many matches");
    let narrow = error.with_suggestion("narrow the date range").unwrap();
    for era in Era::BOTH {
        let (result, _) = failed(&narrow, era).await;
        assert_eq!(result["_meta"]["error"]["suggestion"], "narrow the date range");
        assert_eq!(result["content"][0]["text"], "too many matches: narrow the date range");
    }
}

// covers: GGEN-6-06
#[tokio::test(start_paused = true)]
async fn a_session_of_the_tool_registry_hears_of_a_late_tool_in_its_own_form() {
    let server = Server::new("test", "1")
        .timeouts(Timeouts::default())
        .tool(Tool::new("endless", "Never ends."), async || std::future::pending::<()>().await);
    let mut peer = client(server, Era::Session, &["ggen"]).await;
    let trace = "0af76519-16cd-43dd-8448-eb211c80319c";
    let params = json!({"name": "endless", "arguments": {}, "_meta": {"trace_id": trace}});
    let error = peer.start("tools/call", params).await.unwrap().unwrap_err();
    assert_eq!(error.code(), -32003);
    assert_eq!(error.message(), "Tool execution timeout");
    let data: Value = error.data().unwrap().to().unwrap();
    assert_eq!(
        (&data["error_type"], &data["tool_name"], &data["timeout_ms"], &data["trace_id"]),
        (&json!("ToolTimeout"), &json!("endless"), &json!(30_000), &json!(trace))
    );
    assert_eq!(data["suggestions"].as_array().unwrap().len(), 3);
}
