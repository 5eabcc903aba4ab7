use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mgp_types::mgp::{CallOptions, StreamCancel};
use mgp_types::{Method, Object, Origin, Outbox, Request, Response, StreamId};
use tokio::time::sleep;
use tower_layer::Layer;
use tower_service::Service;

use super::*;
use crate::call::{Deadline, Sending, SendingLayer};
use crate::doubles::{Caller, Upstream, millis, tool_call};

/// A server that sends a notification each 80 milliseconds, so many times, and then answers.
fn telling(method: &'static str, times: u32) -> Upstream {
    Upstream::working(move |_, request| async move {
        for _ in 0..times {
            sleep(millis(80)).await;
            request.context.outbox.notify(Request::notify(method, Object::new())).await?;
        }
        sleep(millis(80)).await;
        Ok(Response::empty())
    })
}

fn limited(server: Upstream) -> Sending<Upstream> {
    SendingLayer::new().attempt_timeout(millis(100), millis(1000)).layer(server)
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_up_and_the_attempt_dropped() {
    let server = Upstream::after(millis(101));
    let mut service = limited(server.clone());
    let mut call = std::pin::pin!(service.call(tool_call()));
    let error = call.as_mut().await.unwrap_err();
    assert_eq!((error.code(), error.origin()), (3003, Origin::Timeout));
    assert!(error.recovery().unwrap().may_retry());
    assert_eq!(server.running(), 0);
    assert!(limited(Upstream::after(millis(99))).call(tool_call()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_give_more_time_whether_the_caller_wants_them_or_not() {
    for method in
        ["notifications/progress", "notifications/mgp.stream.progress", "notifications/mgp.stream.chunk"]
    {
        assert!(limited(telling(method, 5)).call(tool_call()).await.is_ok(), "{method}");
        let caller = Arc::new(Caller::default());
        let mut request = tool_call();
        request.context.outbox = caller.outbox();
        let stream = request.context.outbox.stream();
        assert!(limited(telling(method, 5)).call(request).await.is_ok(), "{method}");
        let got = caller.got();
        assert_eq!(got.len(), 5);
        assert!(got.iter().all(|(on, notification)| *on == stream && notification.method == *method));
    }
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_do_not_help_for_ever_and_what_is_not_about_the_call_is_none() {
    for (method, ends_after) in [("notifications/progress", 1000), ("notifications/message", 100)] {
        let began = Instant::now();
        let error = limited(telling(method, 50)).call(tool_call()).await.unwrap_err();
        assert_eq!((error.code(), began.elapsed()), (3003, millis(ends_after)), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_in_which_somebody_is_asked_does_not_count() {
    for (before, after, is_in_time) in [(40, 50, true), (90, 5, true), (40, 70, false), (0, 101, false)] {
        let server = Upstream::working(move |_, request| async move {
            sleep(millis(before)).await;
            let question = Request::call("elicitation/create", Object::new());
            let answer = request.context.outbox.call(question).await;
            sleep(millis(after)).await;
            answer
        });
        let layer = SendingLayer::new().attempt_timeout(millis(100), millis(100));
        let mut request = tool_call();
        request.context.outbox = Arc::new(Caller::default()).outbox();
        let began = Instant::now();
        let outcome = layer.layer(server).call(request).await;
        assert_eq!(outcome.is_ok(), is_in_time, "{before} and {after}");
        assert!(began.elapsed() <= Duration::from_hours(1) + millis(107), "{:?}", began.elapsed());
    }
    let asking = Upstream::working(|_, request| async move {
        request.context.outbox.call(Request::call("elicitation/create", Object::new())).await
    });
    let refused = limited(asking).call(tool_call()).await.unwrap_err();
    assert_eq!(refused.code(), -32600, "a caller that cannot be asked is not asked");
}

#[tokio::test(start_paused = true)]
async fn the_time_that_is_left_is_written_only_for_servers_that_read_it() {
    let server = Upstream::after(millis(1));
    let speaks_mgp = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&speaks_mgp);
    let mut service = SendingLayer::new()
        .attempt_timeout(millis(100), millis(100))
        .carry_when(move || asked.load(Ordering::Relaxed))
        .layer(server.clone());
    let mut request = tool_call();
    request.extensions.insert(Deadline::at(Instant::now() + millis(500)));
    let carried = || CallOptions::of(&server.seen().pop().unwrap().params).deadline_ms;

    service.call(request.clone()).await.unwrap();
    assert_eq!(carried(), Some(500));
    sleep(millis(20)).await;
    service.call(request.clone()).await.unwrap();
    assert_eq!(carried(), Some(479), "each attempt tells what is left then");
    service.call(tool_call()).await.unwrap();
    assert_eq!(carried(), None, "a call without a deadline");
    let mut read = request.clone();
    read.method = Method::RESOURCES_READ;
    service.call(read).await.unwrap();
    assert_eq!(carried(), None, "what is no call of a tool");
    speaks_mgp.store(false, Ordering::Relaxed);
    service.call(request).await.unwrap();
    assert_eq!(carried(), None, "a server that does not read it");
}

#[tokio::test(start_paused = true)]
async fn a_message_about_a_call_stays_on_its_stream() {
    let server = Upstream::after(millis(1));
    let stream = StreamId::fresh();
    let mut cancel = Request::with_body("mgp/stream/cancel", &StreamCancel::default()).unwrap();
    cancel.context.outbox = Outbox::on(stream);
    limited(server.clone()).call(cancel).await.unwrap();
    let seen = server.seen().pop().unwrap().context.outbox;
    assert_eq!((seen.stream(), seen.is_open()), (stream, false));
}

#[tokio::test(start_paused = true)]
async fn each_call_has_a_stream_of_its_own_to_be_told_on() {
    let server = Upstream::after(millis(1));
    let mut service = limited(server.clone());
    service.call(tool_call()).await.unwrap();
    service.call(tool_call()).await.unwrap();
    let streams: Vec<_> = server.seen().iter().map(|request| request.context.outbox.stream()).collect();
    assert!(streams[0] != streams[1] && !streams.contains(&StreamId::STANDALONE));
}
