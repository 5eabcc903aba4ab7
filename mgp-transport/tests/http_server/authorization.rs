//! Errors from behind HTTP that have a status of their own: demands for authorization, and those of a process that is unavailable.

use http::StatusCode;
use mgp_types::code;

use crate::peer::{Answer, Ask, peer};
use crate::stack::{CHALLENGE, SCOPE_CHALLENGE};

fn call(session: &str, tool: &str) -> Ask {
    Ask::call(session, 1, "tools/call", &format!(r#"{{"name":"{tool}"}}"#))
}

fn challenges(answer: &Answer) -> Vec<&str> {
    let values = answer.headers.get_all("www-authenticate");
    values.iter().map(|value| value.to_str().unwrap()).collect()
}

async fn assert_demands(answer: Answer, status: StatusCode, challenge: &str) {
    assert_eq!(answer.status, status);
    assert_eq!(challenges(&answer), [challenge]);
    let json = answer.json().await;
    assert_eq!(json["id"], 1);
    assert_eq!(json["error"]["code"], code::PERMISSION_DENIED);
}

#[tokio::test]
async fn a_demand_is_answered_with_its_status_and_challenge_2026() {
    let peer = peer();
    assert_demands(peer.send(Ask::tool("token")).await, StatusCode::UNAUTHORIZED, CHALLENGE).await;
    assert_demands(peer.send(Ask::tool("scope")).await, StatusCode::FORBIDDEN, SCOPE_CHALLENGE).await;
}

#[tokio::test]
async fn a_demand_is_answered_with_its_status_and_challenge_2025() {
    let peer = peer();
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = peer.open(revision).await;
        let answer = peer.send(call(&session, "token")).await;
        assert_demands(answer, StatusCode::UNAUTHORIZED, CHALLENGE).await;
        let answer = peer.send(call(&session, "scope")).await;
        assert_demands(answer, StatusCode::FORBIDDEN, SCOPE_CHALLENGE).await;
        let answer = peer.send(call(&session, "x")).await;
        assert_eq!(answer.status, StatusCode::OK, "the session goes on");
    }
}

#[tokio::test]
async fn a_demand_of_a_notification_is_no_acceptance() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/secret"}"#;
    let answer = peer.send(Ask::post(notification).with("mcp-session-id", &session)).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert_eq!(challenges(&answer), [CHALLENGE]);
}

#[tokio::test]
async fn behind_the_beginning_of_a_stream_only_the_error_is_left() {
    let peer = peer();
    let session = peer.open("2025-06-18").await;
    for ask in [Ask::tool("notify then scope"), call(&session, "notify then scope")] {
        let mut answer = peer.send(ask).await;
        assert_eq!((answer.status, challenges(&answer).len()), (StatusCode::OK, 0));
        assert_eq!(answer.data().await["params"]["progress"], 1);
        assert_eq!(answer.data().await["error"]["code"], code::PERMISSION_DENIED);
        assert_eq!(answer.event().await, None);
    }
}

#[tokio::test]
async fn a_batch_has_the_error_of_each_call_and_no_status_of_one() {
    let peer = peer();
    let session = peer.open("2025-03-26").await;
    let call = |id, tool| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#)
    };
    let batch = format!("[{},{}]", call(1, "scope"), call(2, "x"));
    let answer = peer.send(Ask::post(batch).with("mcp-session-id", &session)).await;
    assert_eq!((answer.status, challenges(&answer).len()), (StatusCode::OK, 0));
    let answers = answer.json().await;
    assert_eq!(answers[0]["error"]["code"], code::PERMISSION_DENIED);
    assert_eq!(answers[1]["result"]["done"], true);
}

#[tokio::test]
async fn a_challenge_that_is_no_header_is_left_out_and_the_demand_stands() {
    let answer = peer().send(Ask::tool("broken challenge")).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert_eq!(challenges(&answer).len(), 0);
    assert!(!answer.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn what_another_process_may_answer_has_the_status_that_load_balancers_read() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    for ask in [Ask::tool("away"), call(&session, "away")] {
        let answer = peer.send(ask).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(answer.json().await["error"]["message"].as_str().unwrap().contains("the database is away"));
    }
}
