//! Requests that stand alone: revision 2026-07-28.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::json;

use crate::peer::{Ask, initialize, peer, settle};

#[tokio::test]
async fn a_call_is_answered_in_json() {
    let answer = peer().send(Ask::tool("echo")).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(!answer.headers.contains_key("mcp-session-id"));
    let json = answer.json().await;
    assert_eq!((&json["id"], &json["result"]["done"]), (&json!(1), &json!(true)));
    assert_eq!(json["result"]["resultType"], "complete");
}

#[tokio::test]
async fn discover_lists_the_revisions() {
    let json = peer().send(Ask::modern("server/discover", "{}")).await.json().await;
    assert_eq!(json["result"]["supportedVersions"][0], "2026-07-28");
}

#[tokio::test]
async fn every_row_of_the_decision_table_holds() {
    let peer = peer();
    let list = || Ask::modern("tools/list", "{}");
    let versions = |header: &str, body: &str| {
        let mut ask = list().with("mcp-protocol-version", header);
        let text = String::from_utf8(ask.0.body().to_vec()).unwrap().replace("2026-07-28", body);
        *ask.0.body_mut() = text.into();
        ask
    };
    let plain = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let modern = |body: &'static str| {
        Ask::post(body).with("mcp-protocol-version", "2026-07-28").with("mcp-method", "tools/list")
    };
    for (what, ask, expected) in [
        ("accept json only", list().with("accept", "application/json"), (406, -32600)),
        ("no version header", list().without("mcp-protocol-version"), (400, -32020)),
        ("no method header", list().without("mcp-method"), (400, -32020)),
        ("wrong method header", list().with("mcp-method", "tools/call"), (400, -32020)),
        ("method header in capitals", list().with("mcp-method", "Tools/list"), (400, -32020)),
        ("unknown version in both", versions("1900-01-01", "1900-01-01"), (400, -32022)),
        ("unknown version in the body", versions("2026-07-28", "v999"), (400, -32020)),
        ("two unknown versions", versions("v1", "v999"), (400, -32020)),
        ("legacy version in the body", versions("2026-07-28", "2025-11-25"), (400, -32020)),
        ("legacy version in both", versions("2025-11-25", "2025-11-25"), (400, -32022)),
        ("legacy version in the header", versions("2025-11-25", "2026-07-28"), (400, -32020)),
        ("no _meta", modern(plain), (400, -32602)),
        ("no _meta, but a session", modern(plain).with("mcp-session-id", &"1".repeat(32)), (400, -32602)),
        (
            "no version header, but a session",
            list().without("mcp-protocol-version").with("mcp-session-id", &"1".repeat(32)),
            (400, -32020),
        ),
        ("no capabilities", modern(bare), (400, -32602)),
        (
            "modern header, initialize",
            initialize("2025-11-25").with("mcp-protocol-version", "2026-07-28"),
            (400, -32602),
        ),
        ("modern initialize", Ask::modern("initialize", "{}"), (404, -32601)),
        ("legacy call, no session", Ask::post(plain), (400, -32600)),
        (
            "legacy header, no session",
            Ask::post(plain).with("mcp-protocol-version", "2025-06-18"),
            (400, -32600),
        ),
        (
            "unknown session",
            Ask::post(plain).with("mcp-session-id", "00000000000000000000000000000000"),
            (404, -32600),
        ),
        ("foreign session", Ask::post(plain).with("mcp-session-id", "x"), (404, -32600)),
        ("batch", Ask::post(format!("[{plain}]")), (400, -32600)),
        ("bad JSON", Ask::post("{"), (400, -32700)),
        ("id null", Ask::post(r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#), (400, -32600)),
        ("unknown method", Ask::modern("tools/none", "{}"), (404, -32601)),
        ("removed method", Ask::modern("ping", "{}"), (404, -32601)),
        ("missing capability", Ask::tool("capability"), (400, -32021)),
        ("error of the handler", Ask::tool("impossible"), (200, 7)),
        (
            "answer to nobody",
            Ask::post(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).with("mcp-protocol-version", "2026-07-28"),
            (400, -32600),
        ),
    ] {
        assert_eq!(peer.refusal(ask).await, expected, "{what}");
    }
}

#[tokio::test]
async fn an_error_names_the_request_it_answers() {
    let peer = peer();
    for ask in
        [Ask::tool("x").without("mcp-method"), Ask::tool("impossible"), Ask::modern("tools/none", "{}")]
    {
        assert_eq!(peer.send(ask).await.json().await["id"], 1);
    }
    assert!(peer.send(Ask::post("{")).await.json().await.get("id").is_none());
}

#[tokio::test]
async fn get_and_delete_are_not_allowed() {
    let peer = peer();
    for method in [Method::GET, Method::DELETE] {
        let ask = Ask::new(method, "/mcp")
            .with("accept", "text/event-stream")
            .with("mcp-protocol-version", "2026-07-28");
        let answer = peer.send(ask.with("mcp-session-id", "00000000000000000000000000000000")).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
        assert!(answer.headers.contains_key("allow"));
    }
    assert_eq!(peer.refusal(Ask::new(Method::PUT, "/mcp")).await.0, 405);
}

#[tokio::test]
async fn a_session_id_means_nothing() {
    let answer = peer().send(Ask::tool("echo").with("mcp-session-id", "x")).await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn the_name_is_mirrored_for_each_method_that_has_one() {
    let peer = peer();
    for (method, member) in
        [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri"), ("tasks/get", "taskId")]
    {
        let ask = || Ask::modern(method, &format!(r#"{{"{member}":"größe"}}"#));
        assert_eq!(peer.refusal(ask()).await, (400, -32020), "{method}");
        assert_eq!(peer.refusal(ask().with("mcp-name", "grosse")).await, (400, -32020), "{method}");
        assert_eq!(
            peer.refusal(ask().with("mcp-name", "=?base64?Z3LDtsOfZQ?=")).await,
            (400, -32020),
            "{method}"
        );
        assert_eq!(
            peer.refusal(ask().with("mcp-name", "=?base64?Z3LD!sOfZQ==?=")).await,
            (400, -32020),
            "{method}"
        );
        let answer = peer.send(ask().with("mcp-name", "=?base64?Z3LDtsOfZQ==?=")).await;
        assert_eq!(answer.status, StatusCode::OK, "{method}");
    }
}

#[tokio::test]
async fn a_notification_is_accepted() {
    let peer = peer();
    let body = r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let notification = || Ask::post(body).with("mcp-protocol-version", "2026-07-28");
    let answer = peer.send(notification()).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    assert_eq!(answer.text().await, "");
    assert_eq!(peer.refusal(notification().with("mcp-method", "x")).await, (400, -32020));
    assert_eq!(*peer.world.seen.lock(), ["notifications/x"]);
}

#[tokio::test]
async fn notifications_before_the_result_make_a_stream() {
    let mut answer = peer().send(Ask::tool("notify")).await;
    assert_eq!(answer.headers["x-accel-buffering"], "no");
    assert_eq!(answer.headers["cache-control"], "no-cache");
    let first = answer.event().await.unwrap();
    assert_eq!((first.name, first.id, first.retry), (String::new(), String::new(), String::new()));
    assert_eq!(answer.data().await["result"]["done"], true);
    assert_eq!(answer.event().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_stream_goes_on_until_the_result() {
    let peer = peer();
    let mut answer = peer.send(Ask::tool("notify then wait")).await;
    assert_eq!(answer.data().await["params"]["progress"], 1);
    peer.world.gate.add_permits(1);
    assert_eq!(answer.data().await["params"]["progress"], 2);
    assert_eq!(answer.data().await["id"], 1);
    assert_eq!(answer.event().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_carries_comments() {
    use http_body_util::BodyExt;
    let peer = peer();
    let mut answer = peer.send(Ask::tool("notify then wait")).await;
    answer.event().await;
    let start = tokio::time::Instant::now();
    let frame = answer.body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(frame.starts_with(b":"));
    assert_eq!(start.elapsed().as_secs(), 15);
}

#[tokio::test]
async fn the_client_cannot_be_asked() {
    assert_eq!(peer().refusal(Ask::tool("ask")).await, (200, -32600));
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_tagged_to_its_end() {
    let peer = peer();
    let mut answer = peer.send(Ask::modern("subscriptions/listen", "{}")).await;
    let ack = answer.data().await;
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(ack["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    peer.world.gate.add_permits(1);
    let end = answer.data().await;
    assert_eq!(end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert_eq!(end["result"]["resultType"], "complete");
    assert!(end["result"]["_meta"]["io.modelcontextprotocol/serverInfo"].is_object());
    assert_eq!(answer.event().await, None);
}

#[tokio::test]
async fn a_refused_subscription_keeps_its_status() {
    assert_eq!(
        peer().refusal(Ask::modern("subscriptions/listen", r#"{"refuse":true}"#)).await,
        (404, -32601)
    );
}

#[tokio::test]
async fn handlers_read_the_head_and_know_the_principal() {
    let peer = peer();
    let json = peer.send(Ask::tool("header").with("x-test", "seen")).await.json().await;
    assert_eq!(json["result"]["header"], "seen");
    let json = peer.send(Ask::tool("who").by("alice")).await.json().await;
    assert_eq!(json["result"]["who"], "alice");
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_stays_json() {
    let peer = peer();
    let pending = peer.send(Ask::tool("wait"));
    tokio::pin!(pending);
    assert!(tokio::time::timeout(Duration::from_mins(1), &mut pending).await.is_err());
    peer.world.gate.add_permits(1);
    assert_eq!(pending.await.json().await["result"]["done"], true);
    settle().await;
    assert_eq!(peer.world.dropped.load(Ordering::SeqCst), 0);
}
