//! Tests of learning: a tool that was found and then called is found more easily.

use std::sync::Arc;

use mgp_types::mgp::ToolContextBudget;
use serde_json::json;

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
