//! Tests of shutdowns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mgp_types::mgp::{ServerState, ShutdownAnswer, ShutdownReason};
use mgp_types::{Object, Principal, Request, code};
use tokio::time::Instant;
use tower_layer::Layer;

use super::{
    LifecycleLayer, ServerLifecycle, ask, assert_cut_off, assert_draining, begin, lifecycle, plain, request,
    started, stop, text, tool,
};
use crate::doubles::{Upstream, millis};
use crate::server::{DrainOutcome, ShutdownPolicy};

// covers: MGP-11.2-04, MGP-11.2-05, MGP-11.2-12, MGP-11.2-13, MGP-11.4-01, MGP-11.4-02, MGP-11.4-05..08
#[tokio::test(start_paused = true)]
async fn calls_finish_new_ones_are_refused_and_then_the_server_is_gone() {
    let (life, server, service) = started();
    let (short, long) = (
        begin(&service, tool(&lifecycle(), "after-100")).await,
        begin(&service, tool(&plain(), "after-900")).await,
    );
    let asked = Instant::now();
    let answer: ShutdownAnswer = ask(&service, stop(&lifecycle(), 30_000)).await.unwrap().body().unwrap();
    assert_eq!((answer.accepted, answer.pending_requests), (true, 2));
    assert_eq!(answer.estimated_drain_ms, 30_000, "nothing is known of these calls yet");
    assert_eq!(life.state(), ServerState::Draining);

    assert!(assert_draining(ask(&service, tool(&lifecycle(), "now")).await) >= 500);
    assert_draining(ask(&service, tool(&plain(), "now")).await);
    assert_draining(ask(&service, request(&plain(), "tools/list", "{}")).await);
    assert_eq!(server.seen().len(), 2);

    assert_eq!(life.drained().await, DrainOutcome::Finished);
    assert_eq!(asked.elapsed(), millis(900));
    assert_eq!(life.state(), ServerState::Disconnected);
    assert!(short.await.unwrap().is_ok() && long.await.unwrap().is_ok());
    assert_draining(ask(&service, tool(&lifecycle(), "now")).await);
}

