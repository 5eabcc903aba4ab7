//! Tests of requests for tools, mode B.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mgp_types::mgp::{
    Permission, RequestTools, RequestedTools, RiskLevel, ToolContextBudget, ToolRequestStatus,
};
use mgp_types::{BoxFuture, Context};
use serde_json::{Value, json};

use super::world::{Peer, Policy, World, large, tool};
use crate::ServerTools;
use crate::discovery::{ToolCreator, ToolDiscoverySettings};

async fn ask(world: &World, peer: &Peer, params: Value) -> RequestedTools {
    let answer = world.method(peer, "mgp/tools/request", params).await.unwrap();
    serde_json::from_value(answer).unwrap()
}

async fn require(world: &World, requirements: Value) -> RequestedTools {
    ask(world, &Peer::mgp(), json!({ "requirements": requirements })).await
}

fn loaded(answer: &RequestedTools) -> Vec<&str> {
    answer.tools_loaded.iter().map(|tool| tool.name.as_str()).collect()
}

// covers: MGP-16.1-01, MGP-16.6-02..04, MGP-16.6-09..14
#[tokio::test]
async fn what_is_found_is_loaded_with_all_that_a_call_needs() {
    let world = World::new().await;
    let peer = Peer::mgp();
    let params = json!({
        "reason": "capability_gap",
        "context": "a table has to be summed up",
        "requirements": {
            "capabilities": ["compute_statistics", "shrink image"],
            "preferred_risk_level": "safe"
        },
        "task_trace_id": "550e8400-e29b-41d4-a716-446655440000"
    });
    let answer = world.method(&peer, "mgp/tools/request", params.clone()).await.unwrap();
    assert_eq!(answer["status"], "fulfilled");
    assert_eq!(
        answer["tools_loaded"][0],
        json!({
            "name": "analyze_csv",
            "server_id": "data",
            "description": "Compute statistics on CSV",
            "inputSchema": { "type": "object", "properties": { "csv": { "type": "string" } }, "required": ["csv"] },
            "security": { "risk_level": "safe" }
        })
    );
    assert_eq!(answer["tools_loaded"][1]["name"], "shrink_image");
    assert_eq!(answer["tools_unavailable"], json!([]));
    assert_eq!(answer["session_tools_count"], 3);
    assert!(answer["context_tokens_added"].as_u64().unwrap() > 0);
    assert_eq!(world.listed(&peer).await[3..], ["think", "analyze_csv", "shrink_image"]);

    let again = ask(&world, &peer, params).await;
    assert_eq!((again.status, again.tools_loaded.len()), (ToolRequestStatus::Fulfilled, 2));
    assert_eq!((again.session_tools_count, again.context_tokens_added), (3, 0));
}

// covers: MGP-16.6-15, MGP-16.6-11
#[tokio::test]
async fn a_request_that_is_met_in_part_says_what_is_missing() {
    let answer =
        require(&World::new().await, json!({ "capabilities": ["shrink image", "brew espresso"] })).await;
    assert_eq!(answer.status, ToolRequestStatus::Partial);
    assert_eq!(loaded(&answer), ["shrink_image"]);
    assert_eq!(answer.tools_unavailable, ["brew espresso"]);
}

// covers: MGP-16.6-16
#[tokio::test]
async fn a_request_that_no_tool_meets_loads_nothing() {
    let world = World::new().await;
    let peer = Peer::mgp();
    let answer =
        ask(&world, &peer, json!({ "requirements": { "capabilities": ["brew espresso", "teleport"] } }))
            .await;
    assert_eq!(answer.status, ToolRequestStatus::Unavailable);
    assert_eq!(answer.tools_unavailable, ["brew espresso", "teleport"]);
    assert_eq!((answer.session_tools_count, answer.context_tokens_added), (1, 0));
    assert_eq!(world.listed(&peer).await.len(), 4);
}

