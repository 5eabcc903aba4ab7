use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{AuditPort, CallRecord, EventType, Outcome, Recovery, TraceId};
use mgp_types::{Error, Object, RawJson, Request, Response};
use proptest::prelude::*;
use tokio::time::{Instant, sleep, timeout};
use tower_layer::Layer;
use tower_service::Service;

use super::*;
use crate::call::{Deadline, Sending, SendingLayer};
use crate::doubles::{Caller, Log, Upstream, call_of, millis, peer_error, tool_call};

const READS: &str = r#"{"readOnlyHint":true}"#;

/// What passes, to be tried again twice, without a pause.
fn passing() -> Recovery {
    Recovery::default().with_retryable(true).with_retry_strategy("immediate".into()).with_max_retries(2)
}

fn retrying(server: &Upstream) -> Sending<Upstream> {
    SendingLayer::new().retry(RetryPolicy::default()).layer(server.clone())
}

async fn calls_of(request: Request, error: &Error) -> usize {
    let server = Upstream::failing(error);
    let answer = retrying(&server).call(request).await;
    assert_eq!(answer.unwrap_err().code(), error.code());
    server.calls()
}

// covers: MGP-14.6-01, MGP-14.6-03, MGP-14.1-01
#[tokio::test(start_paused = true)]
async fn i_5_a_limited_call_is_made_three_times_at_least_50_ms_apart() {
    let data = r#"{"_mgp":{"category":"resource","retryable":true,"retry_after_ms":50,"max_retries":2}}"#;
    let error = Error::from_origin(mgp_types::Origin::Peer, 3000, "rate limited")
        .with_data(RawJson::parse(data).unwrap());
    let server = Upstream::failing(&error);
    let answer = retrying(&server).call(tool_call()).await.unwrap_err();
    let times = server.times();
    assert_eq!(times.len(), 3);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= millis(50)), "{times:?}");
    assert_eq!((answer.code(), answer.message()), (3000, "rate limited"));
    assert_eq!(answer.data().unwrap().as_bytes(), data.as_bytes());
}

// covers: MGP-14.6-06, MGP-14.6-07
#[tokio::test(start_paused = true)]
async fn an_error_that_does_not_say_retryable_is_reported_at_once_as_it_is() {
    for data in [
        r#"{"_mgp":{"retryable":false,"retry_after_ms":1,"max_retries":3}}"#,
        r#"{"_mgp":{"retry_after_ms":1,"max_retries":3}}"#,
        r#"{"_mgp":{"retryable":"true"}}"#,
        "{}",
    ] {
        let error = Error::from_origin(mgp_types::Origin::Peer, 2001, "draining")
            .with_data(RawJson::parse(data).unwrap());
        let server = Upstream::failing(&error);
        let answer = retrying(&server).call(call_of(READS)).await.unwrap_err();
        assert_eq!(server.calls(), 1, "{data}");
        assert_eq!((answer.code(), answer.message()), (2001, "draining"));
        assert_eq!(answer.data().unwrap().as_bytes(), data.as_bytes());
    }
    assert_eq!(calls_of(call_of(READS), &Error::disconnected("gone")).await, 1);
}

