//! All sections in one loop, and what a call costs in it.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use mgp_types::mgp::{AuditEvent, AuditPort, CallOptions, CallRecord, Recovery};
use mgp_types::{BoxFuture, Error, Object, Response};
use tokio::time::{Instant, sleep, timeout};
use tower_layer::Layer as _;

use super::*;
use crate::call::{BreakerSettings, BreakerState, Deadline};
use crate::doubles::{Log, Upstream, call_of, millis, peer_error, tool_call};

const READS: &str = r#"{"readOnlyHint":true}"#;

/// An error that passes, to be tried again once without a pause.
fn passing() -> Error {
    let advice = Recovery::default().with_retryable(true).with_max_retries(1);
    peer_error(3000, advice.with_retry_strategy("immediate".into()))
}

fn places(calls: usize, waiting: usize, patience: Duration) -> ConcurrencyLimit {
    ConcurrencyLimit::with_line(NonZeroUsize::new(calls).unwrap(), waiting, patience)
}

fn all() -> SendingLayer {
    SendingLayer::new()
        .deadline(millis(400))
        .attempt_timeout(millis(50), millis(200))
        .carry_when(|| true)
        .retry(RetryPolicy::default())
        .breaker(SharedBreaker::new(BreakerSettings::default()))
        .places(places(3, 5, millis(100)))
}

/// Answers at once, and counts its clones and how many copies of a request there are when it is called.
#[derive(Debug, Default)]
struct Counting {
    clones: Arc<AtomicUsize>,
    copies: Arc<AtomicUsize>,
}

impl Clone for Counting {
    fn clone(&self) -> Self {
        self.clones.fetch_add(1, Ordering::Relaxed);
        Self { clones: Arc::clone(&self.clones), copies: Arc::clone(&self.copies) }
    }
}

impl Service<Request> for Counting {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let copies = request.context.trail.as_ref().map_or(0, Arc::strong_count);
        self.copies.store(copies, Ordering::Relaxed);
        std::future::ready(Ok(Response::empty()))
    }
}

/// Polls a call once, where there is no clock that could ring.
fn polled_once(layer: &SendingLayer, mut request: Request) -> (usize, usize) {
    let server = Counting::default();
    request.context.trail = Some(Arc::new(CallRecord::default()));
    let mut service = layer.layer(server.clone());
    server.clones.store(0, Ordering::Relaxed);
    let mut answer = std::pin::pin!(service.call(request));
    let outcome = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(outcome, Poll::Ready(Ok(_))), "{outcome:?}");
    (server.copies.load(Ordering::Relaxed), server.clones.load(Ordering::Relaxed))
}

#[test]
fn an_answer_that_is_there_at_once_comes_in_the_same_poll_without_a_timer() {
    // A timer could not be made here, outside of a runtime.
    polled_once(&all(), tool_call());
    polled_once(&all(), Request::call("ping", Object::new()));
    polled_once(&all(), Request::notify("notifications/x", Object::new()));
}

