//! Tests of cancelled calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mgp_types::{BoxFuture, Error, Request, Response, StreamId};
use tower_layer::Layer;
use tower_service::Service;

use super::{Dropped, about, answered, call, cancel, chunk, layered, start, streamed_call};
use crate::call::{CancelsUpstream, StreamLayer};
use crate::doubles::{self, TestPort, object, result, settle, text};

/// The answer to the cancellation of a call that is over.
const NOT_ACTIVE: &str = r#"{"cancelled":false,"reason":"not_active"}"#;

// covers: MGP-12.7-01, MGP-12.7-04..06
#[tokio::test(start_paused = true)]
async fn both_the_cancellation_and_the_call_are_answered_with_what_there_was() {
    let gone = Arc::<AtomicBool>::default();
    let seen = gone.clone();
    let (layer, mut service) = layered(move |request| {
        let dropped = Dropped(seen.clone());
        async move {
            let _dropped = dropped;
            for part in ["Quantum ", "computing "] {
                request.context.outbox.notify(chunk(part)).await?;
            }
            std::future::pending().await
        }
    });
    let running = start(&mut service, streamed_call(&TestPort::new())).await;
    assert_eq!(layer.calls(), 1);
    tokio::time::sleep(Duration::from_millis(40)).await;
    let content = r#"[{"type":"text","text":"Quantum computing "}]"#;
    let answer = cancel(&mut service, running.stream).await;
    assert_eq!(
        answered(&answer),
        format!(r#"{{"cancelled":true,"partial_result":{{"content":{content}}}}}"#)
    );
    // The call is gone from the table even before it was answered.
    assert_eq!(answered(&cancel(&mut service, running.stream).await), NOT_ACTIVE);
    settle().await;
    assert!(gone.load(Ordering::Relaxed));
    assert_eq!(layer.calls(), 0);
    let summary = r#"{"streamed":true,"chunks_sent":2,"duration_ms":40,"cancelled":true}"#;
    let answer = running.task.await.unwrap().unwrap();
    assert_eq!(answered(&answer), format!(r#"{{"content":{content},"_mgp":{summary}}}"#));
    assert_eq!(answered(&cancel(&mut service, running.stream).await), NOT_ACTIVE);
}

// covers: MGP-12.7-01
#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_stream_can_be_stopped_too() {
    let gone = Arc::<AtomicBool>::default();
    let seen = gone.clone();
    let (layer, mut service) = layered(move |_| {
        let dropped = Dropped(seen.clone());
        async move {
            let _dropped = dropped;
            std::future::pending().await
        }
    });
    let running = start(&mut service, call(&TestPort::new(), &["streaming"], "{}")).await;
    tokio::time::sleep(Duration::from_millis(40)).await;
    let answer = cancel(&mut service, running.stream).await;
    assert_eq!(answered(&answer), r#"{"cancelled":true,"partial_result":{"content":[]}}"#);
    assert_eq!(answered(&cancel(&mut service, running.stream).await), NOT_ACTIVE);
    settle().await;
    assert!(gone.load(Ordering::Relaxed));
    assert_eq!(layer.calls(), 0);
    let summary = r#"{"streamed":false,"chunks_sent":0,"duration_ms":40,"cancelled":true}"#;
    let answer = running.task.await.unwrap().unwrap();
    assert_eq!(answered(&answer), format!(r#"{{"content":[],"_mgp":{summary}}}"#));
}

#[tokio::test]
async fn a_call_that_does_not_stream_is_forgotten_when_it_is_over() {
    let (layer, mut service) = layered(|_| async {
        tokio::task::yield_now().await;
        Ok(result("{}"))
    });
    let request = || call(&TestPort::new(), &["streaming"], "{}");
    let running = start(&mut service, request()).await;
    running.task.await.unwrap().unwrap();
    assert_eq!(answered(&cancel(&mut service, running.stream).await), NOT_ACTIVE);
    drop(service.call(request()));
    assert_eq!(layer.calls(), 0);

    let (layer, mut service) = layered(|_| std::future::pending());
    let running = start(&mut service, request()).await;
    assert_eq!(layer.calls(), 1);
    running.task.abort();
    settle().await;
    assert_eq!(layer.calls(), 0);
}

/// A server that gives its answer to a cancellation when it is told to.
#[derive(Clone, Default)]
struct SlowToCancel(Arc<tokio::sync::Mutex<Option<Response>>>);

impl CancelsUpstream for SlowToCancel {
    fn cancel(&self, _: Request) -> BoxFuture<'static, Option<Response>> {
        let answer = Arc::clone(&self.0);
        Box::pin(async move { answer.lock().await.take() })
    }
}

// covers: MGP-12.7-06
#[tokio::test]
async fn what_a_server_answers_while_it_is_asked_to_cancel_counts_only_if_it_does_not_cancel() {
    let cancelled = r#"{"cancelled":true,"partial_result":{"content":[{"type":"text","text":"half"}]}}"#;
    let whole = r#"{"content":[{"type":"text","text":"whole"}]}"#;
    for answer in [Some(cancelled), None] {
        let upstream = SlowToCancel::default();
        let mut reply = Arc::clone(&upstream.0).lock_owned().await;
        let (end, ended) = tokio::sync::watch::channel(());
        let layer = StreamLayer::relaying(upstream);
        let mut service = layer.layer(doubles::server(move |_| {
            let mut ended = ended.clone();
            async move {
                ended.changed().await.map_err(|_| Error::cancelled())?;
                Ok(result(whole))
            }
        }));
        let running = start(&mut service, call(&TestPort::new(), &["streaming"], "{}")).await;
        let mut other = service.clone();
        let stream = running.stream;
        let stopping = tokio::spawn(async move { answered(&cancel(&mut other, stream).await) });
        settle().await;
        end.send(()).unwrap();
        settle().await;
        assert!(!running.task.is_finished());
        *reply = answer.map(result);
        drop(reply);
        assert_eq!(stopping.await.unwrap(), answer.unwrap_or(NOT_ACTIVE));
        let call = answered(&running.task.await.unwrap().unwrap());
        match answer {
            Some(_) => {
                assert!(call.contains(r#""text":"half""#) && call.contains(r#""cancelled":true"#), "{call}");
            }
            None => assert_eq!(call, whole),
        }
        assert_eq!(layer.calls(), 0);
    }
}

#[tokio::test]
async fn of_two_works_on_one_stream_the_later_one_is_found() {
    let (layer, mut service) = layered(|_| std::future::pending());
    let request = call(&TestPort::new(), &["streaming"], "{}");
    let first = start(&mut service, request.clone()).await;
    let second = start(&mut service, request).await;
    first.task.abort();
    settle().await;
    assert_eq!(layer.calls(), 1);
    cancel(&mut service, second.stream).await;
    assert!(answered(&second.task.await.unwrap().unwrap()).contains(r#""cancelled":true"#));
    assert_eq!(layer.calls(), 0);
}

// covers: MGP-12.7-04
#[tokio::test]
async fn calls_that_are_over_or_unknown_are_not_active() {
    let (layer, mut service) = layered(|_| async { Ok(Response::empty()) });
    let request = streamed_call(&TestPort::new());
    let stream = request.context.outbox.stream();
    service.call(request).await.unwrap();
    for stream in [stream, StreamId::fresh(), StreamId::STANDALONE] {
        assert_eq!(answered(&cancel(&mut service, stream).await), NOT_ACTIVE);
    }
    assert_eq!(layer.calls(), 0);
}

// covers: MGP-12.7-02
#[tokio::test]
async fn only_the_named_call_is_stopped() {
    let (layer, mut service) = layered(|_| std::future::pending());
    let first = start(&mut service, streamed_call(&TestPort::new())).await;
    let second = start(&mut service, streamed_call(&TestPort::new())).await;
    let mut sibling = service.clone();
    cancel(&mut sibling, second.stream).await;
    second.task.await.unwrap().unwrap();
    assert!(!first.task.is_finished());
    assert_eq!(layer.calls(), 1);
    first.task.abort();
    settle().await;
    assert_eq!(layer.calls(), 0);
}

#[tokio::test]
async fn a_call_that_the_connection_drops_is_forgotten_with_what_it_streamed() {
    let gone = Arc::<AtomicBool>::default();
    let seen = gone.clone();
    let (layer, mut service) = layered(move |request| {
        let dropped = Dropped(seen.clone());
        async move {
            let _dropped = dropped;
            request.context.outbox.notify(chunk("a")).await?;
            std::future::pending().await
        }
    });
    let running = start(&mut service, streamed_call(&TestPort::new())).await;
    assert_eq!(layer.calls(), 1);
    running.task.abort();
    settle().await;
    assert!(gone.load(Ordering::Relaxed));
    assert_eq!(layer.calls(), 0);
    assert_eq!(answered(&cancel(&mut service, running.stream).await), NOT_ACTIVE);
}

#[tokio::test]
async fn a_call_that_is_done_when_it_is_first_looked_at_is_never_entered() {
    let (layer, mut service) = layered(|_| async { Ok(result("{}")) });
    let mut future = service.call(streamed_call(&TestPort::new()));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert_eq!(layer.calls(), 0);
    assert!(std::pin::Pin::new(&mut future).poll(&mut context).is_ready());
    assert_eq!(layer.calls(), 0);
}

// covers: MGP-12.7-06
#[tokio::test(start_paused = true)]
async fn a_writer_that_waits_for_room_is_stopped_at_once() {
    let (_, mut service) = layered(|request| async move {
        let outbox = request.context.outbox.clone();
        // The task outlives the handler, and does not know that the call is over.
        let writer = tokio::spawn(async move {
            outbox.notify(chunk("a")).await?;
            outbox.notify(chunk("b")).await
        });
        writer.await.unwrap()?;
        std::future::pending().await
    });
    let port = TestPort::with_room(1);
    let running = start(&mut service, streamed_call(&port)).await;
    cancel(&mut service, running.stream).await;
    settle().await;
    port.make_room(5);
    settle().await;
    assert_eq!(port.methods().len(), 1);
    let answer = running.task.await.unwrap().unwrap();
    assert!(answered(&answer).contains(r#""chunks_sent":1"#));
}

// covers: MGP-12.7-05
#[tokio::test(start_paused = true)]
async fn a_partial_result_that_is_not_whole_says_so() {
    let (_, mut service) = layered(|request| async move {
        for _ in 0..12 {
            request.context.outbox.notify(chunk(&"x".repeat(100_000))).await?;
        }
        std::future::pending().await
    });
    let running = start(&mut service, streamed_call(&TestPort::new())).await;
    let answer = answered(&cancel(&mut service, running.stream).await);
    assert!(answer.ends_with(r#""}],"truncated":true}}"#) && answer.len() > 1_000_000);
    let answer = answered(&running.task.await.unwrap().unwrap());
    assert!(answer.ends_with(r#""chunks_sent":12,"duration_ms":0,"cancelled":true,"truncated":true}}"#));
}

#[tokio::test]
async fn a_cancellation_that_expects_no_answer_is_not_one() {
    let (_, mut service) =
        layered(
            |request| async move { Ok(result(&format!("{:?}", request.method.as_str()).replace('/', "."))) },
        );
    let request = Request::notify("mgp/stream/cancel", object("{}"));
    let answer = service.call(about(StreamId::fresh(), request)).await.unwrap();
    assert_eq!(text(&answer.result), r#""mgp.stream.cancel""#);
}
