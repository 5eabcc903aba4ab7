//! What becomes of a call while its client is away.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;

use mgp_security::audit::{AuditLayer, AuditLog, Filter, LogStore, Query};
use mgp_types::mgp::Outcome;

use crate::approvals::{ParkedCallLayer, ParkedCallLimits};

use super::world::{World, again, answers, ask, request, send, text};
use crate::test_kernel::until;
use tower_service::Service;

#[tokio::test]
async fn who_answers_a_part_is_asked_for_the_rest() {
    let world = World::new(false).await;
    let front = world.front("a");
    let asked = ask(&front, "both").await;
    let all = answers(&asked, "A");
    let questions = asked["inputRequests"].as_object().unwrap();
    assert_eq!(questions.len(), 2);
    let (roots, form): (Vec<_>, Vec<_>) =
        questions.keys().partition(|key| questions[*key]["method"] == "roots/list");
    // What is no answer, and what nobody asked, is passed over.
    let part = json!({roots[0]: all[roots[0]], form[0]: "no answer", "unknown": {}});
    let rest = send(&front, again("both", &asked, &part)).await.unwrap();
    let left = rest["inputRequests"].as_object().unwrap();
    assert_eq!(left.keys().collect::<Vec<_>>(), form);
    assert_eq!(left[form[0]], questions[form[0]]);
    let nothing = send(&front, again("both", &rest, &json!({}))).await.unwrap();
    assert_eq!(nothing["inputRequests"], rest["inputRequests"]);
    let result = send(&front, again("both", &nothing, &answers(&nothing, "A"))).await.unwrap();
    assert_eq!(text(&result), "A 1");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_meanwhile_keeps_its_outcome_for_the_client() {
    let world = World::new(false).await;
    let front = world.front("a");
    let asked = ask(&front, "impatient").await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert_eq!(world.parked(), 1);
    let result = send(&front, again("impatient", &asked, &answers(&asked, "A"))).await.unwrap();
    assert_eq!(text(&result), "too late");
    assert_eq!(world.parked(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_nobody_fetches_is_forgotten() {
    let world = World::new(false).await;
    ask(&world.front("a"), "impatient").await;
    tokio::time::sleep(Duration::from_secs(601)).await;
    until(|| world.parked() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn what_became_of_a_call_whose_client_does_not_come_back_is_recorded_and_of_others_is_not() {
    let log = AuditLog::open(LogStore::in_memory().unwrap()).unwrap();
    let mut world = World::new(false).await;
    world.layer = ParkedCallLayer::new(
        ParkedCallLimits::default(),
        Some(AuditLayer::new(std::sync::Arc::new(log.clone()))),
    );
    let front = world.front("a");
    let asked = ask(&front, "name").await;
    send(&front, again("name", &asked, &answers(&asked, "A"))).await.unwrap();
    for tool in ["impatient", "wait"] {
        ask(&front, tool).await;
    }
    tokio::time::sleep(Duration::from_secs(601)).await;
    until(|| world.parked() == 0).await;
    log.flush().await.unwrap();
    let recorded = log.reader().query(&Query::new(Filter::default())).unwrap();
    let mut outcomes: Vec<_> = recorded
        .iter()
        .map(|entry| {
            let event = entry.to_event().unwrap();
            assert_eq!((event.actor.id.as_str(), event.event_type.as_str()), ("a", "TOOL_EXECUTED"));
            (event.target.tool_name.unwrap().to_string(), event.result, event.details.contains("cancelled"))
        })
        .collect();
    outcomes.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [("impatient", Outcome::Success, false), ("wait", Outcome::Failure, true)];
    assert_eq!(
        outcomes,
        expected.map(|(tool, outcome, is_cancelled)| (tool.to_owned(), outcome, is_cancelled))
    );
}

#[tokio::test]
async fn dropping_a_round_ends_its_call() {
    let world = World::new(false).await;
    let mut front = world.front("a");
    let asked = ask(&front, "wait").await;
    let round = front.call(request(&again("wait", &asked, &answers(&asked, "A"))));
    assert!(timeout(Duration::from_millis(20), round).await.is_err());
    until(|| world.dropped() && world.parked() == 0).await;
}

#[tokio::test]
async fn when_it_closes_calls_end_whose_clients_are_away_and_others_go_on() {
    let world = World::new(false).await;
    let mut front = world.front("a");
    let left = ask(&front, "name").await;
    let asked = ask(&front, "steps").await;
    // For this call the client is back, and the call has not gone on yet.
    let round = front.call(request(&again("steps", &asked, &answers(&asked, "A"))));
    world.layer.close();
    assert_eq!(world.parked(), 1);
    let late = send(&front, again("name", &left, &answers(&left, "B"))).await.unwrap_err();
    assert!(late.code() == -32602 && late.message().contains("make the call again"), "{late}");
    // It would ask a second time, and a new call for the first time.
    let fresh = front.clone().call(request(&json!({"name": "name", "arguments": {}})));
    for refused in [round.await.unwrap_err(), fresh.await.unwrap_err()] {
        assert!(refused.code() == 2001 && refused.message().contains("shutting down"), "{refused}");
    }
    assert_eq!(world.parked(), 0);
}

#[tokio::test]
async fn with_the_layer_all_parked_calls_end() {
    let world = World::new(false).await;
    ask(&world.front("a"), "wait").await;
    let World { layer, gate, seen, .. } = world;
    drop(layer);
    until(|| seen.dropped.load(std::sync::atomic::Ordering::SeqCst)).await;
    drop(gate);
}
