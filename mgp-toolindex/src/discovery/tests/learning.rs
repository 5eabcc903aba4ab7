//! Tests of learning: a tool that was found and then called is found more easily.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mgp_types::RequestKind;
use mgp_types::mgp::ToolContextBudget;
use serde_json::json;
use tower_service::Service as _;

use super::world::{Peer, World, names, tool};
use crate::ServerTools;
use crate::discovery::ToolDiscoverySettings;
use crate::embed::hashed_words::HashedWords;
use crate::learn::{LearnSettings, LearnedUses};

const EMBEDDER: &str = "hashed words 256";

async fn world(learned: &Arc<LearnedUses>, tenant: Option<&str>) -> World {
    let mut settings = ToolDiscoverySettings::new().learning(Arc::clone(learned));
    if let Some(tenant) = tenant {
        settings = settings.tenant(tenant);
    }
    let embedder = Arc::new(HashedWords::new(256));
    let world = World::embedded(embedder, settings, ToolContextBudget::default()).await;
    let tools = vec![
        tool("ship_parcel", "Hand over a box to the carrier", &json!({})),
        tool("box_office", "Sell a box of seats", &json!({})),
    ];
    world.index.put_server(ServerTools::new("post", tools)).await;
    world.index.embedded().await;
    world
}

fn learned() -> Arc<LearnedUses> {
    Arc::new(LearnedUses::new(LearnSettings::default(), EMBEDDER))
}

async fn find(world: &World, peer: &Peer, query: &str) -> Vec<(String, f64)> {
    let wanted = json!({ "query": query, "strategy": "semantic", "max_results": 5 });
    let found = world.method(peer, "mgp/tools/discover", wanted).await.unwrap();
    let scores =
        found["tools"].as_array().unwrap().iter().map(|tool| tool["relevance_score"].as_f64().unwrap());
    names(&found["tools"]).into_iter().zip(scores).collect()
}

fn score(found: &[(String, f64)], name: &str) -> f64 {
    found.iter().find(|(found, _)| found == name).map_or(0.0, |(_, score)| *score)
}

const QUERY: &str = "box of christmas presents";

async fn teach(world: &World, name: &str) {
    for _ in 0..5 {
        let peer = Peer::mgp().named(name);
        find(world, &peer, QUERY).await;
        world.tool(&peer, "ship_parcel", json!({})).await.unwrap();
    }
}

#[tokio::test]
async fn a_tool_that_was_called_rises_for_like_questions_of_this_agent_only() {
    let learned = learned();
    let world = world(&learned, None).await;
    let (one, other) = (Peer::mgp().named("one"), Peer::mgp().named("other"));
    let before = find(&world, &one, QUERY).await;
    teach(&world, "one").await;
    let after = find(&world, &one, "christmas presents").await;
    assert_eq!(after[0].0, "ship_parcel", "{before:?} {after:?}");
    let after = find(&world, &one, QUERY).await;
    assert!(score(&after, "ship_parcel") > score(&before, "ship_parcel"), "{before:?} {after:?}");
    assert_eq!(find(&world, &other, QUERY).await, before);

    learned.forget("one");
    assert_eq!(find(&world, &one, QUERY).await, before);
}

#[tokio::test]
async fn a_call_after_a_request_for_two_things_teaches_for_the_thing_that_the_tool_is_for() {
    let learned = learned();
    let world = world(&learned, None).await;
    let one = Peer::mgp().named("one");
    let [presents, seats] = ["box of christmas presents", "sell opera seats"];
    let before = find(&world, &one, seats).await;
    for _ in 0..5 {
        let peer = Peer::mgp().named("one");
        let wanted = json!({ "query": format!("{presents}, then {seats}"), "strategy": "hybrid" });
        world.method(&peer, "mgp/tools/discover", wanted).await.unwrap();
        world.tool(&peer, "ship_parcel", json!({})).await.unwrap();
    }
    assert_eq!(find(&world, &one, "christmas presents").await[0].0, "ship_parcel");
    assert_eq!(find(&world, &one, seats).await, before);
}

