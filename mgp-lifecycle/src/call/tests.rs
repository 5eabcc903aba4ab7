//! All layers together, in the order in which they are meant to stand.

mod attacks;

use std::num::NonZeroUsize;
use std::time::Duration;

use futures_util::future::join_all;
use mgp_types::mgp::{CallOptions, Recovery};
use mgp_types::{BoxedService, Error, Object, Request, Response, RpcService};
use proptest::prelude::*;
use tokio::time::{Instant, sleep};
use tower_layer::Layer;
use tower_service::Service;

use super::*;
use crate::doubles::{Upstream, UpstreamAnswer, call_of, millis, peer_error, tool_call};

const PLACES: usize = 3;

/// All sections in one loop.
fn joined(server: Upstream, budget: RetryBudget) -> BoxedService {
    let sending = SendingLayer::new()
        .deadline(millis(400))
        .retry(RetryPolicy::default())
        .retry_budget(budget)
        .breaker(SharedBreaker::new(BreakerSettings::default()))
        .places(ConcurrencyLimit::with_line(NonZeroUsize::new(PLACES).unwrap(), 5, millis(100)))
        .attempt_timeout(millis(50), millis(200))
        .carry_when(|| true);
    BoxedService::new(FallbackLayer::new().layer(sending.layer(server)))
}

/// Each section as a layer of its own.
fn stacked(server: Upstream, budget: RetryBudget) -> BoxedService {
    let attempt =
        SendingLayer::new().attempt_timeout(millis(50), millis(200)).carry_when(|| true).layer(server);
    let limit = ConcurrencyLimit::with_line(NonZeroUsize::new(PLACES).unwrap(), 5, millis(100));
    let limited = SendingLayer::new().places(limit).layer(attempt);
    let breaker = SharedBreaker::new(BreakerSettings::default());
    let breaker = SendingLayer::new().breaker(breaker).layer(limited);
    let retry = SendingLayer::new().retry(RetryPolicy::default()).retry_budget(budget).layer(breaker);
    BoxedService::new(FallbackLayer::new().layer(SendingLayer::new().deadline(millis(400)).layer(retry)))
}

const STACKS: [fn(Upstream, RetryBudget) -> BoxedService; 2] = [joined, stacked];

/// What a server does with one call.
#[derive(Debug, Clone)]
enum Deed {
    Answer,
    Late(u64),
    Hang,
    Fail(i64, bool),
    Lose,
    NameAnother,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let codes = prop::sample::select(vec![1001, 2001, 3000, 3001, 3003, 4000, 5002, -32603]);
    let deed = prop_oneof![
        3 => Just(Deed::Answer),
        2 => (0u64..60).prop_map(Deed::Late),
        1 => Just(Deed::Hang),
        4 => (codes, any::<bool>()).prop_map(|(code, retryable)| Deed::Fail(code, retryable)),
        1 => Just(Deed::Lose),
        1 => Just(Deed::NameAnother),
    ];
    prop::collection::vec(deed, 1..40)
}

