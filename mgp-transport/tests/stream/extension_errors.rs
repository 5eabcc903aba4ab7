//! Errors in the forms that peers declare: structured ones, and those of the tool registry, beside plain ones.

use serde_json::{Value, json};

use crate::support::{Peer, server};

const PREFIX: &str = "io.github.mcp-extension-proposals/";

/// Returns the error that a peer with these capabilities gets in a session for `params` of `method`.
async fn refused(capabilities: Value, method: &str, params: Value) -> Value {
    let mut peer = Peer::of(&server());
    let params_of_session = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "clientInfo": { "name": "peer", "version": "1" },
    });
    let open = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params_of_session });
    peer.round_trip(&open.to_string()).await;
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params });
    let answer: Value = serde_json::from_str(&peer.round_trip(&call.to_string()).await).unwrap();
    assert_eq!(answer["id"], 2);
    answer["error"].clone()
}

fn extensions(names: &[&str]) -> Value {
    let declared = names.iter().map(|name| (format!("{PREFIX}{name}"), json!({})));
    json!({ "extensions": declared.collect::<serde_json::Map<_, _>>() })
}

// covers: EXT-00-02, EXT-00-07, EXT-11-12
#[tokio::test]
async fn a_peer_that_declares_nothing_gets_the_error_as_it_always_was() {
    let error = refused(json!({}), "test/refuse", json!({})).await;
    assert_eq!(error, json!({ "code": -32603, "message": error["message"] }));
    let error = refused(extensions(&["idempotency"]), "test/refuse", json!({})).await;
    assert_eq!(error.get("data"), None);
}

// covers: EXT-11-01, EXT-11-03, EXT-11-12
#[tokio::test]
async fn a_peer_that_declares_structured_errors_finds_their_members_in_the_data() {
    let error = refused(extensions(&["structured_errors"]), "test/refuse", json!({})).await;
    assert_eq!(error["code"], -32603, "the number is that of MCP");
    assert_eq!(error["data"]["code"], "RATE_LIMIT_EXCEEDED");
    assert_eq!(error["data"]["category"], "rate_limited");
    assert!(error["data"]["retry_after_seconds"].as_u64().unwrap() >= 1);
    assert_eq!(error["data"]["message"], error["message"]);
}

// covers: GGEN-5-03, GGEN-5-14, GGEN-5-19
#[tokio::test]
async fn a_peer_of_the_tool_registry_gets_its_numbers_and_the_trace_of_its_request() {
    let trace = "0af76519-16cd-43dd-8448-eb211c80319c";
    let params = json!({ "_meta": { "trace_id": trace } });
    let error = refused(extensions(&["ggen"]), "test/refuse", params).await;
    assert_eq!((&error["code"], &error["data"]["error_type"]), (&json!(3000), &json!("RateLimited")));
    assert_eq!(error["data"]["trace_id"], trace);
    let error = refused(extensions(&["ggen"]), "no/such", json!({})).await;
    assert_eq!((&error["code"], &error["data"]["error_type"]), (&json!(-32601), &json!("MethodNotFound")));
    assert_eq!(error["data"]["suggestions"], json!([]));
    assert_eq!(error["data"]["trace_id"].as_str().unwrap().len(), 36, "a trace is made where there is none");
}
