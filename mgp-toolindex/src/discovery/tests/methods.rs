//! Tests of the four methods, and of the tools of the same names.

use mgp_types::{RequestKind, Revision, code};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{Peer, World, names};

const SPELLINGS: [[&str; 3]; 4] = [
    ["mgp/tools/discover", "mgp.tools.discover", "mgp_tools_discover"],
    ["mgp/tools/request", "mgp.tools.request", "mgp_tools_request"],
    ["mgp/tools/session", "mgp.tools.session", "mgp_tools_session"],
    ["mgp/tools/session/evict", "mgp.tools.session.evict", "mgp_tools_session_evict"],
];

// covers: MGP-16.2-01, MGP-16.5-01, MGP-16.6-01, MGP-16.7-05, MGP-16.7-10
#[tokio::test]
async fn the_methods_exist_only_where_they_were_negotiated() {
    let world = World::new().await;
    let params = json!({ "query": "file", "context": "read file", "tools": [] });
    for [method, ..] in SPELLINGS {
        assert!(world.method(&Peer::mgp(), method, params.clone()).await.is_ok(), "{method}");
        let others = [
            Peer::plain(),
            Peer::of(Revision::V2025_11_25, Some(&["audit"])),
            Peer::of(Revision::V2026_07_28, None),
        ];
        for peer in others {
            let error = world.method(&peer, method, params.clone()).await.unwrap_err();
            assert_eq!(error.code(), code::METHOD_NOT_FOUND, "{method}");
        }
    }
    assert!(world.server.seen.lock().is_empty());
}

// covers: MGP-16.5-19
#[tokio::test]
async fn the_tools_are_called_by_three_spellings_and_answer_everybody() {
    let world = World::new().await;
    let arguments = json!({ "query": "file", "context": "read file", "tools": [] });
    for name in SPELLINGS.into_iter().flatten() {
        for peer in [Peer::mgp(), Peer::plain(), Peer::of(Revision::V2026_07_28, None)] {
            let result = world.tool(&peer, name, arguments.clone()).await.unwrap();
            let text = result["content"][0]["text"].as_str().unwrap();
            let parsed: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(result["structuredContent"], parsed, "{name}");
        }
    }
    assert!(world.server.seen.lock().is_empty());
}

// covers: MGP-16.1-01
#[tokio::test]
async fn a_tool_answers_as_its_method_does() {
    let world = World::new().await;
    let peer = Peer::mgp();
    let params = json!({ "query": "read file" });
    let mut by_method = world.method(&peer, "mgp/tools/discover", params.clone()).await.unwrap();
    let mut result = world.tool(&peer, "mgp.tools.discover", params).await.unwrap();
    by_method["query_time_ms"] = json!(0);
    result["structuredContent"]["query_time_ms"] = json!(0);
    assert_eq!(result["structuredContent"], by_method);

    let params = json!({ "requirements": { "capabilities": ["statistics on csv"] } });
    let by_method = world.method(&Peer::mgp(), "mgp/tools/request", params.clone()).await.unwrap();
    let result = world.tool(&Peer::mgp(), "mgp_tools_request", params).await.unwrap();
    assert_eq!(result["structuredContent"], by_method);
}

#[tokio::test]
async fn the_oldest_peers_get_text_only() {
    let world = World::new().await;
    let peer = Peer::of(Revision::V2024_11_05, None);
    let result = world.tool(&peer, "mgp.tools.session", json!({})).await.unwrap();
    assert!(result.get("structuredContent").is_none());
    assert!(result["content"][0]["text"].as_str().unwrap().contains("max_tokens"));
}

#[tokio::test]
async fn what_is_wrong_is_told_to_programs_as_an_error_and_to_models_as_a_result() {
    let world = World::new().await;
    let peer = Peer::mgp();
    for (name, params) in [
        ("mgp/tools/discover", json!({ "query": ["x"] })),
        ("mgp/tools/request", json!({ "requirements": "x" })),
        ("mgp/tools/session/evict", json!({ "tools": 1 })),
    ] {
        let error = world.method(&peer, name, params.clone()).await.unwrap_err();
        assert_eq!(error.code(), code::INVALID_PARAMS);
        let result = world.tool(&peer, name, params).await.unwrap();
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"][0]["text"], error.message());
    }
    let result = world.tool(&peer, "mgp.tools.discover", json!("file")).await.unwrap();
    assert!(result["content"][0]["text"].as_str().unwrap().contains("`arguments`"));
}

