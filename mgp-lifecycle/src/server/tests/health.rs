//! Tests of health reports.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use mgp_types::mgp::{Extension, HealthPong, HealthReport, HealthStatus, ServerState, Timestamp};
use mgp_types::{Outbox, Request, code};
use tower_layer::Layer;
use tower_service::Service;

use super::{
    LifecycleLayer, ServerLifecycle, ask, begin, lifecycle, plain, request, session_with, started, text, tool,
};
use crate::doubles::{Upstream, millis};

const PING: &str = r#"{"timestamp":"2026-02-27T12:00:00.000Z"}"#;

async fn report(life: &ServerLifecycle) -> HealthReport {
    let service = LifecycleLayer::new(life.clone()).layer(Upstream::obeying());
    ask(&service, request(&lifecycle(), "mgp/health/status", "{}")).await.unwrap().body().unwrap()
}

async fn ping(life: &ServerLifecycle) -> HealthPong {
    let service = LifecycleLayer::new(life.clone()).layer(Upstream::obeying());
    ask(&service, request(&lifecycle(), "mgp/health/ping", PING)).await.unwrap().body().unwrap()
}

fn members(object: &mgp_types::Object) -> String {
    String::from_utf8(object.to_raw().as_bytes().to_vec()).unwrap()
}

// covers: MGP-11.1-01, MGP-11.3-01, MGP-11.3-04..08
#[tokio::test(start_paused = true)]
async fn a_ping_is_answered_with_status_time_uptime_and_server() {
    let (_, server, service) = started();
    tokio::time::advance(Duration::from_hours(1)).await;
    let before = Timestamp::now();
    let answer = ask(&service, request(&lifecycle(), "mgp/health/ping", PING)).await.unwrap();
    let pong: HealthPong = answer.body().unwrap();
    assert_eq!((pong.status, pong.uptime_secs, pong.server_id), (HealthStatus::Healthy, 3600, "mind".into()));
    assert!(pong.timestamp >= before && pong.timestamp <= Timestamp::now());
    assert!(text(&answer).starts_with(r#"{"status":"healthy","timestamp":""#));
    assert!(server.seen().is_empty());
}

// covers: MGP-11.3-02
#[tokio::test(start_paused = true)]
async fn a_ping_is_answered_at_once_while_a_thousand_calls_hang() {
    let (life, server, service) = started();
    let mut calls = Vec::new();
    for _ in 0..1000 {
        calls.push(begin(&service, tool(&lifecycle(), "never")).await);
    }
    assert_eq!((life.pending(), server.running()), (1000, 1000));
    life.check("hangs", pending);
    let ping = service.clone().call(request(&lifecycle(), "mgp/health/ping", PING));
    assert!(ping.now_or_never().unwrap().is_ok());
    for call in calls {
        call.abort();
        assert!(call.await.is_err());
    }
    assert_eq!((life.pending(), server.running()), (0, 0));
}

// covers: MGP-11.3-02
#[tokio::test(start_paused = true)]
async fn a_ping_does_not_wait_for_a_server_that_is_never_ready() {
    let life = ServerLifecycle::new("mind".into());
    life.ready().unwrap();
    let mut server = Upstream::obeying();
    server.is_never_ready = true;
    let mut service = LifecycleLayer::new(life.clone()).layer(server.clone());
    let waits = begin(&service, tool(&lifecycle(), "now")).await;
    assert!(std::future::poll_fn(|cx| service.poll_ready(cx)).now_or_never().unwrap().is_ok());
    assert!(service.call(request(&lifecycle(), "mgp/health/ping", PING)).now_or_never().unwrap().is_ok());
    assert!(!waits.is_finished() && server.seen().is_empty());
    assert_eq!(life.pending(), 1);
}

// covers: MGP-11.3-11..18
#[tokio::test(start_paused = true)]
async fn a_report_has_what_the_application_said() {
    let (life, _, service) = started();
    life.tools(|| (2, 3));
    life.check("api_key_configured", async || true);
    life.check("database_connected", async || true);
    life.resource("open_connections", || 2);
    life.resource("open_connections", || 3);
    let call = begin(&service, tool(&plain(), "never")).await;
    let report = report(&life).await;
    assert_eq!((report.status, report.tools_available, report.tools_total), (HealthStatus::Healthy, 2, 3));
    assert_eq!(report.pending_requests, 1);
    assert_eq!(members(&report.checks), r#"{"api_key_configured":true,"database_connected":true}"#);
    assert_eq!(report.resources.get("open_connections").unwrap().as_bytes(), b"3");
    let is_plausible =
        report.resources.get("memory_bytes").is_none_or(|bytes| bytes.to::<u64>().unwrap() > 100_000);
    assert!(is_plausible);
    call.abort();
}

// covers: MGP-11.3-08..10
#[tokio::test(start_paused = true)]
async fn the_status_is_the_worst_that_is_known() {
    let (life, ..) = started();
    assert_eq!(report(&life).await.status, HealthStatus::Healthy);
    let next = async || {
        tokio::time::advance(millis(1000)).await;
        report(&life).await.status
    };
    life.check("a", async || false);
    assert_eq!(next().await, HealthStatus::Unhealthy, "all that is checked fails");
    life.check("b", async || true);
    assert_eq!(next().await, HealthStatus::Degraded);
    assert_eq!(ping(&life).await.status, HealthStatus::Degraded);
    life.set_status(HealthStatus::Unhealthy);
    assert_eq!(ping(&life).await.status, HealthStatus::Unhealthy);
    life.set_status(HealthStatus::Healthy);
    life.check("a", async || true);
    assert_eq!(next().await, HealthStatus::Healthy);
}

// covers: MGP-11.2-14, MGP-11.3-10
#[tokio::test(start_paused = true)]
async fn a_server_that_takes_no_calls_is_not_healthy() {
    let life = ServerLifecycle::new("mind".into());
    life.tools(|| (3, 3));
    assert_eq!(ping(&life).await.status, HealthStatus::Degraded);
    life.ready().unwrap();
    life.failed("the disk is gone").unwrap();
    let report = report(&life).await;
    assert_eq!(report.status, HealthStatus::Unhealthy);
    assert_eq!((report.tools_available, report.tools_total), (0, 3));
    life.restarting("mended").unwrap();
    assert_eq!(ping(&life).await.status, HealthStatus::Degraded);
}

// covers: MGP-11.3-02
#[tokio::test(start_paused = true)]
async fn checks_that_hang_or_panic_have_failed_and_hold_nobody_up() {
    let (life, ..) = started();
    life.check("fine", async || true);
    life.check("hangs", pending);
    life.check("slow", async || {
        tokio::time::sleep(millis(1500)).await;
        true
    });
    life.check("panics", async || panic!("on purpose"));
    life.check("panics_early", || -> std::future::Ready<bool> { panic!("on purpose") });
    life.resource("panics", || -> u8 { panic!("on purpose") });
    let asked = tokio::time::Instant::now();
    let report = report(&life).await;
    assert!(asked.elapsed() <= millis(2001), "they run at the same time");
    let expected = r#"{"fine":true,"hangs":false,"slow":true,"panics":false,"panics_early":false}"#;
    assert_eq!(members(&report.checks), expected);
    assert_eq!(report.status, HealthStatus::Degraded);
    assert!(!report.resources.contains("panics"));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_questions_runs_the_checks_once_a_second() {
    let (life, _, service) = started();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    life.check("counted", move || {
        counted.fetch_add(1, Ordering::Relaxed);
        async {
            tokio::time::sleep(millis(100)).await;
            true
        }
    });
    for expected in [1, 2] {
        let mut asked = Vec::new();
        for _ in 0..100 {
            asked.push(begin(&service, request(&lifecycle(), "mgp/health/status", "{}")).await);
        }
        // The first caller may give up; the others get their answer all the same.
        asked.swap_remove(0).abort();
        for asked in asked {
            let report: HealthReport = asked.await.unwrap().unwrap().body().unwrap();
            assert_eq!(members(&report.checks), r#"{"counted":true}"#);
        }
        assert_eq!(runs.load(Ordering::Relaxed), expected);
        tokio::time::advance(millis(1000)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn pings_learn_what_the_checks_find_without_waiting_for_them() {
    let (life, ..) = started();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    life.check("fails", move || {
        counted.fetch_add(1, Ordering::Relaxed);
        async { false }
    });
    assert_eq!(ping(&life).await.status, HealthStatus::Healthy, "nothing is known yet");
    tokio::time::sleep(millis(10)).await;
    for _ in 0..100 {
        assert_eq!(ping(&life).await.status, HealthStatus::Unhealthy);
        tokio::time::sleep(millis(10)).await;
    }
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn without_lifecycle_the_methods_are_the_servers_business() {
    let (life, server, service) = started();
    let audit = session_with(&[Extension::Audit], Outbox::CLOSED);
    for session in [plain(), audit] {
        for method in ["mgp/health/ping", "mgp/health/status", "mgp/lifecycle/shutdown"] {
            let params = r#"{"reason":"operator_request"}"#;
            let error = ask(&service, request(&session, method, params)).await.unwrap_err();
            assert_eq!(error.code(), code::METHOD_NOT_FOUND, "{method}");
        }
    }
    assert_eq!(server.seen().len(), 6);
    assert_eq!(life.state(), ServerState::Connected);
    let mut disguised = Request::notify("mgp/lifecycle/shutdown", mgp_types::Object::new());
    disguised.context.session = Some(lifecycle());
    let _ = ask(&service, disguised).await;
    assert_eq!(life.state(), ServerState::Connected, "a notification asks for nothing");
}
