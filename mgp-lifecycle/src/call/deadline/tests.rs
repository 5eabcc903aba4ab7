use std::sync::atomic::{AtomicU64, Ordering};

use mgp_types::{Object, Origin, RawJson, Response};
use tokio::time::{advance, sleep};
use tower_layer::Layer;
use tower_service::Service;

use super::*;
use crate::call::SendingLayer;
use crate::doubles::{Caller, Upstream, millis, tool_call};

fn with_params(json: &'static str) -> Request {
    Request::call("tools/call", Object::parse(json).unwrap())
}

async fn time_of(budget: Duration, request: Request) -> Duration {
    let began = Instant::now();
    let never = Upstream::after(Duration::from_hours(2));
    let error = SendingLayer::new().deadline(budget).layer(never).call(request).await.unwrap_err();
    assert_eq!(error.code(), 3003);
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_dropped_and_ends_in_3003() {
    let upstream = Upstream::after(millis(101));
    let mut service = SendingLayer::new().deadline(millis(100)).layer(upstream.clone());
    let mut call = std::pin::pin!(service.call(tool_call()));
    let error = call.as_mut().await.unwrap_err();
    assert_eq!((error.code(), error.origin()), (3003, Origin::Timeout));
    assert_eq!(error.recovery().unwrap().retryable, Some(true));
    assert_eq!(upstream.running(), 0, "the call is dropped before its future is");
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_the_last_moment_counts() {
    let mut service = SendingLayer::new().deadline(millis(100)).layer(Upstream::after(millis(100)));
    assert!(service.call(tool_call()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_shortest_time_holds_whoever_says_it() {
    let attached = |left| {
        let mut request = with_params(r#"{"_mgp":{"deadline_ms":60}}"#);
        request.extensions.insert(Deadline::at(Instant::now() + left));
        request
    };
    assert_eq!(time_of(millis(50), attached(millis(70))).await, millis(50));
    assert_eq!(time_of(millis(80), attached(millis(70))).await, millis(60));
    assert_eq!(time_of(millis(80), attached(millis(40))).await, millis(40));
    assert_eq!(time_of(millis(80), with_params("{}")).await, millis(80));
    assert_eq!(time_of(millis(80), with_params(r#"{"_mgp":7}"#)).await, millis(80));
}

#[tokio::test(start_paused = true)]
async fn the_wish_goes_into_the_extension_and_the_rest_of_it_stays() {
    let upstream = Upstream::answering(|_| Ok(Response::empty()));
    let mut service = SendingLayer::new().deadline(millis(100)).layer(upstream.clone());
    for (sent, forwarded) in [
        (r#"{"name":"t","_mgp":{"deadline_ms":60}}"#, r#"{"name":"t"}"#),
        (r#"{"_mgp":{"deadline_ms":60,"stream":true,"x":1}}"#, r#"{"_mgp":{"stream":true,"x":1}}"#),
        (r#"{"name":"t"}"#, r#"{"name":"t"}"#),
    ] {
        service.call(with_params(sent)).await.unwrap();
        let seen = upstream.seen().pop().unwrap();
        assert_eq!(seen.params.to_raw(), RawJson::parse(forwarded).unwrap());
        let expected = if sent == forwarded { 100 } else { 60 };
        assert_eq!(Deadline::of(&seen).unwrap().left(), millis(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_time_is_over_is_not_sent() {
    let upstream = Upstream::after(millis(1));
    let mut service = SendingLayer::new().deadline(millis(100)).layer(upstream.clone());
    let mut request = tool_call();
    request.extensions.insert(Deadline::at(Instant::now()));
    assert_eq!(service.call(request).await.unwrap_err().code(), 3003);
    assert_eq!(upstream.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn notifications_and_subscriptions_have_no_deadline_no_limit_and_no_outbox() {
    let upstream = Upstream::after(Duration::from_hours(1));
    let layer = SendingLayer::new().deadline(millis(100)).attempt_timeout(millis(100), millis(100));
    let mut service = layer.layer(upstream.clone());
    assert!(service.call(Request::notify("notifications/x", Object::new())).await.is_ok());
    assert!(service.call(Request::call("subscriptions/listen", Object::new())).await.is_ok());
    assert!(service.call(Request::call("tasks/result", Object::new())).await.is_ok());
    let is_untouched =
        |request: &Request| Deadline::of(request).is_none() && !request.context.outbox.is_open();
    assert!(upstream.seen().iter().all(is_untouched));
    let mut waiting = Request::call("tasks/result", Object::new());
    waiting.extensions.insert(Deadline::at(Instant::now() + millis(500)));
    assert_eq!(service.call(waiting).await.unwrap_err().code(), 3003, "unless the request says so");
}

/// A server that asks its caller, who answers after an hour, and works so long after that. What it saw of the time that
/// was left then goes into `left`.
fn asking(after: Duration, left: &Arc<AtomicU64>) -> Upstream {
    let left = Arc::clone(left);
    Upstream::working(move |_, request| {
        let left = Arc::clone(&left);
        async move {
            let question = Request::call("elicitation/create", Object::new());
            let answer = request.context.outbox.call(question).await;
            left.store(crate::span::millis(Deadline::of(&request).unwrap().left()), Ordering::Relaxed);
            sleep(after).await;
            answer
        }
    })
}

fn patient() -> SendingLayer {
    SendingLayer::new().deadline(millis(100)).attempt_timeout(millis(500), millis(500))
}

fn asked(request: Request) -> Request {
    let mut request = request;
    request.context.outbox = Arc::new(Caller::default()).outbox();
    request
}

#[tokio::test(start_paused = true)]
async fn the_time_in_which_somebody_is_asked_does_not_count() {
    for (after, is_in_time) in [(90, true), (101, false)] {
        let left = Arc::default();
        let server = asking(millis(after), &left);
        let began = Instant::now();
        let outcome = patient().layer(server).call(asked(tool_call())).await;
        assert_eq!(outcome.is_ok(), is_in_time, "{after}");
        assert_eq!(left.load(Ordering::Relaxed), 100, "what retries may take is told as it is");
        assert!(began.elapsed() <= Duration::from_hours(1) + millis(200), "{:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_no_longer_does_not_whoever_is_asked() {
    for is_wish in [true, false] {
        let mut request = tool_call();
        if is_wish {
            request = with_params(r#"{"_mgp":{"deadline_ms":150}}"#);
        } else {
            request.extensions.insert(Deadline::at(Instant::now() + millis(150)));
        }
        let server = asking(Duration::ZERO, &Arc::default());
        let began = Instant::now();
        let outcome = patient().layer(server).call(asked(request)).await;
        assert_eq!(outcome.unwrap_err().code(), 3003);
        assert_eq!(began.elapsed(), millis(150));
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_is_read_later_has_moved_with_the_time_that_others_took() {
    let end = Instant::now() + millis(100);
    let mut request = asked(tool_call());
    let time = CallTime { budget_end: end, last_moment: None };
    let _monitor = CallMonitor::begin(&mut request, Watch::Caller, Some(time));
    let attached = Attached::to(&request).unwrap();
    let question = request.context.outbox.call(Request::call("elicitation/create", Object::new()));
    assert!(tokio::time::timeout(millis(150), question).await.is_err());
    assert_eq!(attached.left(Instant::now()), millis(100));
}

#[tokio::test(start_paused = true)]
async fn questions_that_wait_together_count_once() {
    let (asked, second) = (Asked::default(), Duration::from_secs(1));
    asked.begin();
    advance(second).await;
    asked.begin();
    advance(second).await;
    asked.end();
    assert!(asked.until(Instant::now()).is_open);
    advance(second).await;
    asked.end();
    assert!(!asked.until(Instant::now()).is_open);
    advance(second).await;
    assert_eq!(asked.until(Instant::now()).total, second * 3);
    asked.begin();
    advance(second).await;
    assert_eq!(asked.until(Instant::now()).total, second * 4);
}