// covers: MGP-11.4-02, MGP-11.4-04, MGP-14.3-08
#[tokio::test(start_paused = true)]
async fn calls_that_take_too_long_are_cut_off_and_answered() {
    let (life, server, service) = started();
    let short = begin(&service, tool(&lifecycle(), "after-100")).await;
    let never = begin(&service, tool(&lifecycle(), "never")).await;
    let asked = Instant::now();
    assert_eq!(
        life.shutdown(ShutdownReason::ResourceLimit, millis(500)).await,
        DrainOutcome::CutOff { calls: 1 }
    );
    assert_eq!(asked.elapsed(), millis(500));
    assert!(short.await.unwrap().is_ok());
    assert_cut_off(&never.await.unwrap());
    assert_eq!((server.running(), life.pending()), (0, 0), "its handler is gone");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_calls_stops_at_once() {
    let (life, _, service) = started();
    let asked = Instant::now();
    let answer = ask(&service, stop(&lifecycle(), u64::MAX)).await.unwrap();
    assert_eq!(text(&answer), r#"{"accepted":true,"pending_requests":0,"estimated_drain_ms":0}"#);
    assert_eq!(life.drained().await, DrainOutcome::Finished);
    assert_eq!(asked.elapsed(), millis(0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_polls_cannot_hold_the_server() {
    let (life, _, service) = started();
    let mut forgotten = Box::pin(tower_service::Service::call(&mut service.clone(), tool(&plain(), "now")));
    let asked = Instant::now();
    assert_eq!(
        life.shutdown(ShutdownReason::IdleTimeout, millis(500)).await,
        DrainOutcome::CutOff { calls: 1 }
    );
    assert_eq!(asked.elapsed(), millis(1500));
    assert!((&mut forgotten).await.is_ok(), "it is done when it is looked at");
}

// covers: MGP-11.4-07
#[tokio::test(start_paused = true)]
async fn the_estimate_is_what_calls_took_at_most() {
    let (life, _, service) = started();
    for name in ["after-5000", "now"] {
        ask(&service, tool(&lifecycle(), name)).await.unwrap();
    }
    ask(&service, tool(&lifecycle(), "fail")).await.unwrap_err();
    let slow = begin(&service, tool(&lifecycle(), "after-5000")).await;
    let answer: ShutdownAnswer = ask(&service, stop(&lifecycle(), 30_000)).await.unwrap().body().unwrap();
    assert_eq!(answer.pending_requests, 1);
    assert!(answer.estimated_drain_ms.abs_diff(5000) < 50, "{}", answer.estimated_drain_ms);
    let retry_after = assert_draining(ask(&service, tool(&lifecycle(), "now")).await);
    assert!(retry_after.abs_diff(5000) < 50, "{retry_after}");
    let answer: ShutdownAnswer = ask(&service, stop(&lifecycle(), 2000)).await.unwrap().body().unwrap();
    assert_eq!(answer.estimated_drain_ms, 2000, "longer than that nobody waits");
    assert_eq!(life.drained().await, DrainOutcome::CutOff { calls: 1 });
    assert_cut_off(&slow.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn of_two_wishes_the_earlier_time_counts() {
    for (first, second) in [(8000, 3000), (3000, 8000)] {
        let (life, _, service) = started();
        let calls = (
            begin(&service, tool(&plain(), "after-1000")).await,
            begin(&service, tool(&plain(), "never")).await,
        );
        let asked = Instant::now();
        let answer: ShutdownAnswer = ask(&service, stop(&lifecycle(), first)).await.unwrap().body().unwrap();
        assert_eq!(answer.pending_requests, 2);
        tokio::time::sleep(millis(1500)).await;
        let answer: ShutdownAnswer = ask(&service, stop(&lifecycle(), second)).await.unwrap().body().unwrap();
        assert_eq!((answer.accepted, answer.pending_requests), (true, 1));
        life.drained().await;
        assert_eq!(asked.elapsed(), millis(if first == 8000 { 4500 } else { 3000 }));
        assert!(calls.0.await.unwrap().is_ok());
        assert_cut_off(&calls.1.await.unwrap());
        let answer = ask(&service, stop(&lifecycle(), 10)).await.unwrap();
        assert_eq!(text(&answer), r#"{"accepted":true,"pending_requests":0,"estimated_drain_ms":0}"#);
    }
}

// covers: MGP-11.2-12
#[tokio::test(start_paused = true)]
async fn what_calls_need_to_finish_passes_while_the_server_drains() {
    let (life, server, service) = started();
    let never = begin(&service, tool(&plain(), "never")).await;
    ask(&service, stop(&lifecycle(), 5000)).await.unwrap();
    for method in [
        "ping", "server/discover", "mgp/health/ping", "mgp/health/status", "mgp/stream/cancel",
        "mgp/callback/respond", "tasks/cancel", "tasks/result",
    ] {
        assert!(ask(&service, request(&lifecycle(), method, "{}")).await.is_ok(), "{method}");
    }
    for method in ["notifications/cancelled", "notifications/progress", "notifications/initialized"] {
        let notification = Request::notify(method, Object::new());
        assert!(ask(&service, notification).await.is_ok(), "{method}");
    }
    assert_eq!(server.seen().len(), 1 + 6 + 3);
    for method in
        ["tools/list", "resources/read", "prompts/get", "completion/complete", "mgp/events/subscribe"]
    {
        assert_draining(ask(&service, request(&lifecycle(), method, "{}")).await);
    }
    never.abort();
    let asked = Instant::now();
    assert_eq!(life.drained().await, DrainOutcome::Finished, "a call that is taken back is over");
    assert_eq!(asked.elapsed(), millis(0));
}

#[tokio::test(start_paused = true)]
async fn subscriptions_end_with_the_server_and_do_not_hold_it() {
    let (life, server, service) = started();
    let listens = begin(&service, request(&plain(), "subscriptions/listen", r#"{"name":"never"}"#)).await;
    let call = begin(&service, tool(&plain(), "after-100")).await;
    assert_eq!((life.pending(), server.running()), (1, 2));
    let asked = Instant::now();
    assert_eq!(life.shutdown(ShutdownReason::KernelShutdown, millis(5000)).await, DrainOutcome::Finished);
    assert_eq!(asked.elapsed(), millis(100));
    assert!(call.await.unwrap().is_ok());
    assert_eq!(text(&listens.await.unwrap().unwrap()), "{}");
}

// covers: MGP-11.4-08..12
#[tokio::test(start_paused = true)]
async fn every_reason_of_the_specification_stops_a_server_and_no_other() {
    for &reason in ShutdownReason::ALL {
        let (life, _, service) = started();
        let params = format!(r#"{{"reason":"{reason}"}}"#);
        ask(&service, request(&lifecycle(), "mgp/lifecycle/shutdown", &params)).await.unwrap();
        assert_eq!(life.drained().await, DrainOutcome::Finished);
    }
    let (life, _, service) = started();
    for params in ["{}", r#"{"reason":"boredom"}"#, r#"{"reason":7}"#] {
        let error = ask(&service, request(&lifecycle(), "mgp/lifecycle/shutdown", params)).await.unwrap_err();
        assert_eq!(error.code(), code::INVALID_PARAMS);
        assert!(error.message().contains("resource_limit, idle_timeout, kernel_shutdown"), "{error}");
    }
    let params = r#"{"reason":"idle_timeout","timeout_ms":"soon"}"#;
    let error = ask(&service, request(&lifecycle(), "mgp/lifecycle/shutdown", params)).await.unwrap_err();
    assert_eq!(error.code(), code::INVALID_PARAMS);
    assert_eq!(life.state(), ServerState::Connected);
}

#[tokio::test(start_paused = true)]
async fn agents_may_not_stop_a_server_and_operators_may() {
    let (life, _, service) = started();
    let mut by_agent = stop(&lifecycle(), 1);
    by_agent.context.principal = Some(Principal::new("a"));
    let error = ask(&service, by_agent).await.unwrap_err();
    assert_eq!(error.code(), code::PERMISSION_DENIED);
    assert_eq!(life.state(), ServerState::Connected);
    let mut by_operator = stop(&lifecycle(), 1);
    by_operator.context.principal = Some(Principal::operator("o"));
    ask(&service, by_operator).await.unwrap();
    assert_ne!(life.state(), ServerState::Connected);
}

// covers: MGP-11.4-05
#[tokio::test(start_paused = true)]
async fn a_server_that_nobody_may_stop_does_not_accept() {
    let (life, _, service) = started();
    life.set_shutdown_policy(ShutdownPolicy::Nobody);
    let _never = begin(&service, tool(&plain(), "never")).await;
    let answer = ask(&service, stop(&lifecycle(), 1)).await.unwrap();
    assert_eq!(text(&answer), r#"{"accepted":false,"pending_requests":1,"estimated_drain_ms":0}"#);
    assert_eq!(life.state(), ServerState::Connected);
    assert_eq!(
        life.shutdown(ShutdownReason::KernelShutdown, millis(1)).await,
        DrainOutcome::CutOff { calls: 1 }
    );
}

// covers: MGP-11.2-09..11, MGP-11.2-14, MGP-11.2-15, MGP-14.3-07, MGP-14.3-09
#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_connected_says_why_it_takes_no_calls() {
    let life = ServerLifecycle::new("mind".into());
    let service = LifecycleLayer::new(life.clone()).layer(Upstream::obeying());
    let refused = async |code: i64| {
        let error = ask(&service, tool(&plain(), "now")).await.unwrap_err();
        assert_eq!((error.code(), error.recovery().unwrap().may_retry()), (code, true));
        assert!(ask(&service, request(&plain(), "server/discover", "{}")).await.is_ok());
    };
    assert_eq!(life.state(), ServerState::Registered);
    refused(code::SERVER_NOT_READY).await;
    life.starting().unwrap();
    assert!(life.starting().is_err() && life.restarting("x").is_err());
    refused(code::SERVER_NOT_READY).await;
    life.ready().unwrap();
    assert!(ask(&service, tool(&plain(), "now")).await.is_ok());
    assert!(life.ready().is_err());
    life.failed("the disk is gone").unwrap();
    refused(code::SERVER_NOT_READY).await;
    assert!(life.ready().is_err(), "a broken server is restarted first");
    life.restarting("a new disk").unwrap();
    refused(code::SERVER_RESTARTING).await;
    life.ready().unwrap();
    assert!(ask(&service, tool(&plain(), "now")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_connected_can_be_stopped_and_does_not_come_back() {
    let life = ServerLifecycle::new("mind".into());
    assert_eq!(life.shutdown(ShutdownReason::KernelShutdown, millis(1000)).await, DrainOutcome::Finished);
    assert!(life.ready().is_err());
    assert_eq!(life.state(), ServerState::Registered);

    let (life, _, service) = started();
    let never = begin(&service, tool(&plain(), "never")).await;
    life.failed("the disk is gone").unwrap();
    assert_eq!(
        life.shutdown(ShutdownReason::KernelShutdown, millis(10)).await,
        DrainOutcome::CutOff { calls: 1 }
    );
    assert_cut_off(&never.await.unwrap());
    assert!(life.restarting("x").is_err());
    assert_eq!(life.state(), ServerState::Error);
}

#[tokio::test(start_paused = true)]
async fn a_kernel_stops_all_its_servers_at_once() {
    let mut servers: Vec<_> = (0..20).map(|_| started()).collect();
    for (_, _, service) in &servers {
        begin(service, tool(&plain(), "never")).await;
        begin(service, tool(&plain(), "after-300")).await;
    }
    let asked = Instant::now();
    let stopping =
        servers.iter().map(|(life, ..)| life.shutdown(ShutdownReason::KernelShutdown, millis(700)));
    let ended = futures_util::future::join_all(stopping).await;
    assert_eq!(ended, vec![DrainOutcome::CutOff { calls: 1 }; 20]);
    assert_eq!(asked.elapsed(), millis(700));
    assert!(servers.drain(..).all(|(life, ..)| life.state() == ServerState::Disconnected));
}

#[tokio::test(start_paused = true)]
async fn a_life_that_nobody_holds_leaves_no_task_behind() {
    let (life, server, service) = started();
    let call = begin(&service, tool(&plain(), "never")).await;
    ask(&service, stop(&lifecycle(), 60_000)).await.unwrap();
    tokio::task::yield_now().await;
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    drop((life, service));
    tokio::task::yield_now().await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), before - 1);
    call.abort();
    let _ = call.await;
    assert_eq!(server.running(), 0);
}

// covers: MGP-11.2-12, MGP-14.3-08
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_call_slips_in_behind_the_answer_to_a_shutdown() {
    for _ in 0..50 {
        let (life, server, service) = started();
        let answered = Arc::new(AtomicBool::new(false));
        let callers: Vec<_> = (0..4)
            .map(|_| {
                let (service, answered) = (service.clone(), answered.clone());
                tokio::spawn(async move {
                    loop {
                        let is_late = answered.load(Ordering::Acquire);
                        let outcome = ask(&service, tool(&plain(), "yields")).await;
                        assert!(!is_late || outcome.is_err());
                        if outcome.is_err() {
                            return assert_draining(outcome);
                        }
                    }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        ask(&service, stop(&lifecycle(), 60_000)).await.unwrap();
        answered.store(true, Ordering::Release);
        assert_eq!(life.drained().await, DrainOutcome::Finished);
        assert_eq!((life.pending(), server.running()), (0, 0));
        for caller in callers {
            caller.await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_counts_no_more() {
    let (life, _, service) = started();
    for name in ["panics", "panics-late"] {
        assert!(begin(&service, tool(&plain(), name)).await.await.unwrap_err().is_panic());
    }
    assert_eq!(life.pending(), 0);
    assert_eq!(life.shutdown(ShutdownReason::IdleTimeout, millis(1)).await, DrainOutcome::Finished);
}
