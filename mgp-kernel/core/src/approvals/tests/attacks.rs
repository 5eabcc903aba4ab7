//! Clients that are not who they seem, and servers that ask too much.

use std::time::Duration;

use serde_json::json;

use super::world::{World, again, answers, ask, send, text};
use crate::approvals::ParkedCallLimits;
use crate::test_kernel::until;

#[tokio::test]
async fn nobody_else_can_answer() {
    let world = World::new(false).await;
    let asked = ask(&world.front("a"), "name").await;
    let answered = again("name", &asked, &answers(&asked, "A"));
    let error = send(&world.front("b"), answered.clone()).await.unwrap_err();
    assert_eq!(error.code(), -32602);
    assert!(error.message().contains("make the call again"), "{error}");
    // The call still waits for who may.
    assert_eq!(text(&send(&world.front("a"), answered).await.unwrap()), "A");
    assert_eq!(world.passed(), 1);
}

#[tokio::test]
async fn a_state_is_used_once() {
    let world = World::new(false).await;
    let front = world.front("a");
    let first = ask(&front, "steps").await;
    let second = send(&front, again("steps", &first, &answers(&first, "A"))).await.unwrap();
    assert_ne!(first["requestState"], second["requestState"]);
    // The answers of the first round are not those of the second.
    let error = send(&front, again("steps", &first, &answers(&second, "E"))).await.unwrap_err();
    assert_eq!(error.code(), -32602);
    let third = send(&front, again("steps", &second, &answers(&second, "B"))).await.unwrap();
    let result = send(&front, again("steps", &third, &answers(&third, "C"))).await.unwrap();
    assert_eq!(text(&result), "A B m");
    assert_eq!(send(&front, again("steps", &third, &answers(&third, "C"))).await.unwrap_err().code(), -32602);
    assert_eq!((world.passed(), world.parked()), (1, 0));
}

#[tokio::test]
async fn a_state_is_for_the_call_it_was_given_for() {
    let world = World::new(false).await;
    let front = world.front("a");
    let asked = ask(&front, "name").await;
    let answered = again("name", &asked, &answers(&asked, "A"));
    for (member, value) in [("name", json!("wait")), ("arguments", json!({"x": 1})), ("more", json!(1))] {
        let mut altered = answered.clone();
        altered[member] = value;
        assert_eq!(send(&front, altered).await.unwrap_err().code(), -32602, "{member}");
    }
    let mut state = asked["requestState"].as_str().unwrap().to_owned();
    state.push('A');
    let mut tampered = answered.clone();
    tampered["requestState"] = json!(state);
    assert_eq!(send(&front, tampered).await.unwrap_err().code(), -32602);
    let mut malformed = answered.clone();
    malformed["inputResponses"] = json!([1]);
    assert_eq!(send(&front, malformed).await.unwrap_err().code(), -32602);
    // New metadata is no other call.
    let mut described = answered;
    described["_meta"] = json!({"progressToken": 5});
    assert_eq!(text(&send(&front, described).await.unwrap()), "A");
    assert_eq!(world.passed(), 1);
}

#[tokio::test]
async fn a_state_of_another_life_begins_nothing() {
    let (before, after) = (World::new(false).await, World::new(false).await);
    let asked = ask(&before.front("a"), "name").await;
    let error = send(&after.front("a"), again("name", &asked, &answers(&asked, "A"))).await.unwrap_err();
    assert_eq!(error.code(), -32602);
    assert!(error.message().contains("make the call again"), "{error}");
    assert_eq!(after.seen.begun.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_question_without_a_place_is_refused_and_the_server_told() {
    let limits =
        ParkedCallLimits { max_parked: 3, max_parked_per_principal: 1, ..ParkedCallLimits::default() };
    let world = World::with(false, limits).await;
    let front = world.front("a");
    let first = ask(&front, "name").await;
    let refused = send(&front, json!({"name": "name", "arguments": {}})).await;
    let outcome = refused.map_or_else(|error| error.to_string(), |result| result.to_string());
    assert!(outcome.contains("too many calls wait"), "{outcome}");
    assert_eq!(world.parked(), 1);
    assert_eq!(text(&send(&front, again("name", &first, &answers(&first, "A"))).await.unwrap()), "A");
    // The place is free again.
    ask(&front, "name").await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_returns_loses_its_call() {
    let world = World::new(false).await;
    let front = world.front("a");
    let asked = ask(&front, "wait").await;
    assert_eq!((world.parked(), world.dropped()), (1, false));
    tokio::time::sleep(Duration::from_secs(599)).await;
    assert_eq!((world.parked(), world.dropped()), (1, false));
    tokio::time::sleep(Duration::from_secs(2)).await;
    until(|| world.dropped()).await;
    assert_eq!(world.parked(), 0);
    let error = send(&front, again("wait", &asked, &answers(&asked, "A"))).await.unwrap_err();
    assert_eq!(error.code(), -32602);
}

#[tokio::test(start_paused = true)]
async fn each_round_has_its_own_time() {
    let world = World::new(false).await;
    let front = world.front("a");
    let first = ask(&front, "steps").await;
    tokio::time::sleep(Duration::from_secs(599)).await;
    let second = send(&front, again("steps", &first, &answers(&first, "A"))).await.unwrap();
    tokio::time::sleep(Duration::from_secs(599)).await;
    let third = send(&front, again("steps", &second, &answers(&second, "B"))).await.unwrap();
    assert_eq!(third["resultType"], "input_required");
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert_eq!(world.parked(), 0);
}

#[tokio::test]
async fn answers_of_calls_that_wait_at_the_same_time_are_kept_apart() {
    let world = World::new(false).await;
    let front = world.front("a");
    let (one, other) = (ask(&front, "name").await, ask(&front, "name").await);
    assert_eq!(world.parked(), 2);
    let text_of = async |asked, name| {
        text(&send(&front, again("name", asked, &answers(asked, name))).await.unwrap()).to_owned()
    };
    assert_eq!((text_of(&other, "B").await, text_of(&one, "A").await), ("B".into(), "A".into()));
    assert_eq!((world.passed(), world.parked()), (2, 0));
}
