//! Bad messages of a peer: each gets the exact error of the specification, and the connection lives on.

use std::future::Ready;

use mgp_transport::ConnectionLimits;
use mgp_types::{Error, Response};

use crate::support::*;

// covers: GGEN-2-01, GGEN-5-01, GGEN-8.1-01
#[tokio::test]
async fn broken_json_is_answered_and_the_connection_lives() {
    let mut peer = Peer::in_session(&server()).await;
    for line in ["{", "{'a':1}", r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#, "\u{1}", "{} {}"] {
        let answer = peer.round_trip(line).await;
        assert!(answer.contains(r#""code":-32700"#) && !answer.contains(r#""id""#), "{line}: {answer}");
    }
    peer.lives_on().await;
}

// covers: GGEN-2-01, GGEN-5-02
#[tokio::test]
async fn what_is_not_a_request_is_an_invalid_request() {
    let mut peer = Peer::in_session(&server()).await;
    for line in [
        "1",
        "null",
        "{}",
        "[]",
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":{"y":1,"y":2}}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    ] {
        let answer = peer.round_trip(line).await;
        assert!(answer.contains(r#""code":-32600"#), "{line}: {answer}");
    }
    peer.lives_on().await;
}

#[tokio::test]
async fn depth_bombs_are_refused() {
    let mut peer = Peer::in_session(&server()).await;
    let bomb = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{}1"#, "[".repeat(100_000));
    assert!(peer.round_trip(&bomb).await.contains(r#""code":-32600"#));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{}{}}}}}"#,
        "[".repeat(100),
        "]".repeat(100)
    );
    assert!(peer.round_trip(&deep).await.contains(r#""result":{}"#));
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_and_skipped_whatever_its_length() {
    let mut limits = ConnectionLimits::default();
    limits.max_frame_bytes = 1 << 10;
    let mut peer = Peer::with_limits(&server(), limits);
    let long = "x".repeat(1 << 20);
    for line in [
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{long}"}}}}"#),
        format!(r#"{{"method":"ping","params":{{"x":"{long}"}},"jsonrpc":"2.0","id":1}}"#),
    ] {
        let answer = peer.round_trip(&line).await;
        assert!(answer.contains(r#""code":-32600"#) && answer.contains("longer"), "{answer}");
        assert!(answer.contains(r#""id":1"#) && answer.contains(r#""max_bytes":1024"#), "{answer}");
    }
    // A notification is not answered.
    peer.send(&format!(r#"{{"jsonrpc":"2.0","method":"test/x","params":{{"x":"{long}"}}}}"#)).await;
    peer.lives_on().await;
}

#[tokio::test]
async fn half_a_frame_before_the_end_is_answered() {
    let mut peer = Peer::in_session(&server()).await;
    peer.send_bytes(br#"{"jsonrpc":"2.0","id":1,"meth"#).await;
    peer.end_of_input().await;
    let rest = peer.rest().await;
    assert_eq!(rest.len(), 1);
    assert!(rest[0].contains(r#""code":-32700"#));
    peer.connection.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_whole_frame_needs_no_line_end_before_the_end() {
    let mut peer = Peer::in_session(&server()).await;
    peer.send_bytes(br#"{"jsonrpc":"2.0","id":1,"method":"test/later"}"#).await;
    peer.end_of_input().await;
    assert_eq!(peer.rest().await, [r#"{"jsonrpc":"2.0","id":1,"result":{"later":true}}"#]);
}

// covers: GGEN-5-03, GGEN-5-04
#[tokio::test]
async fn unknown_methods_and_wrong_params_are_told_apart() {
    let mut peer = Peer::in_session(&server()).await;
    let unknown = peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#).await;
    assert!(unknown.contains(r#""code":-32601"#), "{unknown}");
    for params in ["1", "[1]", "\"x\""] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}"#);
        let wrong = peer.round_trip(&line).await;
        assert!(wrong.contains(r#""id":1"#) && wrong.contains(r#""code":-32602"#), "{wrong}");
    }
}

#[tokio::test]
async fn an_id_in_use_is_refused() {
    let mut peer = Peer::in_session(&server()).await;
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"test/hang"}"#).await;
    let answer = peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"method":"test/later"}"#).await;
    assert!(answer.contains(r#""code":-32600"#), "{answer}");
    peer.lives_on().await;
}

#[tokio::test]
async fn answers_nobody_waits_for_are_ignored() {
    let mut peer = Peer::in_session(&server()).await;
    for line in [
        r#"{"jsonrpc":"2.0","id":999,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/no/such","params":{"a":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
    ] {
        peer.send(line).await;
        peer.lives_on().await;
    }
}

#[tokio::test]
async fn the_second_of_two_answers_is_ignored() {
    let mut peer = Peer::in_session(&server()).await;
    let asked =
        peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}"#).await;
    assert!(asked.contains("elicitation/create"), "{asked}");
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#;
    assert!(peer.round_trip(answer).await.contains(r#""action":"decline""#));
    peer.send(answer).await;
    peer.lives_on().await;
}

#[tokio::test]
async fn an_answer_after_the_cancel_is_ignored() {
    let mut peer = Peer::in_session(&server()).await;
    peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}"#).await;
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    let received = peer.line().await;
    assert_eq!(received, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    peer.send(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#).await;
    peer.lives_on().await;
}

#[tokio::test]
async fn a_cancelled_request_is_not_answered() {
    let mut peer = Peer::in_session(&server()).await;
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"test/hang"}"#).await;
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    peer.lives_on().await;
    let again = peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"method":"test/later"}"#).await;
    assert!(again.contains(r#""later":true"#), "{again}");
}

#[tokio::test]
async fn a_handler_that_panics_is_answered() {
    let mut peer = Peer::in_session(&server()).await;
    let answer = peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"method":"test/panic"}"#).await;
    assert!(answer.contains(r#""id":1"#) && answer.contains(r#""code":-32603"#), "{answer}");
    peer.lives_on().await;
}

#[tokio::test]
async fn a_flood_beyond_the_limit_is_refused() {
    let mut limits = ConnectionLimits::default();
    limits.max_in_flight = 8;
    let mut peer = Peer::with_limits(&server(), limits);
    for id in 0..9 {
        peer.send(&stateless(id, "test/hang", "")).await;
    }
    let answer = peer.line().await;
    assert!(answer.contains(r#""id":8"#) && answer.contains("too many requests"), "{answer}");
}

#[tokio::test]
async fn a_panic_before_the_first_await_leaves_the_connection_alive() {
    let broken = Does(|_| -> Ready<Result<Response, Error>> { panic!("the service is broken") });
    let (_, mut peer) = connected(broken, ConnectionLimits::default());
    let answer = peer.round_trip(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
    assert!(answer.contains(r#""code":-32603"#), "{answer}");
    peer.lives_on().await;
}

#[tokio::test]
async fn notifications_that_are_never_done_are_bounded() {
    let mut limits = ConnectionLimits::default();
    limits.max_in_flight = 2;
    let mut peer = Peer::with_limits(&server(), limits);
    peer.send(INITIALIZE).await;
    peer.line().await;
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for _ in 0..10 {
        peer.send(r#"{"jsonrpc":"2.0","method":"test/hang"}"#).await;
    }
    peer.lives_on().await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before + 2);
}