#[test]
fn a_call_is_copied_only_if_a_further_attempt_is_possible() {
    assert_eq!(
        polled_once(&all(), tool_call()),
        (2, 1),
        "the request and one copy, the service and one clone"
    );
    let never = RetryPolicy { max_retries: 0, ..RetryPolicy::default() };
    assert_eq!(polled_once(&all().retry(never), tool_call()), (1, 0));
    let no_retries = SendingLayer::new().deadline(millis(400)).attempt_timeout(millis(50), millis(50));
    assert_eq!(
        polled_once(&no_retries.places(ConcurrencyLimit::new(NonZeroUsize::MIN)), tool_call()),
        (1, 0)
    );
    assert_eq!(polled_once(&all(), Request::notify("notifications/x", Object::new())), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_last_attempt_is_no_copy() {
    let copies = Arc::new(AtomicUsize::new(0));
    let (seen, error) = (Arc::clone(&copies), passing());
    let server = Upstream::working(move |number, mut request| {
        // One more is kept by the server itself.
        let trail = request.context.trail.take().unwrap();
        seen.store(
            seen.load(Ordering::Relaxed) * 10 + Arc::strong_count(&trail) - number - 1,
            Ordering::Relaxed,
        );
        std::future::ready(Err(error.clone()))
    });
    let once = RetryPolicy { max_retries: 1, ..RetryPolicy::default() };
    let mut request = tool_call();
    request.context.trail = Some(Arc::new(CallRecord::default()));
    assert!(all().retry(once).layer(server).call(request).await.is_err());
    assert_eq!(copies.load(Ordering::Relaxed), 21);
}

#[tokio::test(start_paused = true)]
async fn one_timer_keeps_the_line_the_attempt_the_pause_and_the_deadline() {
    let server = Upstream::after(Duration::from_hours(1));
    let layer = all().places(places(1, 1, millis(100)));
    let began = Instant::now();
    let mut service = layer.layer(server.clone());
    let running = service.call(call_of(READS));
    let waiting = service.call(call_of(READS));
    let (first, second) = futures_util::future::join(running, waiting).await;
    // Each attempt takes 50 milliseconds; the pauses grow from 100, and the next one would end after the deadline.
    assert_eq!((first.unwrap_err().code(), second.unwrap_err().code()), (3003, 3003));
    assert!(began.elapsed() <= millis(400), "{:?}", began.elapsed());
    assert!(server.calls() >= 3, "{}", server.calls());
    assert_eq!((server.running(), server.most()), (0, 1));
}

/// Takes no event.
#[derive(Debug)]
struct Stuck;

impl AuditPort for Stuck {
    fn record(&self, _: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_call_wherever_it_is() {
    let layer = SendingLayer::new().deadline(millis(100));
    let hangs = Upstream::after(Duration::from_hours(1));
    let in_line = layer.clone().places(places(1, 1, Duration::from_hours(1)));
    let mut service = in_line.layer(hangs.clone());
    let _running = service.call(tool_call());
    for answer in [service.call(tool_call()), layer.layer(hangs.clone()).call(tool_call())] {
        let began = Instant::now();
        assert_eq!((answer.await.unwrap_err().code(), began.elapsed() <= millis(100)), (3003, true));
    }
    let fails = Upstream::failing(&passing());
    let recording = layer.retry(RetryPolicy::default()).audit(Arc::new(Stuck));
    assert_eq!(recording.layer(fails.clone()).call(tool_call()).await.unwrap_err().code(), 3003);
    assert_eq!(fails.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn time_in_line_is_not_held_against_the_server() {
    let settings = BreakerSettings { min_calls: NonZeroU32::MIN, ..BreakerSettings::default() };
    let breaker = SharedBreaker::new(settings);
    let layer = SendingLayer::new().breaker(breaker.clone()).places(places(1, 9, Duration::from_hours(1)));
    let server = Upstream::after(Duration::from_hours(1));
    let mut service = layer.layer(server.clone());
    let running = tokio::spawn(service.call(tool_call()));
    for _ in 0..5 {
        let mut request = tool_call();
        request.extensions.insert(Deadline::at(Instant::now() + millis(5)));
        assert!(timeout(millis(10), service.call(request)).await.is_err());
    }
    assert_eq!((server.calls(), breaker.state()), (1, BreakerState::Closed), "nobody called it");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn nobody_stands_in_line_for_a_server_that_gets_no_calls() {
    let settings = BreakerSettings { min_calls: NonZeroU32::MIN, ..BreakerSettings::default() };
    let breaker = SharedBreaker::new(settings);
    let layer = SendingLayer::new().breaker(breaker.clone()).places(places(1, 9, Duration::from_hours(1)));
    let server = Upstream::working(|number, _| async move {
        sleep(millis(if number == 0 { 20 } else { 10 })).await;
        Err(Error::disconnected("gone"))
    });
    let mut service = layer.layer(server.clone());
    let (running, waiting) = (service.call(tool_call()), service.call(tool_call()));
    let late = async {
        sleep(millis(5)).await;
        let _ = SendingLayer::new().breaker(breaker.clone()).layer(server.clone()).call(tool_call()).await;
        assert_eq!(breaker.state(), BreakerState::Open);
        let began = Instant::now();
        let error = layer.layer(server.clone()).call(tool_call()).await.unwrap_err();
        assert_eq!((error.code(), began.elapsed()), (5002, Duration::ZERO), "it does not stand in line");
    };
    let (running, waiting, ()) = futures_util::future::join3(running, waiting, late).await;
    assert_eq!(running.unwrap_err().origin(), mgp_types::Origin::Connection);
    let waiting = waiting.unwrap_err();
    assert_eq!((waiting.code(), waiting.is_not_executed()), (5002, true), "the breaker opened meanwhile");
    assert_eq!(server.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_gives_its_place_and_its_probe_back() {
    let settings =
        BreakerSettings { min_calls: NonZeroU32::MIN, probes: NonZeroU32::MIN, ..BreakerSettings::default() };
    let breaker = SharedBreaker::new(settings);
    let server = Upstream::working(|number, _| async move {
        match number {
            0 => Err(Error::disconnected("gone")),
            1 => std::future::pending().await,
            _ => Ok(Response::empty()),
        }
    });
    let layer = SendingLayer::new().breaker(breaker.clone()).places(places(1, 0, millis(1)));
    let mut service = layer.layer(server.clone());
    assert!(service.call(tool_call()).await.is_err());
    sleep(Duration::from_secs(2)).await;
    assert!(timeout(millis(10), service.call(tool_call())).await.is_err());
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    assert!(service.call(tool_call()).await.is_ok());
    assert_eq!((breaker.state(), server.calls()), (BreakerState::Closed, 3));
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_told_its_time_and_each_that_follows_is_recorded() {
    let log = Arc::new(Log::default());
    let error = peer_error(3000, Recovery::default().with_retryable(true).with_retry_after_ms(100));
    let server = Upstream::failing(&error);
    let layer = all().audit(Arc::clone(&log) as Arc<dyn AuditPort>);
    assert_eq!(layer.layer(server.clone()).call(tool_call()).await.unwrap_err().code(), 3000);
    let deadlines: Vec<_> =
        server.seen().iter().map(|seen| CallOptions::of(&seen.params).deadline_ms.unwrap()).collect();
    assert_eq!((deadlines.len(), deadlines[0]), (log.events().len() + 1, 400), "{deadlines:?}");
    assert!(deadlines.windows(2).all(|pair| pair[1] + 100 <= pair[0]), "{deadlines:?}");
}