#[tokio::test]
async fn agents_of_one_tenant_learn_from_each_other_and_strangers_teach_nobody() {
    let (of_tenant, of_agents) = (learned(), learned());
    let shared = world(&of_tenant, Some("acme")).await;
    let before = find(&shared, &Peer::mgp(), QUERY).await;
    teach(&shared, "one").await;
    assert!(of_tenant.shift("acme").is_some() && of_tenant.shift("one").is_none());
    let after = find(&shared, &Peer::mgp().named("two"), QUERY).await;
    assert!(score(&after, "ship_parcel") > score(&before, "ship_parcel"), "{before:?} {after:?}");

    let strangers = world(&of_agents, None).await;
    let peer = Peer::mgp();
    find(&strangers, &peer, QUERY).await;
    strangers.tool(&peer, "ship_parcel", json!({})).await.unwrap();
    assert!(of_agents.shift("").is_none());
}

#[tokio::test]
async fn only_calls_that_succeed_of_tools_that_were_found_teach_anything() {
    let learned = learned();
    let world = world(&learned, None).await;
    let peer = Peer::mgp().named("one");
    world.tool(&peer, "ship_parcel", json!({})).await.unwrap();
    find(&world, &peer, QUERY).await;
    world.tool(&peer, "think", json!({})).await.unwrap();
    world.server.says(json!({ "content": [], "isError": true }));
    world.tool(&peer, "ship_parcel", json!({})).await.unwrap();
    assert!(learned.shift("one").is_none());
}

/// Returns the weight of what `agent` taught of a tool; 0 if it is nothing.
fn weight(learned: &LearnedUses, agent: &str, name: &str) -> u64 {
    let state = serde_json::to_value(learned.state()).unwrap();
    let tenants = state["tenants"].as_array().unwrap().iter().filter(|tenant| tenant["tenant"] == agent);
    let mut tools = tenants.flat_map(|tenant| tenant["tools"].as_array().unwrap());
    tools.find(|tool| tool["tool"] == name).map_or(0, |tool| tool["weight"].as_u64().unwrap())
}

#[tokio::test]
async fn calls_that_are_refused_or_fail_or_are_no_calls_teach_nothing() {
    let learned = learned();
    let world = world(&learned, None).await;
    let peer = Peer::mgp().named("one");
    find(&world, &peer, QUERY).await;
    world.server.refuses.store(true, Ordering::Relaxed);
    world.tool(&peer, "ship_parcel", json!({})).await.unwrap_err();
    world.server.refuses.store(false, Ordering::Relaxed);
    for unfinished in [
        json!({ "content": [], "isError": true }),
        json!({ "resultType": "input_required", "inputRequests": {} }),
    ] {
        world.server.says(unfinished);
        world.tool(&peer, "ship_parcel", json!({})).await.unwrap();
    }
    world.server.says(json!({ "content": [] }));
    let mut notified = peer.request("tools/call", &json!({ "name": "ship_parcel", "arguments": {} }));
    notified.kind = RequestKind::Notify;
    drop(world.service().call(notified).await);
    assert!(learned.shift("one").is_none());
    world.tool(&peer, "ship_parcel", json!({})).await.unwrap();
    assert_eq!(weight(&learned, "one", "ship_parcel"), 1, "the same call teaches where it succeeds");
}

#[tokio::test]
async fn a_session_teaches_once_of_each_tool() {
    let learned = learned();
    let world = world(&learned, None).await;
    let peer = Peer::mgp().named("one");
    for sessions in 1..=3 {
        let again = if sessions == 1 { peer.clone() } else { Peer::mgp().named("one") };
        for _ in 0..4 {
            find(&world, &again, QUERY).await;
            world.tool(&again, "ship_parcel", json!({})).await.unwrap();
        }
        assert_eq!(weight(&learned, "one", "ship_parcel"), sessions);
    }
}

#[tokio::test]
async fn a_session_teaches_only_what_it_found_itself() {
    let learned = learned();
    let world = world(&learned, None).await;
    let (searcher, caller) = (Peer::mgp().named("one"), Peer::mgp().named("one"));
    find(&world, &searcher, QUERY).await;
    world.tool(&caller, "ship_parcel", json!({})).await.unwrap();
    assert!(learned.shift("one").is_none());
}

