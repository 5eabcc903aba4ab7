use std::collections::VecDeque;
use std::time::Duration;

use mgp_types::{Error, Object, Origin, Request, Response};
use proptest::prelude::*;
use tokio::time::{Instant, sleep, timeout};
use tower_layer::Layer;
use tower_service::Service;

use super::*;
use crate::call::{RetryPolicy, SendingLayer};
use crate::doubles::{Upstream, millis, tool_call};

/// Opens when half of four calls fail, for a second; two calls close it.
fn settings() -> BreakerSettings {
    let number = |number| NonZeroU32::new(number).unwrap();
    BreakerSettings {
        window: Duration::from_secs(10),
        min_calls: number(4),
        failure_percent: 50,
        open_for: Duration::from_secs(1),
        max_open: Duration::from_secs(3),
        probes: number(2),
    }
}

fn second(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn end(breaker: &mut Breaker, now: Duration, end: CallEnd) {
    let pass = breaker.admit(now).unwrap();
    breaker.settle(pass, end, now);
}

/// A breaker that has opened at `now`.
fn opened(now: Duration) -> Breaker {
    let mut breaker = Breaker::new(settings());
    (0..4).for_each(|_| end(&mut breaker, now, CallEnd::Failed));
    breaker
}

#[test]
fn it_opens_when_enough_calls_have_failed() {
    let mut breaker = Breaker::new(settings());
    for outcome in [CallEnd::Failed, CallEnd::Answered, CallEnd::Failed] {
        end(&mut breaker, second(0), outcome);
        assert_eq!(breaker.state, BreakerState::Closed);
    }
    end(&mut breaker, second(1), CallEnd::Unknown);
    assert_eq!(breaker.state, BreakerState::Closed, "it was not counted");
    end(&mut breaker, second(1), CallEnd::Failed);
    assert_eq!(breaker.state, BreakerState::Open);
    assert_eq!(breaker.admit(millis(1250)).unwrap_err(), millis(750));
}

#[test]
fn it_lets_calls_try_a_server_that_was_just_connected_to_however_often_it_has_opened() {
    let mut breaker = opened(second(0));
    end(&mut breaker, second(1), CallEnd::Failed);
    assert_eq!(breaker.admit(second(1)).unwrap_err(), second(2), "it opened again");
    breaker.try_again(second(1));
    end(&mut breaker, second(1), CallEnd::Answered);
    end(&mut breaker, second(1), CallEnd::Failed);
    assert_eq!(breaker.admit(second(1)).unwrap_err(), second(1), "it is open as if for the first time");
    breaker.try_again(second(1));
    (0..2).for_each(|_| end(&mut breaker, second(1), CallEnd::Answered));
    assert_eq!(breaker.state, BreakerState::Closed);
    breaker.try_again(second(1));
    assert_eq!(breaker.state, BreakerState::Closed, "it lets all calls through");
}

#[test]
fn failures_that_are_few_or_long_ago_do_not_open_it() {
    let mut breaker = Breaker::new(settings());
    (0..6).for_each(|_| end(&mut breaker, second(0), CallEnd::Answered));
    (0..5).for_each(|_| end(&mut breaker, second(0), CallEnd::Failed));
    assert_eq!(breaker.state, BreakerState::Closed);
    for minute in 1..20 {
        end(&mut breaker, second(minute * 60), CallEnd::Failed);
    }
    assert_eq!(breaker.state, BreakerState::Closed);
}

#[test]
fn a_few_calls_close_it_again() {
    let mut breaker = opened(second(0));
    let (one, two) = (breaker.admit(second(1)).unwrap(), breaker.admit(second(1)).unwrap());
    assert_eq!(breaker.state, BreakerState::HalfOpen);
    assert!(breaker.admit(second(1)).is_err());
    breaker.settle(one, CallEnd::Answered, second(2));
    assert!(breaker.admit(second(2)).is_err(), "one is done, one runs, and two are all there are");
    breaker.settle(two, CallEnd::Answered, second(2));
    assert_eq!(breaker.state, BreakerState::Closed);
    end(&mut breaker, second(2), CallEnd::Failed);
    assert_eq!(breaker.state, BreakerState::Closed, "what was counted before is forgotten");
}

#[test]
fn a_call_that_was_given_up_lets_another_try() {
    let mut breaker = opened(second(0));
    let (one, _two) = (breaker.admit(second(1)).unwrap(), breaker.admit(second(1)).unwrap());
    breaker.settle(one, CallEnd::Unknown, second(1));
    assert!(breaker.admit(second(1)).is_ok());
}

#[test]
fn each_time_in_a_row_it_stays_open_for_longer() {
    let mut breaker = opened(second(0));
    let mut now = second(0);
    for waits in [1, 2, 3, 3] {
        assert_eq!(breaker.admit(now).unwrap_err(), second(waits));
        now += second(waits);
        end(&mut breaker, now, CallEnd::Failed);
    }
    now += second(3);
    (0..2).for_each(|_| end(&mut breaker, now, CallEnd::Answered));
    (0..4).for_each(|_| end(&mut breaker, now, CallEnd::Failed));
    assert_eq!(breaker.admit(now).unwrap_err(), second(1), "it had closed in between");
}

#[test]
fn calls_from_before_decide_nothing() {
    let mut breaker = Breaker::new(settings());
    let early: Vec<_> = (0..6).map(|_| breaker.admit(second(0)).unwrap()).collect();
    (0..4).for_each(|_| end(&mut breaker, second(0), CallEnd::Failed));
    let probe = breaker.admit(second(1)).unwrap();
    for pass in early {
        breaker.settle(pass, CallEnd::Failed, second(1));
    }
    assert_eq!(breaker.state, BreakerState::HalfOpen);
    breaker.settle(probe, CallEnd::Answered, second(1));
    end(&mut breaker, second(1), CallEnd::Answered);
    assert_eq!(breaker.state, BreakerState::Closed);
}

#[test]
fn only_what_speaks_of_the_servers_health_counts() {
    let peer = |code| CallEnd::of(Some(&Error::from_origin(Origin::Peer, code, "no")));
    for code in [2000, 2001, 2002, 2050, 5000, 5001, 5002] {
        assert_eq!(peer(code), CallEnd::Failed, "{code}");
    }
    for code in [1000, 1001, 1010, 3000, 3001, 3003, 4000, 4001, -32600, -32601, -32602, -32603, -32700, 7] {
        assert_eq!(peer(code), CallEnd::Answered, "{code}");
    }
    for error in [Error::disconnected("gone"), Error::timeout("late"), Error::misbehaved("what")] {
        assert_eq!(CallEnd::of(Some(&error)), CallEnd::Failed, "{error:?}");
    }
    for error in
        [Error::cancelled(), Error::new(5002, "not sent").not_executed(), Error::new(1001, "not here")]
    {
        assert_eq!(CallEnd::of(Some(&error)), CallEnd::Unknown, "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_refuses_at_once_and_says_when_to_come_back() {
    let server = Upstream::failing(&Error::disconnected("gone"));
    let breaker = SharedBreaker::new(settings());
    let layer = SendingLayer::new().breaker(breaker.clone());
    let mut service = layer.layer(server.clone());
    for _ in 0..4 {
        assert_eq!(service.call(tool_call()).await.unwrap_err().origin(), Origin::Connection);
    }
    assert_eq!(breaker.state(), BreakerState::Open);
    sleep(millis(400)).await;
    let error = layer.layer(server.clone()).call(tool_call()).await.unwrap_err();
    assert_eq!((error.code(), error.origin()), (5002, Origin::Local));
    assert!(error.is_not_executed());
    let recovery = error.recovery().unwrap();
    assert_eq!((recovery.retryable, recovery.retry_after_ms), (Some(true), Some(600)));
    assert_eq!(server.calls(), 4);
    for vital in ["ping", "mgp/health/ping", "mgp/health/status", "mgp/stream/cancel"] {
        let _ = service.call(Request::call(vital, Object::new())).await;
    }
    let _ = service.call(Request::notify("notifications/x", Object::new())).await;
    assert_eq!(server.calls(), 9);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_recovers_is_called_again_by_those_who_wait() {
    let server = Upstream::answering(|number| {
        if number < 4 { Err(Error::disconnected("gone")) } else { Ok(Response::empty()) }
    });
    let breaker = SharedBreaker::new(settings());
    let layer = SendingLayer::new().breaker(breaker.clone());
    let mut service = SendingLayer::new().retry(RetryPolicy::default()).layer(layer.layer(server.clone()));
    for _ in 0..4 {
        assert!(service.call(tool_call()).await.is_err());
    }
    let began = Instant::now();
    assert!(
        service.call(tool_call()).await.is_ok(),
        "it never left, so that even an unsafe one may come again"
    );
    assert!(began.elapsed() >= second(1));
    assert!(service.call(tool_call()).await.is_ok());
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn calls_that_time_out_have_failed_and_those_that_are_given_up_have_not() {
    let breaker = SharedBreaker::new(settings());
    let layer = SendingLayer::new().breaker(breaker.clone());
    let slow = Upstream::after(second(5));
    for _ in 0..8 {
        assert!(timeout(millis(10), layer.layer(slow.clone()).call(tool_call())).await.is_err());
    }
    assert_eq!(breaker.state(), BreakerState::Closed);
    let attempt = SendingLayer::new().attempt_timeout(millis(10), millis(10));
    for _ in 0..2 {
        assert!(layer.layer(attempt.layer(slow.clone())).call(tool_call()).await.is_err());
        let deadline = SendingLayer::new().deadline(millis(10));
        assert!(deadline.layer(layer.layer(slow.clone())).call(tool_call()).await.is_err());
    }
    assert_eq!(breaker.state(), BreakerState::Open);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Admit,
    /// Ends one of the calls that run.
    Settle(usize, CallEnd),
    Later(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ends =
        prop::sample::select(vec![CallEnd::Answered, CallEnd::Failed, CallEnd::Failed, CallEnd::Unknown]);
    let step = prop_oneof![
        4 => Just(Step::Admit),
        3 => (any::<usize>(), ends).prop_map(|(which, end)| Step::Settle(which, end)),
        1 => (0u64..2_000).prop_map(Step::Later),
    ];
    prop::collection::vec(step, 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn half_open_lets_no_more_through_than_it_should_and_open_none(
        steps in steps(),
        probes in 1u32..4,
    ) {
        let probes = NonZeroU32::new(probes).unwrap();
        let mut breaker = Breaker::new(BreakerSettings { probes, ..settings() });
        let mut now = Duration::ZERO;
        let mut running = VecDeque::new();
        let mut opened_at = None;
        for step in steps {
            let before = breaker.state;
            match step {
                Step::Later(millis) => now += Duration::from_millis(millis),
                Step::Admit => match breaker.admit(now) {
                    Ok(pass) => {
                        prop_assert_ne!(breaker.state, BreakerState::Open);
                        running.push_back(pass);
                    }
                    Err(wait) => {
                        prop_assert_ne!(breaker.state, BreakerState::Closed);
                        prop_assert!(!wait.is_zero() && wait <= settings().max_open);
                    }
                },
                Step::Settle(which, end) => {
                    if let Some(pass) = running.remove(which % running.len().max(1)) {
                        breaker.settle(pass, end, now);
                    }
                }
            }
            let after = breaker.state;
            match (before, after) {
                (BreakerState::Open, BreakerState::HalfOpen) => {
                    let open_for = now.saturating_sub(opened_at.unwrap_or_default());
                    prop_assert!(open_for >= settings().open_for);
                }
                (BreakerState::Open, BreakerState::Closed) | (BreakerState::Closed, BreakerState::HalfOpen) => {
                    prop_assert!(false, "{before:?} to {after:?}");
                }
                (_, BreakerState::Open) if before != after => opened_at = Some(now),
                _ => {}
            }
            if after == BreakerState::HalfOpen {
                let current = running.iter().filter(|pass| pass.changes == breaker.changes).count();
                prop_assert!(current <= probes.get() as usize);
            }
        }
        // Whatever happened, a server that answers is called again.
        running.clear();
        let mut breaker = opened(now);
        now += settings().max_open;
        (0..2).for_each(|_| end(&mut breaker, now, CallEnd::Answered));
        prop_assert_eq!(breaker.state, BreakerState::Closed);
    }
}

#[test]
fn calls_are_forgotten_when_the_window_has_passed() {
    let second = Duration::from_secs;
    let mut window = Window::new(second(10));
    window.count(second(0), true);
    window.count(second(5), false);
    assert_eq!(window.sums(second(5)), (1, 2));
    assert_eq!(window.sums(second(9)), (1, 2));
    assert_eq!(window.sums(second(10)), (0, 1));
    window.count(second(20), true);
    assert_eq!(window.sums(second(20)), (1, 1));
    assert_eq!(window.sums(Duration::MAX), (0, 0));
}

#[test]
fn a_window_without_length_counts_the_present() {
    let mut window = Window::new(Duration::ZERO);
    window.count(Duration::ZERO, true);
    assert_eq!(window.sums(Duration::ZERO), (1, 1));
    assert_eq!(window.sums(Duration::from_millis(1)), (0, 0));
}
