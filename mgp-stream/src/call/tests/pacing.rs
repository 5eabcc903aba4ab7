//! Tests of the pace at which chunks leave.

use std::time::Duration;

use mgp_types::mgp::Category;
use mgp_types::{Error, Request, Response, StreamId, code};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use super::super::StreamLayer;
use super::{answered, chunk, layered, start, streamed_call, tell};
use crate::doubles::{self, TestPort, settle};

const PACE: &str = "notifications/mgp.stream.pace";

/// Streams numbers for ever.
async fn count(request: Request) -> Result<Response, Error> {
    for number in 0.. {
        request.context.outbox.notify(chunk(&format!("{number} "))).await?;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(Response::empty())
}

async fn sent_in(port: &TestPort, time: Duration) -> usize {
    let before = port.params().len();
    tokio::time::sleep(time).await;
    settle().await;
    port.params().len() - before
}

#[tokio::test(start_paused = true)]
async fn a_pace_delays_chunks_and_keeps_their_order() {
    let (_, mut service) = layered(count);
    let port = TestPort::new();
    let running = start(&mut service, streamed_call(&port)).await;
    let second = Duration::from_secs(1);
    assert!(sent_in(&port, second).await > 900);
    tell(&mut service, running.stream, PACE, r#"{"max_chunks_per_second":10}"#).await;
    assert!((9..=11).contains(&sent_in(&port, second).await));
    tell(&mut service, running.stream, PACE, r#"{"max_chunks_per_sec":0.5,"reason":"ui"}"#).await;
    assert!((4..=6).contains(&sent_in(&port, second * 10).await));
    for wrong in [r#"{"max_chunks_per_second":-1}"#, r#"{"max_chunks_per_second":"fast"}"#, "{}"] {
        tell(&mut service, running.stream, PACE, wrong).await;
    }
    assert!(sent_in(&port, second * 2).await <= 2);
    tell(&mut service, running.stream, PACE, r#"{"max_chunks_per_second":1000000}"#).await;
    assert!(sent_in(&port, second).await > 900);
    tell(&mut service, StreamId::fresh(), PACE, r#"{"max_chunks_per_second":0}"#).await;
    for (index, params) in port.params().iter().enumerate() {
        assert!(
            params.starts_with(&format!(r#"{{"index":{index},"#))
                && params.contains(&format!(r#""{index} ""#))
        );
    }
    running.task.abort();
}

#[tokio::test(start_paused = true)]
async fn a_pause_ends_with_the_next_pace() {
    let (_, mut service) = layered(count);
    let port = TestPort::new();
    let running = start(&mut service, streamed_call(&port)).await;
    tell(&mut service, running.stream, PACE, r#"{"max_chunks_per_second":0}"#).await;
    assert!(sent_in(&port, Duration::from_secs(9)).await <= 1);
    tell(&mut service, running.stream, PACE, r#"{"max_chunks_per_second":1}"#).await;
    assert!(sent_in(&port, Duration::from_secs(5)).await >= 4);
    running.task.abort();
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_does_not_end_ends_the_call() {
    let (layer, mut service) = layered(count);
    let port = TestPort::new();
    let running = start(&mut service, streamed_call(&port)).await;
    tell(&mut service, running.stream, PACE, r#"{"max_chunks_per_second":0}"#).await;
    let paused = Instant::now();
    let error = running.task.await.unwrap().unwrap_err();
    assert_eq!(error.code(), code::RESOURCE_EXHAUSTED);
    assert!((9_990..10_010).contains(&paused.elapsed().as_millis()));
    assert_eq!(layer.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_does_not_take_chunks_loses_the_call() {
    let layer = StreamLayer::new();
    // The handler ignores that sending failed, and would go on for ever.
    let mut service = layer.layer(doubles::server(|request| async move {
        loop {
            let _ = request.context.outbox.notify(chunk("a")).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }));
    let port = TestPort::with_room(5);
    let running = start(&mut service, streamed_call(&port)).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    settle().await;
    assert!(!running.task.is_finished());
    port.make_room(1);
    let began = Instant::now();
    let error = running.task.await.unwrap().unwrap_err();
    assert_eq!(error.code(), code::RESOURCE_EXHAUSTED);
    let waited = began.elapsed().as_millis();
    assert!((10_000..10_030).contains(&waited), "{waited}");
    let recovery = error.recovery().unwrap();
    assert_eq!((recovery.category, recovery.retryable), (Some(Category::Resource), Some(false)));
    assert_eq!(layer.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_slow_but_takes_chunks_loses_nothing() {
    let (_, mut service) = layered(|request| async move {
        for number in 0..20 {
            request.context.outbox.notify(chunk(&number.to_string())).await?;
        }
        Ok(Response::empty())
    });
    let port = TestPort::with_room(0);
    let call = tokio::spawn(service.call(streamed_call(&port)));
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(9)).await;
        port.make_room(1);
    }
    let answer = answered(&call.await.unwrap().unwrap());
    assert!(answer.contains(r#""chunks_sent":20,"duration_ms":180"#), "{answer}");
}
