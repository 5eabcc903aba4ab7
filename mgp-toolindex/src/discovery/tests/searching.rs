//! Tests of searches, mode A.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mgp_types::mgp::{DiscoveredTools, FoundTool, SearchStrategy, ToolContextBudget};
use serde_json::{Value, json};

use super::world::{Peer, Policy, World, large, names, tool};
use crate::ServerTools;
use crate::discovery::ToolDiscoverySettings;

async fn discover(world: &World, params: Value) -> DiscoveredTools {
    let answer = world.method(&Peer::mgp(), "mgp/tools/discover", params).await.unwrap();
    serde_json::from_value(answer).unwrap()
}

fn ids(tools: &[FoundTool]) -> Vec<String> {
    tools.iter().map(|tool| format!("{}/{}", tool.server_id, tool.name)).collect()
}

// covers: MGP-16.5-08..17
#[tokio::test]
async fn a_search_tells_all_that_is_needed_for_a_call() {
    let world = World::new().await;
    let params = json!({ "query": "read the contents of a file", "strategy": "keyword" });
    let answer = world.method(&Peer::mgp(), "mgp/tools/discover", params).await.unwrap();
    let first = &answer["tools"][0];
    assert_eq!(first["name"], "read_file");
    assert_eq!(first["server_id"], "files");
    assert_eq!(first["description"], "Read the contents of a file");
    assert_eq!(
        first["inputSchema"],
        json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] })
    );
    assert_eq!(first["security"], json!({ "risk_level": "safe" }));
    assert!(first.get("schema_shortened").is_none());
    let write = answer["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "write_file").unwrap();
    assert_eq!(
        write["security"],
        json!({ "risk_level": "moderate", "permissions_required": ["filesystem.write"] })
    );
    let scores: Vec<_> = answer["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["relevance_score"].as_f64().unwrap())
        .collect();
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
    assert!(scores.is_sorted_by(|one, next| one >= next) && scores.len() > 1);
    assert_eq!(answer["total_available"], 9);
    assert_eq!(answer["search_strategy"], "keyword");
    assert!(answer["query_time_ms"].as_f64().unwrap() >= 0.0);
}

// covers: MGP-16.5-03
#[tokio::test]
async fn who_does_not_say_how_searches_as_the_layer_is_set() {
    let world = World::new().await;
    let usual = discover(&world, json!({ "query": "file" })).await;
    assert_eq!((usual.search_strategy, usual.fallback_strategy), (SearchStrategy::Keyword, None));
    let settings = ToolDiscoverySettings::new().strategy(SearchStrategy::Hybrid);
    let set = discover(&World::with(settings).await, json!({ "query": "file" })).await;
    assert_eq!(set.search_strategy, SearchStrategy::Hybrid);
}

// covers: MGP-16.5-16
#[tokio::test]
async fn a_search_by_meaning_that_cannot_be_made_says_what_was_made_instead() {
    let found = discover(&World::new().await, json!({ "query": "file", "strategy": "semantic" })).await;
    assert_eq!(found.search_strategy, SearchStrategy::Semantic);
    assert_eq!(found.fallback_strategy, Some(SearchStrategy::Keyword));
    assert!(!found.tools.is_empty());
}

// covers: MGP-16.5-04, MGP-16.5-06
#[tokio::test]
async fn five_tools_are_found_or_as_many_as_are_wanted_but_no_more_than_fifty() {
    let world = World::new().await;
    let many = (0..60).map(|n| tool(&format!("paint{n}"), "Paint a wall", &json!({}))).collect();
    world.index.put_server(ServerTools::new("walls", many)).await;
    world.index.settled().await;
    for (wanted, found) in [(Value::Null, 5), (json!(2), 2), (json!(1_000_000), 50)] {
        let answer = discover(&world, json!({ "query": "paint a wall", "max_results": wanted })).await;
        assert_eq!(answer.tools.len() as u64 + answer.omitted, found);
    }
    let params = json!({ "query": "file", "filter": { "risk_level_max": "safe" } });
    assert_eq!(ids(&discover(&world, params).await.tools), ["files/read_file"]);
}

// covers: MGP-16.8-08
#[tokio::test]
async fn what_the_budget_has_no_room_for_is_counted_and_left_out() {
    let mut budget = ToolContextBudget::default();
    budget.discovery_reserve = 150;
    let world = World::with_budget(ToolDiscoverySettings::new(), budget).await;
    let found = discover(&world, json!({ "query": "image file csv" })).await;
    assert!(!found.tools.is_empty() && found.omitted > 0, "{found:?}");
}

// covers: MGP-16.5-13
#[tokio::test]
async fn a_schema_that_is_too_large_is_cut_to_what_a_call_needs_and_says_so() {
    let world = World::new().await;
    world.index.put_server(ServerTools::new("large", vec![large("weld")])).await;
    let found = discover(&world, json!({ "query": "weld steel" })).await;
    assert!(found.tools[0].schema_shortened);
    let schema: Value = found.tools[0].input_schema.to().unwrap();
    assert_eq!(schema["required"], json!(["option1"]));
    assert_eq!(schema["properties"]["option1"]["type"], "string");
}

// covers: MGP-16.5-15
#[tokio::test]
async fn nobody_finds_what_it_may_not_see() {
    let policy = Arc::new(Policy::default());
    *policy.hidden.lock() = "files";
    let world = World::with(ToolDiscoverySettings::new().eyes(policy.clone())).await;
    let found = discover(&world, json!({ "query": "read file" })).await;
    assert!(!found.tools.iter().any(|tool| tool.server_id.as_str() == "files"));
    assert_eq!(found.total_available, 7);

    *policy.hidden.lock() = "mail";
    policy.revision.fetch_add(1, Ordering::Relaxed);
    let found = discover(&world, json!({ "query": "read file" })).await;
    assert_eq!((found.tools[0].name.as_str(), found.total_available), ("read_file", 8));
}

#[tokio::test]
async fn what_a_caller_sees_is_found_out_once_for_each_state_of_things() {
    let policy = Arc::new(Policy::default());
    let world = World::with(ToolDiscoverySettings::new().eyes(policy.clone())).await;
    let (one, other) = (Peer::mgp().named("one"), Peer::mgp().named("other"));
    let looks = async |peer: &Peer| {
        let before = policy.asked.load(Ordering::Relaxed);
        world.method(peer, "mgp/tools/discover", json!({ "query": "zzz" })).await.unwrap();
        policy.asked.load(Ordering::Relaxed) - before
    };
    let first = looks(&one).await;
    assert!(first >= 9);
    assert!(looks(&one).await < 9);
    assert!(looks(&other).await >= 9);
    world.index.put_server(ServerTools::new("mail", Vec::new())).await;
    world.index.settled().await;
    assert!(looks(&one).await >= 8);
}

#[tokio::test]
async fn tools_of_one_name_are_found_under_names_that_tell_them_apart() {
    let world = World::new().await;
    let found = world.method(&Peer::mgp(), "mgp/tools/discover", json!({ "query": "send" })).await.unwrap();
    let mut found = names(&found["tools"]);
    found.sort_unstable();
    assert_eq!(found, ["chat.send", "mail.send"]);
}
