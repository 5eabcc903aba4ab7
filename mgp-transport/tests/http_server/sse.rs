//! HTTP+SSE, the transport of 2024-11-05.

use std::sync::atomic::Ordering;

use http::{Method, StatusCode};
use mgp_transport::Accept;

use crate::peer::{Answer, Ask, Peer, initialize, peer, settle};

async fn connect(peer: &Peer<impl Accept>) -> (Answer, String) {
    let mut stream = peer.send(open()).await;
    assert_eq!(stream.status, StatusCode::OK);
    let first = stream.event().await.unwrap();
    assert_eq!(first.name, "endpoint");
    assert!(first.data.starts_with("/message?sessionId="), "{}", first.data);
    (stream, first.data)
}

/// Connects, and opens the session.
async fn opened(peer: &Peer<impl Accept>) -> (Answer, String) {
    let (mut stream, endpoint) = connect(peer).await;
    peer.send(to(&endpoint, &initialize("2024-11-05"))).await;
    stream.event().await;
    (stream, endpoint)
}

fn open() -> Ask {
    Ask::new(Method::GET, "/sse").with("accept", "text/event-stream")
}

fn to(endpoint: &str, ask: &Ask) -> Ask {
    let mut message = Ask::new(Method::POST, endpoint).with("content-type", "application/json");
    *message.0.body_mut() = ask.0.body().clone();
    message
}

fn call(endpoint: &str, id: u32, tool: &str) -> Ask {
    to(endpoint, &Ask::call("", id, "tools/call", &format!(r#"{{"name":"{tool}"}}"#)))
}

#[tokio::test]
async fn answers_come_on_the_stream() {
    let peer = peer();
    let (mut stream, endpoint) = connect(&peer).await;
    let answer = peer.send(to(&endpoint, &initialize("2024-11-05"))).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    let event = stream.event().await.unwrap();
    assert_eq!((event.name.as_str(), event.id.as_str()), ("message", ""));
    assert!(event.data.contains(r#""protocolVersion":"2024-11-05""#));
    peer.send(call(&endpoint, 2, "notify")).await;
    assert_eq!(stream.data().await["params"]["progress"], 1);
    assert_eq!(stream.data().await["id"], 2);
}

#[tokio::test]
async fn the_peer_is_asked_on_the_stream() {
    let peer = peer();
    let (mut stream, endpoint) = opened(&peer).await;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    peer.send(to(&endpoint, &Ask::post(ready))).await;
    peer.send(call(&endpoint, 2, "ask")).await;
    let question = stream.data().await;
    let reply = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"roots":[]}}}}"#, question["id"]);
    assert_eq!(peer.send(to(&endpoint, &Ask::post(reply))).await.status, StatusCode::ACCEPTED);
    assert_eq!(stream.data().await["result"]["answer"]["roots"], serde_json::json!([]));
}

#[tokio::test]
async fn the_session_ends_with_its_stream() {
    let peer = peer();
    let (stream, endpoint) = opened(&peer).await;
    peer.send(call(&endpoint, 2, "wait")).await;
    settle().await;
    drop(stream);
    settle().await;
    assert_eq!(peer.world.dropped.load(Ordering::SeqCst), 1);
    assert_eq!(peer.refusal(call(&endpoint, 3, "echo")).await, (404, -32600));
}

#[tokio::test]
async fn a_cancelled_call_gets_no_reply() {
    let peer = peer();
    let (mut stream, endpoint) = opened(&peer).await;
    peer.send(call(&endpoint, 2, "wait")).await;
    settle().await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    peer.send(to(&endpoint, &Ask::post(cancel))).await;
    settle().await;
    assert_eq!(peer.world.dropped.load(Ordering::SeqCst), 1);
    peer.send(call(&endpoint, 3, "echo")).await;
    assert_eq!(stream.data().await["id"], 3);
}

#[tokio::test]
async fn wrong_messages_are_refused() {
    let peer = peer();
    let (_stream, endpoint) = connect(&peer).await;
    assert_eq!(peer.refusal(to(&endpoint, &Ask::post("{"))).await, (400, -32700));
    assert_eq!(peer.refusal(to(&endpoint, &Ask::post("[1]"))).await, (400, -32600));
    assert_eq!(peer.refusal(call("/message", 1, "echo")).await.0, 404);
    assert_eq!(
        peer.refusal(call("/message?sessionId=00000000000000000000000000000000", 1, "echo")).await.0,
        404
    );
    assert_eq!(peer.refusal(call(&endpoint, 1, "echo").by("mallory")).await.0, 404);
    assert_eq!(peer.refusal(call(&endpoint, 1, "echo").with("content-type", "text/plain")).await.0, 415);
    assert_eq!(peer.refusal(Ask::new(Method::GET, &endpoint)).await.0, 405);
    assert_eq!(peer.refusal(Ask::new(Method::POST, "/sse")).await.0, 405);
}

#[tokio::test]
async fn its_sessions_are_not_those_of_the_endpoint() {
    let peer = peer();
    let (_stream, endpoint) = connect(&peer).await;
    let id = endpoint.split_once('=').unwrap().1.to_owned();
    assert_eq!(peer.refusal(Ask::call(&id, 1, "tools/list", "{}")).await.0, 404);
    assert_eq!(peer.refusal(Ask::delete(&id)).await.0, 404);
    let session = peer.open("2025-11-25").await;
    assert_eq!(peer.refusal(call(&format!("/message?sessionId={session}"), 1, "echo")).await.0, 404);
}

// covers: MGP-12.4-02, MGP-12.7-02
#[tokio::test(start_paused = true)]
async fn messages_about_a_call_name_it_on_the_stream_of_all() {
    let peer = peer();
    let (mut stream, endpoint) = opened(&peer).await;
    peer.send(call(&endpoint, 2, "stream")).await;
    assert_eq!(stream.data().await["params"], serde_json::json!({"request_id": 2, "text": "first"}));
    let cancel = |id, named: &str| {
        to(&endpoint, &Ask::call("", id, "mgp/stream/cancel", &format!(r#"{{{named}"reason":"r"}}"#)))
    };
    peer.send(cancel(3, r#""request_id":2,"#)).await;
    assert_eq!(stream.data().await["params"], serde_json::json!({"request_id": 2, "text": "last"}));
    assert_eq!(stream.data().await["result"]["cancelled"], true);
    assert_eq!(peer.send(cancel(4, "")).await.status, StatusCode::ACCEPTED);
    let refused = stream.data().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&4.into(), &(-32602).into()));

    peer.world.gate.add_permits(1);
    assert_eq!(stream.data().await["id"], 2);
    // The stream goes on, and the call does not.
    let over = peer.world.call.lock().clone();
    crate::stack::chunk(&over, "late").await.unwrap();
    peer.send(cancel(5, r#""request_id":2,"#)).await;
    let answer = stream.data().await;
    assert_eq!((&answer["id"], &answer["result"]["cancelled"]), (&5.into(), &false.into()));
}
