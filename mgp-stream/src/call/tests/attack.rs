//! Tests with hostile callers and failing handlers.

use mgp_types::{Request, Response, StreamId};
use tower_service::Service;

use super::{about, answered, cancel, chunk, layered, start, streamed_call};
use crate::doubles::{TestPort, object, settle};

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_leaves_no_call_behind() {
    let (layer, mut service) = layered(|request| async move {
        request.context.outbox.notify(chunk("a")).await?;
        tokio::task::yield_now().await;
        assert!(
            request.context.outbox.is_open() && request.kind != mgp_types::RequestKind::Call,
            "a handler fails"
        );
        Ok(Response::empty())
    });
    let running = start(&mut service, streamed_call(&TestPort::new())).await;
    let stream = running.stream;
    assert!(running.task.await.unwrap_err().is_panic());
    assert_eq!(layer.calls(), 0);
    assert!(answered(&cancel(&mut service, stream).await).contains("not_active"));
}

// covers: MGP-12.7-04
#[tokio::test(start_paused = true)]
async fn a_storm_of_cancellations_stops_one_call_once() {
    let (layer, mut service) = layered(|request| async move {
        request.context.outbox.notify(chunk("a")).await?;
        std::future::pending().await
    });
    let running = start(&mut service, streamed_call(&TestPort::new())).await;
    let other = start(&mut service, streamed_call(&TestPort::new())).await;
    let mut stopped = 0;
    for number in 0..10_000 {
        let stream = if number % 2 == 0 { running.stream } else { StreamId::fresh() };
        stopped += usize::from(answered(&cancel(&mut service, stream).await).contains(r#""cancelled":true"#));
    }
    assert_eq!(stopped, 1);
    assert!(answered(&running.task.await.unwrap().unwrap()).contains(r#""cancelled":true"#));
    assert_eq!(layer.calls(), 1);
    other.task.abort();
}

#[tokio::test(start_paused = true)]
async fn gaps_without_end_bring_each_chunk_once() {
    let (_, mut service) = layered(|request| async move {
        for _ in 0..5 {
            request.context.outbox.notify(chunk("a")).await?;
        }
        std::future::pending().await
    });
    let port = TestPort::new();
    let running = start(&mut service, streamed_call(&port)).await;
    let missing: Vec<u64> = (0..100_000).map(|number| number % 7).chain([u64::MAX; 9]).collect();
    let params = object(&format!(r#"{{"missing_indices":{missing:?}}}"#));
    let gap = Request::notify("notifications/mgp.stream.gap", params);
    service.call(about(running.stream, gap)).await.unwrap();
    settle().await;
    assert_eq!(port.methods().len(), 10);
    running.task.abort();
}
