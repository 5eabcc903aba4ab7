//! All layers together, in the order in which they are meant to stand.

mod attacks;

use std::num::NonZeroUsize;
use std::time::Duration;

use futures_util::future::join_all;
use mgp_types::mgp::Recovery;
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

/// What a server does with one call.
#[derive(Debug, Clone)]
enum Action {
    Answer,
    Late(u64),
    Hang,
    Fail(i64, bool),
    Lose,
    NameAnother,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let codes = prop::sample::select(vec![1001, 2001, 3000, 3001, 3003, 4000, 5002, -32603]);
    let action = prop_oneof![
        3 => Just(Action::Answer),
        2 => (0u64..60).prop_map(Action::Late),
        1 => Just(Action::Hang),
        4 => (codes, any::<bool>()).prop_map(|(code, retryable)| Action::Fail(code, retryable)),
        1 => Just(Action::Lose),
        1 => Just(Action::NameAnother),
    ];
    prop::collection::vec(action, 1..40)
}

async fn done(action: Action) -> UpstreamAnswer {
    let advice = |retryable| Recovery::default().with_retryable(retryable).with_retry_after_ms(5);
    match action {
        Action::Answer => return Ok(Response::empty()),
        Action::Late(time) => {
            sleep(millis(time)).await;
            return Ok(Response::empty());
        }
        Action::Hang => sleep(Duration::from_hours(1)).await,
        Action::Fail(code, retryable) => return Err(peer_error(code, advice(retryable))),
        Action::Lose => return Err(Error::disconnected("gone")),
        Action::NameAnother => return Err(peer_error(5000, advice(true).with_fallback_tool("local"))),
    }
    unreachable!("nobody waits for an hour")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn each_call_ends_in_time_whatever_the_server_does(
        actions in actions(),
        calls in prop::collection::vec((0u64..300, any::<bool>()), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let made = calls.len();
        let server = Upstream::working(move |number, _| done(actions[number % actions.len()].clone()));
        let ends = runtime.block_on(async {
            let service = joined(server.clone(), RetryBudget::new(20, 0));
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
async fn a_pause_takes_no_place() {
    let advice = Recovery::default().with_retryable(true).with_retry_after_ms(200).with_max_retries(1);
    let error = peer_error(3000, advice.with_retry_strategy("immediate".into()));
    let server =
        Upstream::answering(
            move |number| if number < PLACES { Err(error.clone()) } else { Ok(Response::empty()) },
        );
    let service = joined(server.clone(), RetryBudget::default());
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

#[tokio::test(start_paused = true)]
async fn a_notification_passes_all_layers_untouched() {
    let server = Upstream::failing(&peer_error(3000, Recovery::default().with_retryable(true)));
    let mut service = joined(server.clone(), RetryBudget::default());
    assert!(service.call(Request::notify("notifications/x", Object::new())).await.is_err());
    let [seen] = server.seen().try_into().unwrap();
    assert!(!seen.context.outbox.is_open() && Deadline::of(&seen).is_none() && seen.params.is_empty());
}

#[test]
fn static_property_services_can_be_sent() {
    fn is_service<T: RpcService + Sync>(_: &T) {}
    let server = Upstream::answering(|_| Ok(Response::empty()));
    is_service(&SendingLayer::new().layer(server.clone()));
    is_service(&FallbackLayer::new().layer(server));
}
