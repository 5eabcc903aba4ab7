//! Tests of calls by `mgp.tools.call`, and of lists that hold a part of the tools.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{Permission, ToolContextBudget, UnlistedCall};
use mgp_types::{RequestKind, Revision};
use serde_json::{Value, json};
use tower_service::Service;

use super::world::{Peer, Policy, World, names, tool};
use crate::ServerTools;
use crate::budget::default_counter;
use crate::discovery::ToolDiscoverySettings;
use crate::embed::NullEmbedder;
use crate::level::Level;
use crate::session::{SessionSettings, ToolSessions};

const SPELLINGS: [&str; 4] = ["mgp/tools/call", "mgp.tools.call", "mgp_tools_call", "mgp__tools__call"];

#[tokio::test]
async fn a_call_by_the_meta_tool_is_one_of_the_tool_that_it_names() {
    let world = World::new().await;
    for spelling in SPELLINGS {
        for peer in [Peer::mgp(), Peer::plain(), Peer::of(Revision::V2026_07_28, None)] {
            for name in ["read_file", "files.read_file", "files__read_file"] {
                let params = json!({
                    "name": spelling, "arguments": { "name": name, "arguments": { "path": "a", "n": 1.0 } },
                    "_meta": { "progressToken": "mine" }, "task": { "ttl": 7 },
                });
                world.method(&peer, "tools/call", params).await.unwrap();
                let passed = world.server.last();
                let params: Value = passed.params.to_raw().to().unwrap();
                assert_eq!(params["name"], "read_file", "{spelling} {name}");
                assert_eq!(params["arguments"], json!({ "path": "a", "n": 1.0 }));
                assert_eq!(
                    (&params["_meta"]["progressToken"], &params["task"]["ttl"]),
                    (&json!("mine"), &json!(7))
                );
                assert!(passed.extensions.get::<UnlistedCall>().is_some());
            }
        }
    }
    // It counts as a use, like any call.
    let peer = Peer::plain();
    world.tool(&peer, "mgp_tools_call", json!({ "name": "shrink_image" })).await.unwrap();
    assert_eq!(world.listed(&peer).await.last().unwrap(), "shrink_image");
    assert_eq!(world.server.last().params.bytes("arguments"), Some(&b"{}"[..]));
}