#[tokio::test]
async fn names_that_are_none_of_the_four_pass() {
    let world = World::new().await;
    let peer = Peer::mgp();
    for name in ["mgp/tools/other", "mgp.tools.", "mgp_tools_discover_more", "discover"] {
        world.tool(&peer, name, json!({})).await.unwrap();
        assert_eq!(world.server.last().params.text("name").as_deref(), Some(name));
    }
    world.method(&peer, "mgp/tools/other", json!({})).await.unwrap();
    assert_eq!(world.server.last().method.as_str(), "mgp/tools/other");
}

#[tokio::test]
async fn a_notification_changes_nothing() {
    let world = World::new().await;
    let peer = Peer::mgp();
    world.tool(&peer, "read_file", json!({})).await.unwrap();
    let mut request = peer.request("mgp/tools/session/evict", &json!({ "tools": ["read_file"] }));
    request.kind = RequestKind::Notify;
    let outcome = tower_service::Service::call(&mut world.service(), request).await;
    assert_eq!(outcome.unwrap_err().code(), code::INVALID_REQUEST);
    let session = world.method(&peer, "mgp/tools/session", json!({})).await.unwrap();
    assert_eq!(session["cached"], json!(["read_file"]));
}

// covers: MGP-16.7-05..12
#[tokio::test]
async fn a_session_tells_its_tools_and_lets_them_go() {
    let world = World::new().await;
    let peer = Peer::mgp();
    world.tool(&peer, "read_file", json!({})).await.unwrap();
    let session = world.method(&peer, "mgp/tools/session", json!({})).await.unwrap();
    assert_eq!(session["pinned"], json!(["think"]));
    assert_eq!(session["cached"], json!(["read_file"]));
    assert_eq!(session["max_tokens"], 8000);
    let before = session["total_tokens"].as_u64().unwrap();

    let evict = json!({ "tools": ["read_file", "think", "nonsense"], "reason": "no_longer_needed" });
    let evicted = world.tool(&peer, "mgp.tools.session.evict", evict).await.unwrap();
    let evicted = &evicted["structuredContent"];
    assert_eq!(evicted["evicted"], json!(["read_file"]));
    assert_eq!(evicted["not_found"], json!(["nonsense"]));
    assert_eq!(evicted["pinned"], json!(["think"]));
    assert!(evicted["total_tokens"].as_u64().unwrap() < before);
    assert_eq!(
        world.listed(&peer).await,
        ["mgp/tools/discover", "mgp/tools/call", "mgp/tools/request", "think"]
    );
    let found = world.method(&peer, "mgp/tools/discover", json!({ "query": "read file" })).await.unwrap();
    assert_eq!(names(&found["tools"])[0], "read_file");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_asked_is_answered_or_refused_in_words(params in params()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new().await;
            let peer = Peer::mgp();
            for [method, ..] in SPELLINGS {
                let by_method = world.method(&peer, method, params.clone()).await;
                if let Err(error) = &by_method {
                    assert_eq!(error.code(), code::INVALID_PARAMS, "{error}");
                }
                let by_tool = world.tool(&peer, method, params.clone()).await.unwrap();
                assert_eq!(by_tool["isError"] == true, by_method.is_err());
            }
        });
    }
}

fn params() -> impl Strategy<Value = Value> {
    let member = prop::sample::select(vec![
        "query", "strategy", "max_results", "filter", "categories", "risk_level_max", "reason", "context",
        "requirements", "capabilities", "input_types", "preferred_risk_level", "task_trace_id", "tools",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        prop::sample::select(vec!["file", "category", "safe", "shrink image", "csv"]).prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 24, 6, {
        let member = member.clone();
        move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(member.clone().prop_map(String::from), inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        }
    });
    prop::collection::btree_map(member.prop_map(String::from), value, 0..8)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}
