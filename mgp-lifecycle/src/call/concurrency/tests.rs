use futures_util::future::{join, join_all};
use mgp_types::{Object, Principal, Request, Response};
use proptest::prelude::*;
use tokio::time::{Instant, sleep, timeout};
use tower_layer::Layer;
use tower_service::Service;

use super::*;
use crate::call::{Sending, SendingLayer};
use crate::doubles::{Upstream, millis, tool_call};

fn held(limit: &ConcurrencyLimit, server: Upstream) -> Sending<Upstream> {
    SendingLayer::new().places(limit.clone()).layer(server)
}

fn at_most(calls: usize, waiting: usize, patience: Duration) -> ConcurrencyLimit {
    ConcurrencyLimit::with_line(NonZeroUsize::new(calls).unwrap(), waiting, patience)
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_at_once_and_the_others_wait_in_order() {
    let server = Upstream::after(millis(10));
    let service = held(&ConcurrencyLimit::new(NonZeroUsize::new(3).unwrap()), server.clone());
    let began = Instant::now();
    let calls = (0..6).map(|number| {
        let mut service = service.clone();
        async move {
            service.call(Request::call(format!("vendor/{number}").as_str(), Object::new())).await.unwrap();
            began.elapsed().as_millis()
        }
    });
    assert_eq!(join_all(calls).await, [10, 10, 10, 20, 20, 20]);
    assert_eq!(server.most(), 3);
    let order: Vec<_> = server.seen().iter().map(|request| request.method.to_string()).collect();
    assert_eq!(order, ["vendor/0", "vendor/1", "vendor/2", "vendor/3", "vendor/4", "vendor/5"]);
}

#[tokio::test(start_paused = true)]
async fn a_full_line_refuses_at_once_with_3001() {
    let server = Upstream::after(millis(10));
    let service = held(&at_most(1, 1, millis(500)), server.clone());
    let (mut first, mut second, mut third) = (service.clone(), service.clone(), service);
    let running = join(first.call(tool_call()), second.call(tool_call()));
    let refused = async {
        let began = Instant::now();
        let error = third.call(tool_call()).await.unwrap_err();
        assert_eq!(began.elapsed(), Duration::ZERO);
        error
    };
    let ((one, two), error) = join(running, refused).await;
    assert!(one.is_ok() && two.is_ok());
    assert_eq!(error.code(), 3001);
    assert!(error.is_not_executed());
    let recovery = error.recovery().unwrap();
    assert_eq!((recovery.retryable, recovery.retry_after_ms), (Some(true), Some(500)));
    assert_eq!(server.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn those_that_run_and_those_that_wait_are_counted_in_both_limits() {
    let outer = ConcurrencyLimit::new(NonZeroUsize::new(8).unwrap());
    let inner = at_most(1, 4, millis(500)).within(outer.clone());
    let service = held(&inner, Upstream::after(millis(10)));
    let calls = (0..3).map(|_| {
        let mut service = service.clone();
        async move { service.call(tool_call()).await.unwrap() }
    });
    let counted = async { [inner.usage(), outer.usage()] };
    let (_, counted) = join(join_all(calls), counted).await;
    assert_eq!(counted, [(1, 2), (1, 2)]);
    assert_eq!([inner.usage(), outer.usage()], [(0, 0); 2]);
}

#[tokio::test(start_paused = true)]
async fn who_has_left_the_line_makes_room_in_it() {
    let service = held(&at_most(1, 1, millis(500)), Upstream::after(millis(10)));
    let calls = [0, 1, 11].map(|at| {
        let mut service = service.clone();
        async move {
            sleep(millis(at)).await;
            service.call(tool_call()).await
        }
    });
    assert!(join_all(calls).await.iter().all(Result::is_ok), "the third comes when the second runs");
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_in_line_for_longer_than_said() {
    let server = Upstream::after(millis(1000));
    let service = held(&at_most(1, 5, millis(30)), server.clone());
    let (mut first, mut second) = (service.clone(), service);
    let began = Instant::now();
    let (one, (two, waited)) = join(first.call(tool_call()), async {
        let answer = second.call(tool_call()).await;
        (answer, began.elapsed())
    })
    .await;
    assert!(one.is_ok());
    assert_eq!((two.unwrap_err().code(), waited), (3001, millis(30)));
    assert_eq!(server.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_vital_is_never_held_back_and_takes_no_place() {
    let server = Upstream::after(millis(10));
    let mut service = held(&at_most(1, 0, millis(5)), server.clone());
    let vital = [
        Request::call("ping", Object::new()),
        Request::call("mgp/health/ping", Object::new()),
        Request::call("mgp/stream/cancel", Object::new()),
        Request::call("subscriptions/listen", Object::new()),
        Request::notify("notifications/cancelled", Object::new()),
    ];
    let vital: Vec<_> = vital.into_iter().map(|request| service.call(request)).collect();
    let call = service.call(tool_call());
    let late_ping = service.call(Request::call("ping", Object::new()));
    let (vital, (call, late_ping)) = join(join_all(vital), join(call, late_ping)).await;
    assert!(vital.iter().all(Result::is_ok) && call.is_ok() && late_ping.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_place_is_free_as_soon_as_the_answer_is_there() {
    let mut service = held(&at_most(1, 0, millis(5)), Upstream::after(millis(10)));
    let mut first = std::pin::pin!(service.call(tool_call()));
    assert!(first.as_mut().await.is_ok());
    assert!(service.call(tool_call()).await.is_ok(), "the first future is still there");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_limit_holds_and_each_call_ends_once(
        places in 1usize..4,
        line in 0usize..4,
        calls in prop::collection::vec((0u64..50, 1u64..30, prop::option::of(1u64..40)), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let most = runtime.block_on(async {
            let server = Upstream::working(|_, request: Request| async move {
                sleep(millis(request.params.get("ms").unwrap().to().unwrap())).await;
                Ok(Response::empty())
            });
            let layer = at_most(places, line, millis(25));
            let runs = calls.into_iter().map(|(at, takes, dropped_after)| {
                let mut service = held(&layer, server.clone());
                async move {
                    sleep(millis(at)).await;
                    let params = Object::parse(format!(r#"{{"ms":{takes}}}"#)).unwrap();
                    let call = service.call(Request::call("vendor/work", params));
                    let patience = dropped_after.map_or(Duration::from_hours(1), millis);
                    match timeout(patience, call).await {
                        Ok(Err(error)) => assert_eq!(error.code(), 3001),
                        Ok(Ok(_)) => {}
                        Err(_) => assert!(dropped_after.is_some()),
                    }
                }
            });
            join_all(runs).await;
            assert_eq!(server.running(), 0);
            let all = (0..places).map(|_| held(&layer, Upstream::after(millis(1))).call(tool_call()));
            let all: Vec<_> = all.collect();
            assert!(join_all(all).await.iter().all(Result::is_ok), "all places are free in the end");
            server.most()
        });
        prop_assert!(most <= places);
    }
}

fn of(agent: &str) -> Request {
    let mut request = tool_call();
    request.context.principal = Some(Principal::new(agent));
    request
}

#[tokio::test(start_paused = true)]
async fn an_agent_with_many_calls_takes_nobody_elses_places() {
    let server = Upstream::after(millis(1000));
    let limit = at_most(2, 3, millis(50_000)).refusing_with("too many of yours").per_agent();
    let service = held(&limit, server.clone());
    let busy = (0..10).map(|_| {
        let mut service = service.clone();
        async move { service.call(of("busy")).await }
    });
    let other = async {
        let began = Instant::now();
        service.clone().call(of("other")).await.unwrap();
        began.elapsed()
    };
    let (ends, took) = join(join_all(busy), other).await;
    assert_eq!(took, millis(1000), "the other agent waits for nobody");
    assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 5);
    for error in ends.iter().filter_map(|end| end.as_ref().err()) {
        assert_eq!((error.code(), error.message()), (3001, "too many of yours"));
    }
    assert_eq!(server.most(), 3);
}

#[tokio::test(start_paused = true)]
async fn agents_that_call_nothing_are_forgotten() {
    let limit = at_most(1, 0, millis(1)).refusing_with("no").per_agent();
    let service = held(&limit, Upstream::after(millis(10)));
    let mut busy = service.clone();
    let held = tokio::spawn(busy.call(of("busy")));
    tokio::task::yield_now().await;
    for number in 0..3000 {
        let _limit = limit.of(&of(&number.to_string()));
    }
    assert!(limit.0.of_agents.as_ref().unwrap().load().len() <= SWEPT_FROM);
    assert_eq!(
        service.clone().call(of("busy")).await.unwrap_err().message(),
        "no",
        "its place is still taken"
    );
    held.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_one_server_take_no_places_of_all() {
    let all = ConcurrencyLimit::new(NonZeroUsize::new(4).unwrap()).refusing_with("too many of all");
    let hung = held(&at_most(2, 100, millis(60_000)).within(all.clone()), Upstream::after(millis(50_000)));
    let quick = at_most(3, 100, millis(500)).refusing_with("too many of one").within(all);
    let waiting = join_all((0..50).map(|_| {
        let mut service = hung.clone();
        async move { service.call(tool_call()).await }
    }));
    let server = Upstream::after(millis(10));
    let others = async {
        let began = Instant::now();
        let service = held(&quick, server.clone());
        let calls = join_all((0..4).map(|_| {
            let mut service = service.clone();
            async move { service.call(tool_call()).await }
        }));
        assert!(calls.await.iter().all(Result::is_ok));
        // Two of the four places are left, and two more calls wait for them.
        assert_eq!((server.most(), began.elapsed()), (2, millis(20)));
        let slow = held(&quick, Upstream::after(millis(40_000)));
        let calls = (0..3).map(|_| {
            let mut service = slow.clone();
            async move { service.call(tool_call()).await }
        });
        let ends = join_all(calls).await;
        let refused: Vec<_> = ends.iter().filter_map(|end| end.as_ref().err()).collect();
        assert_eq!(refused.len(), 1);
        assert_eq!(refused[0].message(), "too many of all", "the limit that is reached is named");
    };
    let (_, ()) = tokio::join!(timeout(millis(55_000), waiting), others);
}