#[tokio::test]
async fn arguments_may_be_the_text_of_an_object_and_a_meta_tool_may_be_named() {
    let world = World::new().await;
    let peer = Peer::plain();
    let call = json!({ "name": "read_file", "arguments": " {\"path\":\"a\"} " });
    world.tool(&peer, "mgp_tools_call", call).await.unwrap();
    assert_eq!(world.server.last().params.bytes("arguments"), Some(&br#"{"path":"a"}"#[..]));
    let call = json!({ "name": "mgp_tools_discover", "arguments": { "query": "shrink image" } });
    let found = world.tool(&peer, "mgp_tools_call", call).await.unwrap();
    let found = &found["structuredContent"];
    assert_eq!(found["tools"][0]["name"], "shrink_image");
    assert!(found["next"].as_str().unwrap().contains("`mgp_tools_call`"), "{found}");
}

#[tokio::test]
async fn a_call_that_names_no_tool_is_told_what_is_wrong_and_reaches_no_server() {
    let world = World::new().await;
    for peer in [Peer::plain(), Peer::of(Revision::V2026_07_28, None)] {
        for (arguments, expected) in [
            (json!({}), "`name` is missing"),
            (json!({ "name": "" }), "`name` is missing"),
            (json!({ "name": 7 }), "`name` is missing"),
            (json!({ "name": "read_file", "arguments": [] }), "the arguments of the tool `read_file`"),
            (json!({ "name": "read_file", "arguments": "path" }), "the arguments of the tool `read_file`"),
            (json!({ "name": "read_file", "path": "a" }), "`path` is neither"),
            (json!({ "name": "mgp.tools.call", "arguments": { "name": "read_file" } }), "itself"),
            (json!("read_file"), "`arguments` has to be an object"),
        ] {
            let result = world.tool(&peer, "mgp_tools_call", arguments.clone()).await.unwrap();
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(result["isError"] == true && text.contains(expected), "{arguments}: {text}");
        }
    }
    let mut notification = Peer::plain().request("tools/call", &json!({ "name": "mgp_tools_call" }));
    notification.kind = RequestKind::Notify;
    assert!(world.service().call(notification).await.is_err());
    assert!(world.server.seen.lock().is_empty());
    // It is a tool, and no method.
    let params = json!({ "name": "read_file" });
    world.method(&Peer::mgp(), "mgp/tools/call", params).await.unwrap();
    assert_eq!(world.server.last().method.as_str(), "mgp/tools/call");
}

#[tokio::test]
async fn each_level_that_hides_tools_lists_what_calls_them() {
    for level in [Level::L1, Level::L2, Level::L3] {
        let world = World::with(ToolDiscoverySettings::new().level(level)).await;
        let list = world.method(&Peer::plain(), "tools/list", json!({})).await.unwrap();
        assert_eq!(list["tools"][1]["name"], "mgp_tools_call");
        assert!(list["tools"][1]["annotations"]["readOnlyHint"] != true, "{list}");
        let search = list["tools"][0]["description"].as_str().unwrap();
        assert!(search.contains("mgp_tools_call"), "{search}");
    }
    let waiting = ToolDiscoverySettings::new().level(None).awaiting_tools(|_| true);
    assert_eq!(World::with(waiting).await.listed(&Peer::plain()).await[1], "mgp_tools_call");
}

#[tokio::test(start_paused = true)]
async fn what_a_search_finds_joins_the_end_of_the_list_and_its_client_is_told() {
    let world = World::new().await;
    let peer = Peer::plain();
    world.tool(&peer, "think", json!({})).await.unwrap();
    world.tool(&peer, "analyze_csv", json!({})).await.unwrap();
    let before = world.listed(&peer).await;
    let query = json!({ "query": "shrink image", "max_results": 2 });
    let found = world.tool(&peer, "mgp_tools_discover", query.clone()).await.unwrap();
    let found = names(&found["structuredContent"]["tools"]);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(peer.notifications.all(), ["notifications/tools/list_changed"]);
    assert_eq!(world.listed(&peer).await, [before, found].concat());
    world.tool(&peer, "mgp_tools_discover", query).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(peer.notifications.all().len(), 1, "it is in the list");
}

#[tokio::test]
async fn what_was_found_makes_room_before_what_was_used() {
    let mut budget = ToolContextBudget::default();
    budget.cache_limit = 200;
    let world = World::with_budget(ToolDiscoverySettings::new(), budget).await;
    let walls =
        |n| tool(&format!("paint{n}"), "Paint a wall in a colour of the house", &json!({ "colour": {} }));
    world.index.put_server(ServerTools::new("walls", (0..20).map(walls).collect())).await;
    world.index.settled().await;
    let peer = Peer::plain();
    world.tool(&peer, "read_file", json!({ "path": "a" })).await.unwrap();
    for query in ["paint a wall", "shrink image", "paint a wall"] {
        let found = world.tool(&peer, "mgp_tools_discover", json!({ "query": query })).await.unwrap();
        let best = names(&found["structuredContent"]["tools"]).remove(0);
        let listed = world.listed(&peer).await;
        assert!(listed.contains(&"read_file".to_owned()) && listed.contains(&best), "{query}: {listed:?}");
        let session = world.method(&Peer::mgp(), "mgp/tools/session", json!({})).await.unwrap();
        assert!(session["total_tokens"].as_u64() <= session["max_tokens"].as_u64());
    }
}

/// Returns a gateway by the budget, with so many tools of about 80 tokens beside the usual ones.
async fn by_budget(tools: usize) -> World {
    let settings = ToolDiscoverySettings::new().level(None);
    let words = "Says at length what it does, and to what, and why, and when not to. ".repeat(3);
    let some = |range: std::ops::Range<usize>| {
        range.map(|n| tool(&format!("tool{n}"), &words, &json!({}))).collect()
    };
    let servers =
        vec![ServerTools::new("b", some(0..tools / 2)), ServerTools::new("a", some(tools / 2..tools))];
    let mut world =
        World::of(settings.clone(), ToolContextBudget::default(), Arc::new(NullEmbedder), servers).await;
    let filled = SessionSettings::new(ToolContextBudget::default(), default_counter())
        .meta_tools(&settings.definitions(&*default_counter()))
        .fill_room();
    world.sessions = Arc::new(ToolSessions::new(filled).unwrap());
    world.layer =
        crate::discovery::ToolDiscoveryGate::new(world.index.clone(), Arc::clone(&world.sessions), settings);
    world.server.says(json!({ "tools": [{ "name": "all" }] }));
    world
}

// covers: MGP-16.8-01
#[tokio::test]
async fn tools_are_listed_whole_while_they_fit_and_as_many_as_fit_from_there_on() {
    for tools in [29, 31, 60] {
        assert_eq!(by_budget(tools).await.listed(&Peer::plain()).await, ["all"], "{tools}");
    }
    let world = by_budget(400).await;
    let peer = Peer::plain();
    let listed = world.listed(&peer).await;
    assert!(listed.len() > 15, "{listed:?}");
    assert_eq!(listed[3..5], ["tool200", "tool0"], "each server has some, in the order of their ids");
    let session =
        world.tool(&peer, "mgp_tools_session", json!({})).await.unwrap()["structuredContent"].clone();
    let tokens = session["total_tokens"].as_u64().unwrap();
    assert!((1250..=1900).contains(&tokens), "{session}");
    // Another session gets the same, and what is used joins it.
    assert_eq!(world.listed(&Peer::plain()).await, listed);
    world.server.says(json!({ "content": [] }));
    for n in 100..110 {
        world.tool(&peer, &format!("tool{n}"), json!({})).await.unwrap();
    }
    let after = world.listed(&peer).await;
    assert!((100..110).all(|n| after.contains(&format!("tool{n}"))), "{after:?}");
    assert_eq!(after[..listed.len()], listed, "the first list stays");
    // Who takes tools out wants the room.
    world.tool(&peer, "mgp_tools_session_evict", json!({ "tools": ["tool200", "tool0"] })).await.unwrap();
    world.index.put_server(ServerTools::new("c", vec![tool("late", "Comes late", &json!({}))])).await;
    world.index.settled().await;
    let after = world.listed(&peer).await;
    assert!(!after.contains(&"tool0".to_owned()) && !after.contains(&"late".to_owned()), "{after:?}");
}

// covers: MGP-16.6-17
#[tokio::test]
async fn a_request_asks_for_what_is_missing_and_loads_what_is_granted_or_awaited() {
    for (answer, status, is_listed) in [
        ("grant", "fulfilled", true),
        ("wait", "pending_approval", true),
        ("deny", "pending_approval", false),
    ] {
        let policy = Policy { ungranted: vec![Permission::FilesystemWrite], answer, ..Policy::default() };
        let world = World::with(ToolDiscoverySettings::new().eyes(Arc::new(policy))).await;
        let peer = Peer::plain();
        let wanted = json!({ "requirements": { "capabilities": ["write contents"] } });
        let requested =
            world.tool(&peer, "mgp_tools_request", wanted).await.unwrap()["structuredContent"].clone();
        assert_eq!(requested["status"], status, "{answer}: {requested}");
        assert_eq!(world.listed(&peer).await.contains(&"write_file".to_owned()), is_listed, "{answer}");
        assert_eq!(names(&requested["tools_loaded"]).contains(&"write_file".to_owned()), is_listed);
        if answer != "grant" {
            let pending = &requested["tools_pending"][0];
            assert!(pending["message"].as_str().unwrap().contains("mgp permissions"), "{pending}");
            assert_eq!(pending["approval_id"], if answer == "wait" { json!("7f") } else { Value::Null });
        }
    }
}