// covers: MGP-16.6-05, MGP-16.6-06
#[tokio::test]
async fn a_tool_of_the_wrong_types_is_a_near_miss_and_says_why() {
    let world = World::new().await;
    let wanted = |types: Value| json!({ "capabilities": ["histogram of an image"], "input_types": types });
    let answer = require(&world, wanted(json!(["csv", "tabular_data"]))).await;
    assert_eq!(answer.status, ToolRequestStatus::Unavailable);
    let near = &answer.near_misses[0];
    assert_eq!((near.capability.as_str(), near.name.as_str()), ("histogram of an image", "measure_image"));
    assert_eq!(near.reason, "the tool takes image, not csv or tabular_data");

    for types in [json!([]), json!(["png"]), json!(["hologram"])] {
        let answer = require(&world, wanted(types.clone())).await;
        assert_eq!(loaded(&answer), ["measure_image"], "{types}");
    }
    let spoken = tool("speak", "Narrate a story. Returns an mp3", &json!({ "text": { "type": "string" } }));
    world.index.put_server(ServerTools::new("voice", vec![spoken])).await;
    world.index.settled().await;
    let answer =
        require(&world, json!({ "capabilities": ["narrate a story"], "output_types": ["chart"] })).await;
    assert_eq!(answer.near_misses[0].reason, "the tool returns audio, not chart");
}

// covers: MGP-16.6-07
#[tokio::test]
async fn among_tools_that_do_the_same_the_one_of_the_preferred_risk_is_taken() {
    let world = World::new().await;
    let wanted = |risk: &str| json!({ "capabilities": ["compute statistics"], "preferred_risk_level": risk });
    assert_eq!(loaded(&require(&world, wanted("safe")).await), ["analyze_csv"]);
    assert_eq!(loaded(&require(&world, wanted("dangerous")).await), ["rewrite_csv"]);
    // The risk is a preference: a tool of another risk is taken where there is no better one.
    let only = json!({ "capabilities": ["shrink image"], "preferred_risk_level": "dangerous" });
    assert_eq!(loaded(&require(&world, only).await), ["shrink_image"]);
}

// covers: MGP-16.6-17
#[tokio::test]
async fn tools_that_have_to_be_granted_first_are_pending() {
    let ungranted = vec![Permission::FilesystemWrite];
    let policy = Arc::new(Policy { ungranted, ..Policy::default() });
    let world = World::with(ToolDiscoverySettings::new().eyes(policy)).await;
    let answer = require(&world, json!({ "capabilities": ["write contents"] })).await;
    assert_eq!(answer.status, ToolRequestStatus::PendingApproval);
    assert!(answer.tools_loaded.is_empty() && answer.tools_unavailable.is_empty());
    assert_eq!(answer.tools_pending[0].name, "write_file");
    assert_eq!(answer.tools_pending[0].permissions_missing, [Permission::FilesystemWrite]);

    let answer = require(&world, json!({ "capabilities": ["write contents", "shrink image"] })).await;
    assert_eq!(answer.status, ToolRequestStatus::Partial);
    assert_eq!((loaded(&answer).len(), answer.tools_pending.len()), (1, 1));
    let answer = require(&world, json!({ "capabilities": ["write contents", "teleport"] })).await;
    assert_eq!(answer.status, ToolRequestStatus::PendingApproval);
    assert_eq!(answer.tools_unavailable, ["teleport"]);
}

#[tokio::test]
async fn a_tool_that_may_be_called_is_taken_before_one_that_has_to_be_granted() {
    let ungranted = vec![Permission::FilesystemWrite];
    let policy = Arc::new(Policy { ungranted, ..Policy::default() });
    let world = World::with(ToolDiscoverySettings::new().eyes(policy)).await;
    let scribe = tool("scribe", "Write contents to a file, in ink", &json!({}));
    world.index.put_server(ServerTools::new("desk", vec![scribe])).await;
    world.index.settled().await;
    let answer = require(&world, json!({ "capabilities": ["write contents"] })).await;
    assert_eq!((answer.status, loaded(&answer)), (ToolRequestStatus::Fulfilled, vec!["scribe"]));
}

#[tokio::test]
async fn nobody_is_given_or_told_of_what_it_may_not_see() {
    let policy = Arc::new(Policy::default());
    *policy.hidden.lock() = "pictures";
    let world = World::with(ToolDiscoverySettings::new().eyes(policy)).await;
    let answer = require(&world, json!({ "capabilities": ["shrink image"] })).await;
    assert_eq!(answer.status, ToolRequestStatus::Unavailable);
    assert!(answer.near_misses.iter().all(|near| near.server_id.as_str() != "pictures"));
}

#[tokio::test]
async fn a_tool_that_meets_two_needs_is_loaded_once() {
    let answer =
        require(&World::new().await, json!({ "capabilities": ["statistics", "csv", "statistics"] })).await;
    assert_eq!(answer.status, ToolRequestStatus::Fulfilled);
    assert_eq!(answer.tools_loaded.len(), 1);
}

