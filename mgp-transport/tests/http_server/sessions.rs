//! Sessions: revisions up to 2025-11-25.

use std::time::Duration;

use http::{Method, StatusCode};
use mgp_transport::http::HttpConfig;
use mgp_types::{Object, Request};
use serde_json::json;

use crate::peer::{Ask, initialize, peer, peer_with, settle};

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

#[tokio::test]
async fn a_session_serves_calls_in_every_revision() {
    for revision in REVISIONS {
        let peer = peer();
        let session = peer.open(revision).await;
        assert!(session.len() >= 32 && session.bytes().all(|byte| byte.is_ascii_graphic()));
        let ready = Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let answer = peer.send(ready.with("mcp-session-id", &session)).await;
        assert_eq!((answer.status, answer.text().await.as_str()), (StatusCode::ACCEPTED, ""));
        let call = Ask::call(&session, 1, "tools/list", "{}").with("mcp-protocol-version", revision);
        let answer = peer.send(call).await;
        assert_eq!((answer.status, answer.headers.contains_key("mcp-session-id")), (StatusCode::OK, false));
        assert_eq!(answer.json().await, json!({"jsonrpc":"2.0","id":1,"result":{"tools":[]}}));
    }
}

// covers: BASE-21
#[tokio::test]
async fn initialize_never_agrees_on_what_has_no_sessions() {
    let named = initialize("2025-11-25").with("mcp-protocol-version", "2025-11-25");
    assert_eq!(peer().send(named).await.status, StatusCode::OK);
    for requested in ["2026-07-28", "1.0.0"] {
        let answer = peer().send(initialize(requested)).await;
        assert!(answer.headers.contains_key("mcp-session-id"));
        assert_eq!(answer.json().await["result"]["protocolVersion"], "2025-11-25");
    }
}