#[tokio::test]
async fn what_a_server_answers_and_tells_teaches_nothing() {
    let learned = learned();
    let world = world(&learned, None).await;
    let peer = Peer::mgp().named("one");
    let answer = world
        .method(&peer, "mgp/tools/discover", json!({ "query": QUERY, "strategy": "semantic" }))
        .await
        .unwrap();
    let other = Peer::mgp().named("one");
    // A tool that was found by nobody answers like a search that found another one of its server.
    let text = answer.to_string();
    world.server.says(json!({
        "content": [{ "type": "text", "text": text }],
        "structuredContent": answer,
        "_meta": answer,
        "tools": answer["tools"],
    }));
    world.tool(&other, "think", json!({})).await.unwrap();
    world.layer.tools_changed();
    world.tool(&other, "box_office", json!({})).await.unwrap();
    world.tool(&other, "ship_parcel", json!({})).await.unwrap();
    assert!(learned.shift("one").is_none());
}

#[tokio::test]
async fn a_server_takes_no_use_from_another_by_the_name_of_its_tool() {
    let learned = learned();
    let world = world(&learned, None).await;
    let peer = Peer::mgp().named("one");
    find(&world, &peer, QUERY).await;
    let same = tool("ship_parcel", "Hand over a box to the carrier", &json!({}));
    world.index.put_server(ServerTools::new("thief", vec![same])).await;
    world.index.embedded().await;
    world.tool(&peer, "thief.ship_parcel", json!({})).await.unwrap();
    assert!(learned.shift("one").is_none());
    world.tool(&peer, "post.ship_parcel", json!({})).await.unwrap();
    let state = learned.state();
    let taught: Vec<_> = state.tools().map(|(_, server, tool)| (server.as_str(), tool.as_str())).collect();
    assert_eq!(taught, [("post", "ship_parcel")]);
}

#[tokio::test]
async fn a_tool_that_is_defined_otherwise_than_it_was_found_teaches_nothing() {
    let learned = learned();
    let world = world(&learned, None).await;
    let peer = Peer::mgp().named("one");
    find(&world, &peer, QUERY).await;
    let other = tool("ship_parcel", "Hand over a box to whoever asks", &json!({}));
    world.index.put_tool("post".into(), other).await;
    world.index.embedded().await;
    world.tool(&peer, "ship_parcel", json!({})).await.unwrap();
    assert!(learned.shift("one").is_none());
}

#[tokio::test]
async fn what_was_learned_before_a_restart_holds_for_the_definition_that_the_tool_had() {
    let before = learned();
    teach(&world(&before, None).await, "one").await;
    for (description, holds) in
        [("Hand over a box to the carrier", true), ("Hand over a box to whoever asks", false)]
    {
        let again = Arc::new(LearnedUses::restore(LearnSettings::default(), EMBEDDER, before.state()));
        let world = world(&again, None).await;
        world.index.put_tool("post".into(), tool("ship_parcel", description, &json!({}))).await;
        world.index.embedded().await;
        find(&world, &Peer::mgp().named("one"), QUERY).await;
        assert_eq!(again.shift("one").is_some(), holds, "{description}");
    }
}

#[tokio::test]
async fn what_was_learned_of_a_tool_stays_while_its_server_is_away() {
    let learned = learned();
    let world = world(&learned, None).await;
    teach(&world, "one").await;
    world.index.remove_server("post".into()).await;
    world.index.settled().await;
    find(&world, &Peer::mgp().named("one"), QUERY).await;
    assert!(learned.shift("one").is_some());
}

#[tokio::test]
async fn a_tool_that_is_defined_otherwise_has_to_earn_it_again() {
    let learned = learned();
    let world = world(&learned, None).await;
    teach(&world, "one").await;
    assert!(learned.shift("one").is_some());
    let other = tool("ship_parcel", "Hand over a box to whoever asks", &json!({}));
    world.index.put_tool("post".into(), other).await;
    world.index.embedded().await;
    find(&world, &Peer::mgp().named("one"), QUERY).await;
    assert!(learned.shift("one").is_none());
}

#[tokio::test]
async fn what_was_learned_with_another_embedder_is_left_alone() {
    let learned = Arc::new(LearnedUses::new(LearnSettings::default(), "another"));
    let world = world(&learned, None).await;
    teach(&world, "one").await;
    assert!(learned.shift("one").is_none());
}
