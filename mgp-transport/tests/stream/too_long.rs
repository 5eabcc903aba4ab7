//! Answers that are refused unread: too long for the connection, or broken.

use mgp_transport::{ConnectionLimits, TooLong};
use mgp_types::{Error, Params, Request};

use crate::support::*;

/// Two calls are in work, the answer to the second is written by `answer` with this much text in it; what comes of it.
async fn answered(answer: impl Fn(&str) -> String) -> Error {
    let mut limits = ConnectionLimits::default();
    limits.max_frame_bytes = 10_000;
    let (service, _requests) = handed();
    let (wire, mut peer) = connected(service, limits);
    let call = || start(&wire, Request::call("test", Params::new()));
    let (other, long) = (call(), call());
    for id in 1..=2 {
        let asked = peer.line().await;
        assert!(asked.contains(&format!(r#""id":{id}"#)), "{asked}");
    }
    peer.send(&answer(&"x".repeat(30_000))).await;
    let error = long.await.unwrap().unwrap_err();
    assert!(!other.is_finished(), "the other call goes on");
    peer.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    assert_eq!(other.await.unwrap().unwrap().result.as_bytes(), b"{}");
    // Nothing else was written about it.
    drop(wire);
    error
}

#[tokio::test(start_paused = true)]
async fn whose_answer_is_not_json_hears_of_it_and_the_others_go_on() {
    for result in [r#"{"a":1,"a":2}"#, "nothing", r#"{"a":"\ud800"}"#] {
        let error = answered(|_| format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#)).await;
        assert!(error.message().contains("malformed"), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn whose_answer_is_too_long_hears_of_it_and_the_others_go_on() {
    let forms: [fn(&str) -> String; 3] = [
        |text| format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"text":"{text}"}}}}"#),
        |text| format!(r#"{{"result":{{"text":"{text}"}},"jsonrpc":"2.0","id":2}}"#),
        |text| format!(r#"{{"id":2,"error":{{"code":1,"message":"{text}"}},"jsonrpc":"2.0"}}"#),
    ];
    for form in forms {
        let error = answered(form).await;
        assert_eq!(TooLong::of(&error), Some(&TooLong::Message { most_bytes: 10_000 }), "{error:?}");
        assert!(error.code() == 3001 && error.message().contains("10000 bytes"), "{error:?}");
    }
}
