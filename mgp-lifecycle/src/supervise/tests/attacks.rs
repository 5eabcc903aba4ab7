//! Tests with hostile servers, and faulty functions.

use std::sync::Arc;

use mgp_types::mgp::ServerState::{Connected, Disconnected, Error as Down};
use mgp_types::mgp::ShutdownReason::OperatorRequest;
use mgp_types::mgp::{AuditEvent, AuditPort, HealthStatus};
use mgp_types::{BoxFuture, Origin, RawJson};
use tokio::time::Instant;
use tower_layer::Layer;

use super::*;
use crate::ServerEnd;
use crate::call::{BreakerSettings, BreakerState, SendingLayer, SharedBreaker};
use crate::doubles::{AttemptOutcome, LIVES, ScriptedAttempt, Upstream};
use crate::supervise::{ProbeMethod, ProbeResult, ProbeSettings, probe};

// covers: MGP-11.3-04
#[tokio::test]
async fn an_answer_to_a_ping_proves_life_whatever_it_says() {
    let long = format!(r#"{{"status":"{}"}}"#, "x".repeat(1_000_000));
    let deep = format!("{}{}", "[".repeat(60), "]".repeat(60));
    for (answer, expected) in [
        (r#"{"status":"HEALTHY"}"#, HealthStatus::Healthy),
        (
            r#"{"status":"Unhealthy","uptime_secs":-1,"timestamp":1e400,"server_id":[]}"#,
            HealthStatus::Unhealthy,
        ),
        (r#"{"status":"un\u0068ealthy"}"#, HealthStatus::Unhealthy),
        (r#"{"status":"dead"}"#, HealthStatus::Healthy),
        ("null", HealthStatus::Healthy),
        ("[]", HealthStatus::Healthy),
        (&*long, HealthStatus::Healthy),
        (&*deep, HealthStatus::Healthy),
    ] {
        let answer = Response::new(RawJson::parse(answer.to_owned()).unwrap());
        let server = Upstream::answering(move |_| Ok(answer.clone()));
        assert_eq!(probe(server, ProbeMethod::HealthPing).await, ProbeResult::Answered(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_accepts_and_dies_takes_no_more_than_it_is_given() {
    let world = FakeServerHost::with_script(
        [],
        ScriptedAttempt {
            takes: Duration::ZERO,
            ..ScriptedAttempt::new(AttemptOutcome::Ends(Duration::ZERO, ServerEnd::InError))
        },
    );
    let settings = RestartSettings {
        restart_policy: RestartPolicy::Always,
        max_restarts: u32::MAX,
        restart_window_secs: u64::MAX,
        backoff_base_ms: 0,
        backoff_max_ms: u64::MAX,
    };
    let server = world.supervisor("s").with_restarts(settings).spawn();
    server.start();
    tokio::time::sleep(secs(60)).await;
    assert!(world.attempts() > 100 && world.attempts() <= 6001, "{}", world.attempts());
    server.stop(OperatorRequest, Duration::MAX).await;
    assert_eq!(world.open(), 0);
}

#[derive(Debug)]
struct Panics;

impl AuditPort for Panics {
    fn record(&self, _: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        panic!("on purpose");
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_that_panics_ends_neither_the_supervisor_nor_the_process() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let server = world.supervisor("s").with_audit(Arc::new(Panics)).spawn();
    up(&server).await;
    world.end(ServerEnd::InError);
    settle().await;
    server.ready(secs(10)).await.unwrap();
    drop(server);
    settle().await;
    assert_eq!((world.attempts(), world.open()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stop_can_have_no_time_or_all_of_it() {
    let act = ScriptedAttempt { answers_after: Some(secs(40)), ..LIVES };
    for (timeout, took, answered) in [(Duration::ZERO, 0, false), (Duration::MAX, 39, true)] {
        let world = FakeServerHost::with_script([], act);
        let server = running(&world).await;
        let slow = tokio::spawn(call(server.gate()));
        tokio::time::sleep(millis(500)).await;
        let asked = Instant::now();
        server.stop(OperatorRequest, timeout).await;
        assert_eq!((asked.elapsed().as_secs(), server.state()), (took, Disconnected));
        assert_eq!(slow.await.unwrap().is_ok(), answered);
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_can_end_at_once() {
    let world = FakeServerHost::answering(None);
    let server = running(&world).await;
    let calls: Vec<_> = (0..10_000).map(|_| tokio::spawn(call(server.gate()))).collect();
    tokio::time::sleep(millis(10)).await;
    assert_eq!(server.in_flight(), 10_000);
    world.end(ServerEnd::InError);
    settle().await;
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Connection);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_stood_still_for_a_year_brings_no_server_down() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let settings = ProbeSettings { interval: secs(10), ..ProbeSettings::default() };
    let supervisor = world.supervisor("s").with_probe(settings, |service| probe(service, ProbeMethod::Ping));
    let server = supervisor.spawn();
    up(&server).await;
    tokio::time::sleep(secs(15)).await;
    tokio::time::advance(Duration::from_hours(24 * 365)).await;
    tokio::time::sleep(secs(60)).await;
    assert_eq!((server.state(), world.attempts()), (Connected, 1));
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_listens_does_not_hold_a_stop() {
    let server = serving(Upstream::working(|_, _| std::future::pending())).await;
    let listens = tokio::spawn(server.gate().call(Request::call("subscriptions/listen", Object::new())));
    settle().await;
    assert_eq!(server.in_flight(), 0);
    let asked = Instant::now();
    server.stop(OperatorRequest, secs(30)).await;
    assert!(asked.elapsed() < secs(1));
    assert_eq!(listens.await.unwrap().unwrap_err().origin(), Origin::Connection);
}

// covers: MGP-11.2-12
#[tokio::test(start_paused = true)]
async fn what_calls_need_to_finish_passes_while_a_server_drains() {
    let answered = Arc::new(tokio::sync::Notify::new());
    let service = Upstream::working(move |_, request| {
        let answered = Arc::clone(&answered);
        async move {
            match request.method.as_str() {
                "tools/call" => answered.notified().await,
                "mgp/callback/respond" => answered.notify_one(),
                _ => {}
            }
            Ok(Response::empty())
        }
    });
    let server = serving(service.clone()).await;
    let asking = tokio::spawn(server.gate().call(request()));
    settle().await;
    let stopping = tokio::spawn({
        let server = server.clone();
        async move { server.stop(OperatorRequest, secs(30)).await }
    });
    settle().await;
    let asked = Instant::now();
    assert_eq!(server.gate().call(request()).await.unwrap_err().code(), 2001);
    server.gate().call(Request::notify("notifications/mgp.stream.pace", Object::new())).await.unwrap();
    server.gate().call(Request::call("mgp/callback/respond", Object::new())).await.unwrap();
    assert!(asking.await.unwrap().is_ok());
    stopping.await.unwrap();
    assert!(asked.elapsed() < secs(1));
    let gone = server.gate().call(Request::call("mgp/callback/respond", Object::new())).await;
    assert_eq!((gone.unwrap_err().code(), service.calls()), (2000, 3));
}

#[tokio::test(start_paused = true)]
async fn a_restart_does_not_open_the_breaker_in_front_of_it() {
    let world = FakeServerHost::with_script([], ScriptedAttempt { takes: secs(2), ..LIVES });
    let server = running(&world).await;
    let breaker = SharedBreaker::new(BreakerSettings::default());
    let mut service = SendingLayer::new().breaker(breaker.clone()).layer(server.gate());
    let restart = tokio::spawn({
        let server = server.clone();
        async move { server.restart(OperatorRequest).await }
    });
    settle().await;
    for _ in 0..50 {
        let error = service.call(request()).await.unwrap_err();
        assert!(error.code() == 2001 || error.code() == 2002);
        assert!(error.is_not_executed());
        tokio::time::sleep(millis(10)).await;
    }
    restart.await.unwrap().unwrap();
    assert_eq!(breaker.state(), BreakerState::Closed);
    assert!(service.call(request()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn functions_that_panic_in_every_step_end_in_error_and_nothing_is_left() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let mut settings = policy(RestartPolicy::OnFailure);
    settings.max_restarts = 3;
    let server = world
        .supervisor("s")
        .with_restarts(settings)
        .with_restore(|_| -> std::future::Ready<Result<(), Error>> { panic!("on purpose") })
        .with_stop(|_, _| -> std::future::Ready<Result<(), Error>> { panic!("on purpose") })
        .with_probe(ProbeSettings::default(), |_| -> std::future::Ready<ProbeResult> { panic!("on purpose") })
        .spawn();
    server.start();
    tokio::time::sleep(secs(200)).await;
    assert_eq!((server.state(), world.attempts(), world.open()), (Down, 4, 0));
}