#[tokio::test(start_paused = true)]
async fn what_may_have_been_done_is_done_again_only_if_that_does_no_harm() {
    for code in [3001, 3003, 5000, 5001, 5002, 4000, -32603] {
        let error = peer_error(code, passing());
        assert_eq!(calls_of(tool_call(), &error).await, 1, "{code}");
        assert_eq!(calls_of(call_of("{}"), &error).await, 1, "{code}");
        assert_eq!(calls_of(call_of(r#"{"readOnlyHint":false}"#), &error).await, 1, "{code}");
        assert_eq!(calls_of(call_of(READS), &error).await, 3, "{code}");
        assert_eq!(calls_of(call_of(r#"{"idempotentHint":true}"#), &error).await, 3, "{code}");
        assert_eq!(calls_of(Request::call("tools/list", Object::new()), &error).await, 3, "{code}");
        assert_eq!(calls_of(Request::call("vendor/pay", Object::new()), &error).await, 1, "{code}");
    }
    for code in [1002, 1003, 2000, 2001, 2002, 3000] {
        assert_eq!(calls_of(tool_call(), &peer_error(code, passing())).await, 3, "{code}");
    }
}

// covers: MGP-14.6-05
#[tokio::test(start_paused = true)]
async fn each_attempt_that_is_made_again_is_recorded() {
    let log = Arc::new(Log::default());
    let error = peer_error(3000, passing().with_retry_after_ms(50));
    let mut request = call_of(READS);
    request.context.trace = TraceId::from_u128(7);
    let layer =
        SendingLayer::new().retry(RetryPolicy::default()).audit(Arc::clone(&log) as Arc<dyn AuditPort>);
    let _ = layer.layer(Upstream::failing(&error)).call(request).await;
    let events = log.events();
    for event in &events {
        assert_eq!((&event.event_type, event.result), (&EventType::ToolExecuted, Outcome::Failure));
        assert_eq!(event.trace_id.as_u128(), 7);
        assert_eq!(event.target.server_id, Some("web".into()));
        assert_eq!(event.target.tool_name, Some("search".into()));
    }
    assert_eq!(
        log.details("retry"),
        [
            r#"{"attempt":1,"max":2,"after_ms":50,"code":3000}"#,
            r#"{"attempt":2,"max":2,"after_ms":50,"code":3000}"#
        ]
    );
    let _ = layer.layer(Upstream::failing(&error)).call(Request::call("tools/list", Object::new())).await;
    assert_eq!(log.events()[2].event_type.as_str(), "dev.cloto.mgp.request_retried");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_is_not_made_again() {
    let log = Arc::new(Log::default());
    log.fail();
    let server = Upstream::failing(&peer_error(3000, passing()));
    let layer = SendingLayer::new().retry(RetryPolicy::default()).audit(log);
    assert_eq!(layer.layer(server.clone()).call(tool_call()).await.unwrap_err().code(), 3000);
    assert_eq!(server.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_would_pass_the_deadline_is_not_begun() {
    let server = Upstream::failing(&peer_error(3000, passing().with_retry_after_ms(60)));
    let mut service = retrying(&server);
    let began = Instant::now();
    let mut request = tool_call();
    request.extensions.insert(Deadline::at(began + millis(100)));
    assert_eq!(
        service.call(request).await.unwrap_err().code(),
        3000,
        "the error is given back, not a timeout"
    );
    assert_eq!((server.calls(), began.elapsed() < millis(65)), (2, true));
}

#[tokio::test(start_paused = true)]
async fn who_has_seen_a_part_or_was_asked_does_not_get_it_twice() {
    for (method, calls) in [
        ("notifications/mgp.stream.chunk", 1),
        ("notifications/mgp.callback.request", 1),
        ("notifications/progress", 3),
    ] {
        let error = peer_error(3000, passing());
        let server = Upstream::working(move |_, request| {
            let error = error.clone();
            async move {
                request.context.outbox.notify(Request::notify(method, Object::new())).await?;
                Err(error)
            }
        });
        let caller = Arc::new(Caller::default());
        let mut request = call_of(READS);
        request.context.outbox = caller.outbox();
        let stream = request.context.outbox.stream();
        let _ = retrying(&server).call(request).await;
        assert_eq!((server.calls(), caller.got().len()), (calls, calls), "{method}");
        assert!(caller.got().iter().all(|(on, _)| *on == stream));

        let _ = retrying(&server).call(call_of(READS)).await;
        assert_eq!(server.calls(), calls + 3, "nobody has seen {method} where nobody listens");
    }
    let error = peer_error(3000, passing());
    let server = Upstream::working(move |_, request| {
        let error = error.clone();
        async move {
            request.context.outbox.call(Request::call("elicitation/create", Object::new())).await?;
            Err(error)
        }
    });
    let mut request = tool_call();
    request.context.outbox = Arc::new(Caller::default()).outbox();
    let _ = retrying(&server).call(request).await;
    assert_eq!(server.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_shares_the_bytes_and_the_stream_of_the_request() {
    let server = Upstream::failing(&peer_error(3000, passing()));
    let mut request = tool_call();
    request.context.outbox = Arc::new(Caller::default()).outbox();
    request.context.trail = Some(Arc::new(CallRecord::default()));
    let (sent, stream) = (request.params.to_raw(), request.context.outbox.stream());
    let _ = retrying(&server).call(request.clone()).await;
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    for attempt in seen {
        assert!(std::ptr::eq(attempt.params.to_raw().as_bytes(), sent.as_bytes()));
        assert_eq!(attempt.context.outbox.stream(), stream);
        assert!(Arc::ptr_eq(
            attempt.context.trail.as_ref().unwrap(),
            request.context.trail.as_ref().unwrap()
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_outbox_stays_closed() {
    let server = Upstream::failing(&peer_error(3000, passing()));
    let _ = retrying(&server).call(tool_call()).await;
    assert!(server.seen().iter().all(|request| !request.context.outbox.is_open()));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_not_made_again() {
    let server = Upstream::failing(&peer_error(3000, passing().with_retry_after_ms(50)));
    let mut service = retrying(&server);
    assert!(timeout(millis(20), service.call(tool_call())).await.is_err());
    sleep(millis(500)).await;
    assert_eq!(server.calls(), 1);
}

#[derive(Debug, Clone)]
struct Script {
    codes: Vec<Option<i64>>,
    retryable: Option<bool>,
    after_ms: u64,
    max: Option<u32>,
    harmless: bool,
    deadline_ms: u64,
}

fn scripts() -> impl Strategy<Value = Script> {
    let code =
        prop::option::weighted(0.9, prop::sample::select(vec![3000, 2001, 3003, 5002, 1000, 4000, -32603]));
    let retryable = prop::option::weighted(0.9, prop::bool::weighted(0.9));
    (
        prop::collection::vec(code, 1..10),
        (retryable, 0u64..300, prop::option::of(0u32..20)),
        (any::<bool>(), 1u64..5_000),
    )
        .prop_map(|(codes, (retryable, after_ms, max), (harmless, deadline_ms))| Script {
            codes,
            retryable,
            after_ms,
            max,
            harmless,
            deadline_ms,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn each_call_ends_once_in_time_and_no_unsafe_one_is_made_twice(script in scripts()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let mut advice = Recovery::default().with_retry_after_ms(script.after_ms);
        (advice.retryable, advice.max_retries) = (script.retryable, script.max);
        let codes = script.codes.clone();
        let server = Upstream::answering(move |number| match codes.get(number).copied().flatten() {
            Some(code) => Err(peer_error(code, advice.clone())),
            None => Ok(Response::empty()),
        });
        let (answer, took) = runtime.block_on(async {
            let mut request = if script.harmless { call_of(READS) } else { tool_call() };
            let began = Instant::now();
            request.extensions.insert(Deadline::at(began + millis(script.deadline_ms)));
            let answer = retrying(&server).call(request).await;
            (answer, began.elapsed())
        });
        let calls = server.calls();
        let last = script.codes.get(calls - 1).copied().flatten();
        prop_assert_eq!(answer.err().map(|error| error.code()), last, "the answer is that of the last attempt");
        prop_assert!(took < Duration::from_millis(script.deadline_ms + 1));
        let most = if script.retryable == Some(true) { script.max.unwrap_or(2).min(5) as usize } else { 0 };
        prop_assert!(calls <= 1 + most);
        if !script.harmless {
            let repeated = &script.codes[..calls - 1];
            prop_assert!(repeated.iter().flatten().all(|code| [3000, 2001, 1000].contains(code)), "{repeated:?}");
        }
        for pair in server.times().windows(2) {
            prop_assert!(pair[1] - pair[0] >= millis(script.after_ms));
        }
    }
}