async fn done(deed: Deed) -> UpstreamAnswer {
    let advice = |retryable| Recovery::default().with_retryable(retryable).with_retry_after_ms(5);
    match deed {
        Deed::Answer => return Ok(Response::empty()),
        Deed::Late(time) => {
            sleep(millis(time)).await;
            return Ok(Response::empty());
        }
        Deed::Hang => sleep(Duration::from_hours(1)).await,
        Deed::Fail(code, retryable) => return Err(peer_error(code, advice(retryable))),
        Deed::Lose => return Err(Error::disconnected("gone")),
        Deed::NameAnother => return Err(peer_error(5000, advice(true).with_fallback_tool("local"))),
    }
    unreachable!("nobody waits for an hour")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn each_call_ends_in_time_whatever_the_server_does(
        deeds in deeds(),
        calls in prop::collection::vec((0u64..300, any::<bool>()), 1..40),
        stack in prop::sample::select(STACKS.to_vec()),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let made = calls.len();
        let server = Upstream::working(move |number, _| done(deeds[number % deeds.len()].clone()));
        let ends = runtime.block_on(async {
            let service = stack(server.clone(), RetryBudget::new(20, 0));
            let calls = calls.into_iter().map(|(at, harmless)| {
                let mut service = service.clone();
                async move {
                    sleep(millis(at)).await;
                    let began = Instant::now();
                    let request = if harmless { call_of(r#"{"readOnlyHint":true}"#) } else { tool_call() };
                    let answer = service.call(request).await;
                    (answer.err().map(|error| error.code()), began.elapsed())
                }
            });
            join_all(calls).await
        });
        prop_assert_eq!((ends.len(), server.running()), (made, 0));
        // One deadline for the tool, one for the other that is called in its place.
        prop_assert!(ends.iter().all(|(_, took)| *took <= millis(800)), "{ends:?}");
        prop_assert!(server.most() <= PLACES);
        let others = server.seen().iter().filter(|request| request.params.text("name").as_deref() == Some("local")).count();
        prop_assert!(server.calls() <= (made + others) * 120 / 100, "{} for {made} and {others}", server.calls());
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_told_what_is_left_then() {
    let error = peer_error(3000, Recovery::default().with_retryable(true).with_retry_after_ms(100));
    for stack in STACKS {
        let server = Upstream::failing(&error);
        let mut request = tool_call();
        let mut wishes = CallOptions::default();
        wishes.deadline_ms = Some(250);
        wishes.write(&mut request.params);
        let _ = stack(server.clone(), RetryBudget::default()).call(request).await;
        let told: Vec<_> =
            server.seen().iter().map(|seen| CallOptions::of(&seen.params).deadline_ms.unwrap()).collect();
        // The second pause is at least 200 milliseconds long, and at most 150 are left.
        assert_eq!((told.len(), told[0]), (2, 250), "{told:?}");
        assert!(told[1] <= 150 && told[1] >= 98, "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_takes_no_place() {
    let advice = Recovery::default().with_retryable(true).with_retry_after_ms(200).with_max_retries(1);
    let error = peer_error(3000, advice.with_retry_strategy("immediate".into()));
    for stack in STACKS {
        let error = error.clone();
        let server =
            Upstream::answering(
                move |number| if number < PLACES { Err(error.clone()) } else { Ok(Response::empty()) },
            );
        let service = stack(server.clone(), RetryBudget::default());
        let pausing = (0..PLACES).map(|_| service.clone().call(tool_call())).collect::<Vec<_>>();
        let mut other = service.clone();
        let other = async move {
            sleep(millis(10)).await;
            let began = Instant::now();
            (other.call(tool_call()).await.is_ok(), began.elapsed())
        };
        let (pausing, other) = futures_util::future::join(join_all(pausing), other).await;
        assert_eq!(other, (true, Duration::ZERO));
        assert!(pausing.iter().all(Result::is_ok));
    }
}

#[tokio::test(start_paused = true)]
async fn a_notification_passes_all_layers_untouched() {
    for stack in STACKS {
        let server = Upstream::answering(|_| Ok(Response::empty()));
        let mut service = stack(server.clone(), RetryBudget::default());
        service.call(Request::notify("notifications/x", Object::new())).await.unwrap();
        let seen = server.seen().remove(0);
        assert!(!seen.context.outbox.is_open() && Deadline::of(&seen).is_none() && seen.params.is_empty());
    }
}

#[test]
fn static_property_services_can_be_sent() {
    fn is_service<T: RpcService + Sync>(_: &T) {}
    let server = Upstream::answering(|_| Ok(Response::empty()));
    is_service(&SendingLayer::new().attempt_timeout(millis(1), millis(1)).layer(server.clone()));
    is_service(&SendingLayer::new().places(ConcurrencyLimit::new(NonZeroUsize::MIN)).layer(server.clone()));
    let breaker = SharedBreaker::new(BreakerSettings::default());
    is_service(&SendingLayer::new().breaker(breaker).layer(server.clone()));
    is_service(&SendingLayer::new().retry(RetryPolicy::default()).layer(server.clone()));
    is_service(&SendingLayer::new().deadline(millis(1)).layer(server.clone()));
    is_service(&FallbackLayer::new().layer(server));
}
