//! Callers that take what is said about their calls slowly, or not at all.

use std::time::Duration;

use mgp_transport::ConnectionLimits;
use mgp_types::{Params, Request, code};
use tokio::time::Instant;

use crate::support::*;

fn limits(messages: usize, bytes: usize) -> ConnectionLimits {
    let mut limits = ConnectionLimits::default();
    limits.max_undelivered = messages;
    limits.max_undelivered_bytes = bytes;
    limits
}

/// Returns a chunk of 100 bytes and more.
fn chunk(id: i64, index: usize) -> String {
    format!(r#""request_id":{id},"index":{index},"text":"{}""#, "x".repeat(100))
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_slows_the_peer_and_loses_nothing() {
    for limits in [limits(8, 1 << 20), limits(1024, 2000)] {
        let (wire, mut peer) = client(limits);
        let reader = reader_of(0);
        let call = start(&wire, followed(&reader));
        let id = peer.asked("tools/call").await;
        let mut sent = 0;
        // Until both queues and the pipe between are full.
        while sent < 1000
            && tokio::time::timeout(Duration::from_millis(10), peer.tell("stream.chunk", &chunk(id, sent)))
                .await
                .is_ok()
        {
            sent += 1;
        }
        assert!((8..100).contains(&sent), "{sent}");
        reader.permits.add_permits(1 << 20);
        settle().await;
        // The message in which the peer was interrupted has begun.
        peer.send("").await;
        peer.answer(id).await;
        call.await.unwrap().unwrap();
        let indices: Vec<_> = reader
            .noted()
            .iter()
            .map(|noted| noted.split(r#""index":"#).nth(1).unwrap().split(',').next().unwrap().to_owned())
            .collect();
        let expected: Vec<_> = (0..indices.len()).map(|index| index.to_string()).collect();
        assert_eq!(indices, expected);
        assert!(indices.len() >= sent, "{} of {sent}", indices.len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_loses_its_call_and_others_go_on() {
    let (wire, mut peer) = client(limits(4, 1 << 20));
    let stuck = reader_of(0);
    let call = start(&wire, followed(&stuck));
    let id = peer.asked("tools/call").await;
    let other = start(&wire, followed(&reader()));
    let other_id = peer.asked("tools/call").await;
    let plain = start(&wire, Request::call("ping", Params::new()));
    let plain_id = peer.asked("ping").await;

    // One is being delivered, four wait.
    let began = Instant::now();
    for index in 0..6 {
        peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":{index}"#)).await;
    }
    peer.answer(plain_id).await;
    peer.answer(other_id).await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.code(), code::RESOURCE_EXHAUSTED);
    assert!(error.message().contains("too slow"), "{error}");
    assert_eq!(began.elapsed().as_secs(), 5);
    let line = peer.line().await;
    assert_eq!(
        line,
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
    );
    plain.await.unwrap().unwrap();
    other.await.unwrap().unwrap();
    assert_eq!(began.elapsed().as_secs(), 5);
    assert_eq!(std::sync::Arc::strong_count(&stuck), 1);
    peer.answer(id).await;
    peer.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_gives_up_lets_the_others_go_on_at_once() {
    let (wire, mut peer) = client(limits(1, 1 << 20));
    let call = start(&wire, followed(&reader_of(0)));
    let id = peer.asked("tools/call").await;
    let plain = start(&wire, Request::call("ping", Params::new()));
    let plain_id = peer.asked("ping").await;
    let began = Instant::now();
    for index in 0..3 {
        peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":{index}"#)).await;
    }
    peer.answer(plain_id).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!plain.is_finished());
    call.abort();
    plain.await.unwrap().unwrap();
    assert_eq!(began.elapsed().as_secs(), 1);
}

/// The time is that of all waits together, so that nobody is kept waiting for longer by many short ones.
#[tokio::test(start_paused = true)]
async fn patience_is_for_one_call_in_sum() {
    let (wire, mut peer) = client(limits(1, 1 << 20));
    let slow = reader_of(0);
    let call = start(&wire, followed(&slow));
    let id = peer.asked("tools/call").await;
    let began = Instant::now();
    let took = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            slow.permits.add_permits(1);
        }
    });
    let teller = tokio::spawn(async move {
        for index in 0.. {
            peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":{index}"#)).await;
        }
    });
    assert_eq!(call.await.unwrap().unwrap_err().code(), code::RESOURCE_EXHAUSTED);
    assert_eq!(began.elapsed().as_secs(), 5);
    took.abort();
    teller.abort();
}

/// Each caller may be slow for a while, but not one after the other for ever.
#[tokio::test(start_paused = true)]
async fn many_slow_callers_together_do_not_hold_the_others_up_for_ever() {
    let (wire, mut peer) = client(limits(4, 1 << 20));
    let (mut calls, mut ids) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        calls.push(start(&wire, followed(&reader_of(0))));
        ids.push(peer.asked("tools/call").await);
    }
    let plain = start(&wire, Request::call("ping", Params::new()));
    let plain_id = peer.asked("ping").await;
    let began = Instant::now();
    for id in ids {
        for index in 0..6 {
            peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":{index}"#)).await;
        }
        assert!(peer.line().await.contains("notifications/cancelled"));
    }
    peer.answer(plain_id).await;
    plain.await.unwrap().unwrap();
    assert!(began.elapsed().as_secs() < 12, "{:?}", began.elapsed());
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap_err().code(), code::RESOURCE_EXHAUSTED);
    }
}
