//! Tests with hostile peers, and faulty applications.

use std::time::Duration;

use mgp_types::mgp::{HealthReport, ShutdownReason};
use tokio::time::Instant;

use super::{ask, assert_cut_off, begin, lifecycle, plain, reaching, request, started, stop, tool};
use crate::doubles::{Caller, millis};
use crate::server::DrainOutcome;

#[tokio::test(start_paused = true)]
async fn no_ping_is_too_strange_to_be_answered() {
    let (_, server, service) = started();
    let long = format!(r#"{{"timestamp":"{}"}}"#, "9".repeat(100_000));
    for params in [
        r#"{"timestamp":"2026-02-27T12:00:00.000Z"}"#,
        r#"{"timestamp":"99999-99-99T99:99:99Z"}"#,
        r#"{"timestamp":1e400}"#,
        r#"{"timestamp":{"timestamp":{}},"_meta":7}"#,
        &long,
    ] {
        let answer = ask(&service, request(&lifecycle(), "mgp/health/ping", params)).await.unwrap();
        assert!(answer.written_bytes() < 200);
    }
    assert_eq!(server.calls(), 0);
}

// covers: MGP-11.4-04
#[tokio::test(start_paused = true)]
async fn a_shutdown_can_have_no_time_or_all_of_it() {
    for (timeout, took) in [(0, Duration::ZERO), (u64::MAX, Duration::from_hours(24))] {
        let (life, server, service) = started();
        let never = begin(&service, tool(&plain(), "never")).await;
        let asked = Instant::now();
        ask(&service, stop(&lifecycle(), timeout)).await.unwrap();
        assert_eq!(life.drained().await, DrainOutcome::CutOff { calls: 1 });
        assert_eq!(asked.elapsed(), took);
        assert_cut_off(&never.await.unwrap());
        assert_eq!(server.running(), 0);
    }
    let (life, _, service) = started();
    let _never = begin(&service, tool(&plain(), "never")).await;
    let asked = Instant::now();
    life.shutdown(ShutdownReason::KernelShutdown, Duration::MAX).await;
    assert_eq!(asked.elapsed(), Duration::from_hours(24));
}

#[tokio::test(start_paused = true)]
async fn numbers_of_tools_that_cannot_be_told_are_no_reason_to_tell_nothing() {
    let (life, _, service) = started();
    life.tools(|| panic!("on purpose"));
    let answer = ask(&service, request(&lifecycle(), "mgp/health/status", "{}")).await.unwrap();
    let report: HealthReport = answer.body().unwrap();
    assert_eq!((report.tools_available, report.tools_total), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_can_be_dropped_at_once_and_ended_at_once() {
    let (life, server, service) = started();
    for drops in [true, false] {
        let mut calls = Vec::new();
        for _ in 0..10_000 {
            calls.push(tokio::spawn(tower_service::Service::call(
                &mut service.clone(),
                tool(&plain(), "never"),
            )));
        }
        tokio::time::sleep(millis(1)).await;
        assert_eq!((life.pending(), server.running()), (10_000, 10_000));
        if drops {
            calls.iter().for_each(tokio::task::JoinHandle::abort);
            tokio::time::sleep(millis(1)).await;
        } else {
            let how = life.shutdown(ShutdownReason::KernelShutdown, Duration::ZERO).await;
            assert_eq!(how, DrainOutcome::CutOff { calls: 10_000 });
            for call in calls {
                assert_cut_off(&call.await.unwrap());
            }
        }
        assert_eq!((life.pending(), server.running()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_does_not_listen_misses_what_it_must_and_holds_up_nobody() {
    let (life, _, service) = started();
    let mut slow = life.changes();
    let peer = std::sync::Arc::new(Caller::stuck());
    let session = reaching(&peer);
    life.note(&session);
    for _ in 0..1000 {
        life.failed("x").unwrap();
        life.restarting("y").unwrap();
        life.ready().unwrap();
    }
    let asked = Instant::now();
    assert_eq!(life.shutdown(ShutdownReason::IdleTimeout, millis(1)).await, DrainOutcome::Finished);
    assert!(asked.elapsed() <= millis(1000));
    drop((life, service));
    let mut kept = 0;
    while slow.next().await.is_some() {
        kept += 1;
    }
    assert_eq!(kept, 64);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_stood_still_for_a_year_breaks_nothing() {
    let (life, _, service) = started();
    let call = begin(&service, tool(&plain(), "after-5")).await;
    tokio::time::advance(Duration::from_hours(24 * 365)).await;
    assert!(call.await.unwrap().is_ok());
    assert!(ask(&service, request(&lifecycle(), "mgp/health/ping", "{}")).await.is_ok());
    assert_eq!(life.shutdown(ShutdownReason::IdleTimeout, millis(1)).await, DrainOutcome::Finished);
}
