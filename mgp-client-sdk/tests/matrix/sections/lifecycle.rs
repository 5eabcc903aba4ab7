//! The health of a server, and its shutdown (§11.3, §11.4).

use std::sync::Arc;
use std::time::Duration;

use mgp_server_sdk::DrainOutcome;
use mgp_types::Params;
use mgp_types::mgp::{HealthStatus, LifecycleChange, ServerState, Shutdown, ShutdownReason, Timestamp};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use super::{builder, connect};
use crate::host::{Kind, child, say, text};
use crate::leg::{Connected, Leg, Transport};
use crate::runner::tests;
use crate::sections::raw::Raw;
use crate::sections::server::SERVER_ID;
use crate::sections::tools::GO_ON;

tests![
    a_server_tells_how_it_does,
    a_ping_on_the_wire_is_as_the_specification_has_it if Leg::is_memory,
    a_report_on_the_wire_is_as_the_specification_has_it if Leg::is_memory,
    a_server_that_is_shut_down_finishes_its_calls_and_closes,
    a_process_that_is_asked_to_terminate_drains if is_process,
    changes_are_told_in_sessions,
];

/// Returns whether the leg runs the tests with signals.
fn is_process(leg: Leg) -> bool {
    cfg!(unix) && leg.transport == Transport::Stdio
}

// covers: MGP-11.1-01, MGP-11.3-12, MGP-11.3-14..16, MGP-11.3-18, MGP-11.3-19
async fn a_server_tells_how_it_does(leg: Leg) {
    let (_host, client) = connect(leg).await;
    let report = client.health_report().await.unwrap();
    let checks: serde_json::Value = report.checks.to().unwrap();
    assert_eq!(checks, json!({"database_connected": true, "model_reachable": false}));
    assert_eq!(report.status, HealthStatus::Degraded);
    let tools = client.list_tools().await.unwrap().len() as u64;
    assert_eq!((report.tools_available, report.tools_total), (tools, tools));
    assert!(report.uptime_secs < 60);
    let pong = client.health().await.unwrap();
    assert_eq!((pong.status, pong.server_id.as_str()), (HealthStatus::Degraded, SERVER_ID));

    let pending = async || client.health_report().await.unwrap().pending_requests;
    let waiting = tokio::spawn(client.call_tool("wait", json!({"millis": 600_000})).into_future());
    in_work(&client).await;
    assert_eq!(pending().await, 1);
    waiting.abort();
    while pending().await == 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(pending().await, 0);
}

// covers: MGP-11.3-01..07
async fn a_ping_on_the_wire_is_as_the_specification_has_it(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Sections, &["lifecycle"]).await;
    raw.call(1, "held", json!({}), json!(null)).await;
    while raw.state.life.pending() == 0 {
        tokio::task::yield_now().await;
    }
    let before = Timestamp::now();
    raw.ask(2, "mgp/health/ping", json!({"timestamp": before})).await;
    // Whatever is in work, it has five seconds.
    let answer = tokio::time::timeout(Duration::from_secs(5), raw.answer(2)).await.unwrap();
    let pong = &answer["result"];
    assert_eq!((&pong["status"], &pong["server_id"]), (&json!("healthy"), &json!(SERVER_ID)));
    assert!(pong["uptime_secs"].is_u64(), "{pong}");
    let at: Timestamp = pong["timestamp"].as_str().unwrap().parse().unwrap();
    assert!(before <= at && at <= Timestamp::now(), "{pong}");
    raw.state.go_on.notify_one();
}