#[tokio::test]
async fn who_names_no_capability_is_asked_what_it_is_about_to_do() {
    let world = World::new().await;
    let answer = ask(&world, &Peer::mgp(), json!({ "context": "shrink image" })).await;
    assert_eq!(loaded(&answer), ["shrink_image"]);
    let error = world.method(&Peer::mgp(), "mgp/tools/request", json!({})).await.unwrap_err();
    assert!(error.message().contains("`requirements.capabilities`"));
}

#[tokio::test]
async fn a_tool_that_the_budget_has_no_room_for_is_not_loaded() {
    let mut budget = ToolContextBudget::default();
    budget.cache_limit = 1;
    let world = World::with_budget(ToolDiscoverySettings::new(), budget).await;
    let answer = require(&world, json!({ "capabilities": ["shrink image"] })).await;
    assert_eq!(answer.status, ToolRequestStatus::Unavailable);
    assert!(answer.near_misses[0].reason.contains("budget"));
}

#[tokio::test]
async fn a_tool_that_is_too_large_is_loaded_shorter_and_says_so() {
    let world = World::new().await;
    world.index.put_server(ServerTools::new("large", vec![large("weld")])).await;
    world.index.settled().await;
    let answer = require(&world, json!({ "capabilities": ["weld steel"] })).await;
    assert_eq!(loaded(&answer), ["weld"]);
    assert!(answer.tools_loaded[0].schema_shortened);
    assert!(answer.tools_loaded[0].input_schema.as_bytes().len() < 12_000);
}

#[derive(Default)]
struct Workshop {
    begun: AtomicUsize,
    refuses: bool,
}

impl ToolCreator for Workshop {
    fn begin<'a>(
        &'a self,
        context: &'a Context,
        request: &'a RequestTools,
        capabilities: &'a [String],
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            assert_eq!(context.trace, request.task_trace_id);
            self.begun.fetch_add(capabilities.len(), Ordering::Relaxed);
            !self.refuses
        })
    }
}

// covers: MGP-16.6-08, MGP-16.6-18, MGP-16.6-19
#[tokio::test]
async fn a_tool_is_made_only_where_that_is_wanted_and_allowed_and_none_fits() {
    let nothing = json!({
        "requirements": { "capabilities": ["teleport"] },
        "task_trace_id": "550e8400-e29b-41d4-a716-446655440000"
    });
    let workshop = Arc::new(Workshop::default());
    let world = World::with(ToolDiscoverySettings::new().creation(workshop.clone())).await;
    let answer = ask(&world, &Peer::mgp(), nothing.clone()).await;
    assert_eq!(answer.status, ToolRequestStatus::Creating);
    assert_eq!(answer.tools_unavailable, ["teleport"]);
    assert_eq!(workshop.begun.load(Ordering::Relaxed), 1);

    require(&world, json!({ "capabilities": ["shrink image", "teleport"] })).await;
    assert_eq!(workshop.begun.load(Ordering::Relaxed), 1, "a tool fits in part");

    let refusing = Arc::new(Workshop { refuses: true, ..Workshop::default() });
    let world = World::with(ToolDiscoverySettings::new().creation(refusing)).await;
    assert_eq!(ask(&world, &Peer::mgp(), nothing.clone()).await.status, ToolRequestStatus::Unavailable);
    assert_eq!(ask(&World::new().await, &Peer::mgp(), nothing).await.status, ToolRequestStatus::Unavailable);
}

#[tokio::test]
async fn needs_that_tools_meet_are_told_from_needs_that_none_does() {
    let world = World::new().await;
    let risky = tool("translate_text", "Translate a text into another language", &json!({}));
    let tools = vec![risky, tool("list_rooms", "List free rooms of a hotel", &json!({}))];
    world.index.put_server(ServerTools::new("more", tools)).await;
    world.index.settled().await;
    for (need, met) in [
        ("translate text", Some("translate_text")),
        ("list hotel rooms", Some("list_rooms")),
        ("read_file", Some("read_file")),
        ("write file contents", Some("write_file")),
        ("compile rust", None),
        ("weather forecast", None),
        ("bluetooth pairing", None),
    ] {
        let answer = require(&world, json!({ "capabilities": [need] })).await;
        assert_eq!(loaded(&answer).first().copied(), met, "{need}");
    }
}

#[tokio::test]
async fn the_rest_of_a_task_does_not_meet_a_need() {
    let params = json!({
        "context": "shrink image",
        "requirements": { "capabilities": ["teleport"], "preferred_risk_level": RiskLevel::Safe }
    });
    let answer = ask(&World::new().await, &Peer::mgp(), params).await;
    assert_eq!(answer.status, ToolRequestStatus::Unavailable);
}