#[tokio::test]
async fn a_refused_initialize_opens_no_session() {
    let peer = peer_with(HttpConfig::default().max_sessions(1));
    for _ in 0..3 {
        let answer =
            peer.send(Ask::post(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#)).await;
        assert!(!answer.headers.contains_key("mcp-session-id"));
        assert_eq!(answer.json().await["error"]["code"], -32602);
    }
    peer.open("2025-11-25").await;
}

#[tokio::test]
async fn errors_are_answers_like_all_others() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    assert_eq!(peer.refusal(Ask::call(&session, 1, "tools/none", "{}")).await, (200, -32601));
    assert_eq!(
        peer.refusal(Ask::call(&session, 2, "tools/call", r#"{"name":"impossible"}"#)).await,
        (200, 7)
    );
    assert_eq!(peer.refusal(Ask::call(&session, 3, "tools/call", "[1]")).await, (400, -32602));
}

#[tokio::test]
async fn a_call_that_is_sent_again_is_refused_where_ids_are_unique() {
    let peer = peer_with(HttpConfig::default().unique_ids());
    let session = peer.open("2025-11-25").await;
    let call = |id| Ask::call(&session, id, "tools/list", "{}");
    for id in [2, 5, 4, 3] {
        assert_eq!(peer.send(call(id)).await.status, StatusCode::OK, "{id}");
        assert_eq!(peer.refusal(call(id)).await, (400, -32600), "{id}");
    }
    let other = peer.open("2025-11-25").await;
    assert_eq!(peer.send(Ask::call(&other, 2, "tools/list", "{}")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn an_unsupported_version_header_is_refused() {
    let peer = peer();
    let session = peer.open("2025-06-18").await;
    let call = || Ask::call(&session, 1, "tools/list", "{}");
    assert_eq!(peer.refusal(call().with("mcp-protocol-version", "1999-01-01")).await, (400, -32600));
    assert_eq!(peer.send(call()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_deleted_session_is_gone() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    assert_eq!(peer.send(Ask::delete(&session)).await.status, StatusCode::NO_CONTENT);
    assert_eq!(peer.refusal(Ask::call(&session, 1, "tools/list", "{}")).await, (404, -32600));
    assert_eq!(peer.refusal(Ask::get(&session)).await.0, 404);
    assert_eq!(peer.refusal(Ask::delete(&session)).await.0, 404);
    assert_eq!(peer.refusal(Ask::new(Method::DELETE, "/mcp")).await.0, 400);
}

#[tokio::test]
async fn a_session_is_found_only_by_its_principal() {
    let peer = peer();
    let session = peer.send(initialize("2025-11-25").by("alice")).await.headers["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let call = || Ask::call(&session, 1, "tools/list", "{}");
    assert_eq!(peer.refusal(call()).await.0, 404);
    assert_eq!(peer.refusal(call().by("mallory")).await.0, 404);
    assert_eq!(peer.refusal(Ask::get(&session).by("mallory")).await.0, 404);
    assert_eq!(peer.refusal(Ask::delete(&session).by("mallory")).await.0, 404);
    assert_eq!(peer.send(call().by("alice")).await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_ends() {
    let peer = peer_with(HttpConfig::default().session_idle(Duration::from_mins(1)));
    let (used, idle) = (peer.open("2025-11-25").await, peer.open("2025-11-25").await);
    assert_ne!(used, idle);
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(peer.send(Ask::call(&used, 1, "tools/list", "{}")).await.status, StatusCode::OK);
    }
    assert_eq!(peer.refusal(Ask::call(&idle, 1, "tools/list", "{}")).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_session_with_a_reader_is_not_idle() {
    let peer = peer_with(HttpConfig::default().session_idle(Duration::from_mins(1)));
    let session = peer.open("2025-11-25").await;
    let stream = peer.send(Ask::get(&session)).await;
    tokio::time::sleep(Duration::from_mins(10)).await;
    drop(stream);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(peer.send(Ask::call(&session, 1, "tools/list", "{}")).await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn room_is_made_by_ending_idle_sessions() {
    let peer = peer_with(HttpConfig::default().max_sessions(2).session_idle(Duration::from_millis(100)));
    peer.open("2025-11-25").await;
    peer.open("2025-11-25").await;
    assert_eq!(peer.refusal(initialize("2025-11-25")).await.0, 503);
    tokio::time::advance(Duration::from_secs(1)).await;
    peer.open("2025-11-25").await;
}

#[tokio::test]
async fn the_peer_is_asked_on_the_stream_of_the_call() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    let mut answer = peer.send(Ask::call(&session, 5, "tools/call", r#"{"name":"ask"}"#)).await;
    let primer = answer.event().await.unwrap();
    assert_eq!((primer.data.as_str(), primer.retry.as_str()), ("", "1000"));
    let question = answer.data().await;
    assert_eq!(question["method"], "roots/list");
    let reply = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"roots":[]}}}}"#, question["id"]);
    for _ in 0..2 {
        let reply = Ask::post(reply.clone()).with("mcp-session-id", &session);
        assert_eq!(peer.send(reply).await.status, StatusCode::ACCEPTED);
    }
    let result = answer.data().await;
    assert_eq!((&result["id"], &result["result"]["answer"]), (&json!(5), &json!({"roots":[]})));
    assert_eq!(answer.event().await, None);
}

#[tokio::test]
async fn an_answer_to_nobody_is_ignored() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    for body in [
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":""}}"#,
    ] {
        let answer = peer.send(Ask::post(body).with("mcp-session-id", &session)).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_is_taken_back() {
    let peer = peer_with(HttpConfig::default().peer_timeout(Duration::from_secs(5)));
    let session = peer.open("2025-06-18").await;
    let mut answer = peer.send(Ask::call(&session, 5, "tools/call", r#"{"name":"ask"}"#)).await;
    let question = answer.data().await;
    let taken_back = answer.data().await;
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    assert_eq!(answer.data().await["id"], 5);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_dropped_without_a_reply() {
    for tool in ["wait", "notify then wait"] {
        let peer = peer();
        let session = peer.open("2025-06-18").await;
        let call = peer.send(Ask::call(&session, 7, "tools/call", &format!(r#"{{"name":"{tool}"}}"#)));
        let cancel = async {
            settle().await;
            let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
            let answer = peer.send(Ask::post(cancel).with("mcp-session-id", &session)).await;
            assert_eq!(answer.status, StatusCode::ACCEPTED);
        };
        let (mut answer, ()) = tokio::join!(call, cancel);
        if tool == "notify then wait" {
            assert_eq!(answer.data().await["params"]["progress"], 1);
        }
        assert_eq!(answer.event().await, None);
        settle().await;
        assert_eq!(peer.world.dropped.load(std::sync::atomic::Ordering::SeqCst), 1);
        assert_eq!(peer.send(Ask::call(&session, 7, "tools/list", "{}")).await.status, StatusCode::OK);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_stays_in_its_session() {
    let peer = peer();
    let (one, other) = (peer.open("2025-06-18").await, peer.open("2025-06-18").await);
    let call = peer.send(Ask::call(&one, 7, "tools/call", r#"{"name":"wait"}"#));
    let meddle = async {
        settle().await;
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        peer.send(Ask::post(cancel).with("mcp-session-id", &other)).await;
        peer.world.gate.add_permits(1);
    };
    let (answer, ()) = tokio::join!(call, meddle);
    assert_eq!(answer.json().await["result"]["done"], true);
}

#[tokio::test]
async fn a_batch_belongs_to_2025_03_26() {
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","method":"notifications/x"},3,{"jsonrpc":"2.0","id":2,"method":"initialize"},{"jsonrpc":"2.0","id":3,"method":"tools/none"}]"#;
    let peer = peer();
    let session = peer.open("2025-03-26").await;
    let answer = peer.send(Ask::post(batch).with("mcp-session-id", &session)).await.json().await;
    assert_eq!(answer[0], json!({"jsonrpc":"2.0","id":1,"result":{"tools":[]}}));
    assert_eq!(answer[1]["error"]["code"], -32600);
    assert_eq!((&answer[2]["id"], &answer[2]["error"]["code"]), (&json!(2), &json!(-32600)));
    assert_eq!((&answer[3]["id"], &answer[3]["error"]["code"]), (&json!(3), &json!(-32601)));
    assert_eq!(answer.as_array().unwrap().len(), 4);
    assert_eq!(
        *peer.world.seen.lock(),
        ["server/discover", "notifications/initialized", "tools/list", "notifications/x", "tools/none"]
    );
    let silent =
        Ask::post(r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#).with("mcp-session-id", &session);
    assert_eq!(peer.send(silent).await.status, StatusCode::ACCEPTED);
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let session = peer.open(revision).await;
        assert_eq!(peer.refusal(Ask::post(batch).with("mcp-session-id", &session)).await, (400, -32600));
    }
}

#[tokio::test]
async fn a_batch_that_notifies_is_a_stream() {
    let peer = peer();
    let session = peer.open("2025-03-26").await;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notify"}},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]"#;
    let mut answer = peer.send(Ask::post(batch).with("mcp-session-id", &session)).await;
    assert_eq!(answer.data().await["params"]["progress"], 1);
    assert_eq!(answer.data().await.as_array().unwrap().len(), 2);
    assert_eq!(answer.event().await, None);
}

#[tokio::test]
async fn what_belongs_to_no_request_comes_by_get() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    let outbox = peer.world.outbox.lock().clone();
    outbox.notify(Request::notify("notifications/early", Object::new())).await.unwrap();
    let mut stream = peer.send(Ask::get(&session)).await;
    assert_eq!(stream.data().await["method"], "notifications/early");
    outbox.notify(Request::notify("notifications/late", Object::new())).await.unwrap();
    assert_eq!(stream.data().await["method"], "notifications/late");
    assert_eq!(peer.refusal(Ask::get(&session).with("accept", "application/json")).await.0, 406);
    assert_eq!(peer.refusal(Ask::get(&session).without("mcp-session-id")).await.0, 400);
}

#[tokio::test]
async fn a_newer_get_replaces_the_older() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    let mut older = peer.send(Ask::get(&session)).await;
    let mut newer = peer.send(Ask::get(&session)).await;
    assert_eq!(older.event().await, None);
    drop(older);
    let outbox = peer.world.outbox.lock().clone();
    outbox.notify(Request::notify("notifications/x", Object::new())).await.unwrap();
    assert_eq!(newer.data().await["method"], "notifications/x");
}

#[tokio::test]
async fn streams_end_with_their_session() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    let mut stream = peer.send(Ask::get(&session)).await;
    let mut call = peer.send(Ask::call(&session, 1, "tools/call", r#"{"name":"notify then wait"}"#)).await;
    peer.send(Ask::delete(&session)).await;
    assert_eq!(stream.event().await, None);
    while call.event().await.is_some() {}
    settle().await;
    assert_eq!(peer.world.dropped.load(std::sync::atomic::Ordering::SeqCst), 1);
    let outbox = peer.world.outbox.lock().clone();
    assert!(outbox.notify(Request::notify("notifications/x", Object::new())).await.is_err());
}

#[tokio::test]
async fn notifications_leave_the_standalone_stream_alone() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    let outbox = peer.world.outbox.lock().clone();
    let mut stream = peer.send(Ask::get(&session)).await;
    for _ in 0..2 {
        outbox.notify(Request::notify("notifications/server", Object::new())).await.unwrap();
        let notification = Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/client"}"#);
        let answer = peer.send(notification.with("mcp-session-id", &session)).await;
        assert_eq!((answer.status, answer.is_stream()), (StatusCode::ACCEPTED, false));
        assert_eq!(stream.data().await["method"], "notifications/server");
    }
}

#[tokio::test(start_paused = true)]
async fn a_notification_is_accepted_before_it_is_dealt_with() {
    let mut limits = mgp_transport::ConnectionLimits::default();
    limits.max_in_flight = 1;
    let peer = peer_with(HttpConfig::default().limits(limits));
    let session = peer.open("2025-11-25").await;
    let slow =
        || Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/slow"}"#).with("mcp-session-id", &session);
    for _ in 0..2 {
        assert_eq!(peer.send(slow()).await.status, StatusCode::ACCEPTED);
    }
    let third = tokio::time::timeout(Duration::from_secs(5), peer.send(slow())).await;
    assert!(third.is_err(), "a flood waits");
    peer.world.gate.add_permits(3);
    settle().await;
    assert_eq!(peer.send(slow()).await.status, StatusCode::ACCEPTED);
    assert_eq!(peer.world.seen.lock().iter().filter(|method| *method == "notifications/slow").count(), 4);
}

#[tokio::test]
async fn a_panic_ends_one_call_and_the_session_goes_on() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    let panicked = peer.send(Ask::call(&session, 1, "tools/call", r#"{"name":"panic"}"#)).await;
    assert_eq!(panicked.json().await["error"]["code"], -32603);
    let answer = peer.send(Ask::call(&session, 2, "tools/call", r#"{"name":"x"}"#)).await;
    assert_eq!(answer.json().await["result"]["done"], true);
    assert_eq!(peer.send(Ask::tool("panic")).await.json().await["error"]["code"], -32603);
}