// covers: MGP-11.3-08..11, MGP-11.3-13..18
async fn a_report_on_the_wire_is_as_the_specification_has_it(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Sections, &["lifecycle"]).await;
    raw.state.life.resource("open_connections", || 3);
    raw.ask("tools", "tools/list", json!({})).await;
    let tools = raw.answer("tools").await["result"]["tools"].as_array().unwrap().len();
    raw.ask("first", "mgp/health/status", json!({})).await;
    let report = raw.answer("first").await["result"].clone();
    assert_eq!((&report["tools_available"], &report["tools_total"]), (&json!(tools), &json!(tools)));
    assert_eq!(report["pending_requests"], 0);
    assert!(report["uptime_secs"].is_u64(), "{report}");
    assert_eq!(report["resources"]["open_connections"], 3);
    assert_eq!(report["checks"], json!({"database_connected": true, "model_reachable": false}));
    // A check that fails keeps a server from being healthy, whatever it says itself.
    raw.state.life.check("model_reachable", async || true);
    for (status, word) in [
        (HealthStatus::Healthy, "healthy"),
        (HealthStatus::Degraded, "degraded"),
        (HealthStatus::Unhealthy, "unhealthy"),
    ] {
        raw.state.life.set_status(status);
        let began = Instant::now();
        loop {
            raw.ask(word, "mgp/health/status", json!({})).await;
            let reported = raw.answer(word).await["result"]["status"].clone();
            if reported == word {
                break;
            }
            // What was checked is believed for a moment.
            assert!(began.elapsed() < Duration::from_secs(30), "{reported} is not {word}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Waits until a call that was sent is in work.
async fn in_work(client: &Connected) {
    while client.health_report().await.unwrap().pending_requests == 0 {
        tokio::task::yield_now().await;
    }
}

// covers: MGP-11.2-12, MGP-11.4-01..07, MGP-14.3-08
async fn a_server_that_is_shut_down_finishes_its_calls_and_closes(leg: Leg) {
    let (host, client) = connect(leg).await;
    let waiting = tokio::spawn(client.call_tool("held", ()).into_future());
    in_work(&client).await;
    let shutdown = Shutdown::new(ShutdownReason::OperatorRequest).with_timeout_ms(20_000);
    let answer = client.shut_down(&shutdown).await.unwrap();
    assert!(answer.accepted && answer.estimated_drain_ms <= 20_000, "{answer:?}");
    assert_eq!(answer.pending_requests, 1);

    let refused = client.call_tool("add", ()).await.unwrap_err();
    assert_eq!(refused.code(), 2001, "{refused:?}");
    let recovery = refused.recovery().unwrap();
    assert_eq!(recovery.retryable, Some(true));
    assert!(recovery.retry_after_ms.unwrap() > 0);

    client.notify(GO_ON, Params::new()).await.unwrap();
    assert_eq!(text(&waiting.await.unwrap().unwrap()), "held");
    if leg.is_inside() {
        assert_eq!(host.state.life.drained().await, DrainOutcome::Finished);
        host.ended().await.unwrap();
    }
    // It closes by itself, soon.
    let mut error = client.call_tool("add", ()).await.unwrap_err();
    let began = Instant::now();
    while error.code() == 2001 && began.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(10)).await;
        error = client.call_tool("add", ()).await.unwrap_err();
    }
    assert_eq!(error.origin(), mgp_types::Origin::Connection, "{error:?}");
}

// covers: MGP-11.2-12
async fn a_process_that_is_asked_to_terminate_drains(leg: Leg) {
    let (mut process, stdout, stdin) = child(Kind::Sections).spawn().unwrap();
    let client = leg.settled(builder()).connect_io(stdout, stdin).await.unwrap();
    let pid = say(&client, "pid").await;
    let waiting = tokio::spawn(client.call_tool("held", ()).into_future());
    while client.health_report().await.unwrap().pending_requests == 0 {}
    let kill = ["-c", "kill -s TERM -- \"$1\"", "sh", &pid];
    assert!(std::process::Command::new("/bin/sh").args(kill).status().unwrap().success());
    let refused = loop {
        match client.call_tool("add", ()).await {
            Ok(_) => tokio::task::yield_now().await,
            Err(error) => break error,
        }
    };
    assert_eq!(refused.code(), 2001, "{refused:?}");
    client.notify(GO_ON, Params::new()).await.unwrap();
    assert_eq!(text(&waiting.await.unwrap().unwrap()), "held");
    let status = tokio::time::timeout(Duration::from_secs(5), process.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0), "{status:?}");
}

const LIFECYCLE: &str = "notifications/mgp.lifecycle";

// covers: MGP-11.2-04, MGP-11.2-05, MGP-11.4-13..18
async fn changes_are_told_in_sessions(leg: Leg) {
    let heard = Arc::<Mutex<Vec<LifecycleChange>>>::default();
    let hearing = heard.clone();
    let builder = builder().on_notification(LIFECYCLE, move |params, _| {
        hearing.lock().push(params.to().unwrap());
        std::future::ready(())
    });
    let mut host = leg.host(Kind::Sections).await;
    let client = host.client(builder).await;
    assert_eq!(say(&client, "add").await, "0");
    assert!(client.shut_down(&Shutdown::new(ShutdownReason::ConfigurationChange)).await.unwrap().accepted);
    let transitions =
        || heard.lock().iter().map(|change| (change.previous_state, change.new_state)).collect::<Vec<_>>();
    let expected =
        [(ServerState::Connected, ServerState::Draining), (ServerState::Draining, ServerState::Disconnected)];
    let wanted: &[_] = if leg.is_stateless() { &[] } else { &expected };
    let began = Instant::now();
    while transitions() != wanted && began.elapsed() < Duration::from_secs(3) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    if leg.is_stateless() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(transitions(), wanted);
    let heard = heard.lock();
    assert!(heard.iter().all(|change| change.server_id.as_str() == SERVER_ID));
    assert!(heard.iter().all(|change| change.reason.as_deref() == Some("configuration_change")), "{heard:?}");
}
