//! Tests of calls of found tools.

use std::sync::atomic::Ordering;

use mgp_types::mgp::{EffectiveSecurity, ResolvedTool, RiskLevel};
use mgp_types::{RequestKind, Revision};
use serde_json::{Value, json};
use tower_service::Service;

use super::world::{Peer, World, names};
use crate::{ServerTools, Tool};

async fn cached(world: &World, peer: &Peer) -> Value {
    let result = world.tool(peer, "mgp.tools.session", json!({})).await.unwrap();
    result["structuredContent"]["cached"].clone()
}

// covers: MGP-16.5-18, MGP-16.5-19
#[tokio::test]
async fn a_found_tool_is_called_at_once_and_is_in_the_list() {
    let world = World::new().await;
    for peer in [Peer::mgp(), Peer::plain()] {
        let arguments = json!({ "query": "shrink image", "max_results": 1 });
        let result = world.tool(&peer, "mgp/tools/discover", arguments).await.unwrap();
        let name = names(&result["structuredContent"]["tools"]).remove(0);
        assert_eq!(cached(&world, &peer).await, json!(["shrink_image"]));
        let result = world.tool(&peer, &name, json!({ "image_path": "x" })).await.unwrap();
        assert_eq!(result["content"][0]["text"], "done");
        assert_eq!(cached(&world, &peer).await, json!(["shrink_image"]));
    }
}

#[tokio::test]
async fn the_server_gets_the_name_that_it_gave_and_whoever_stands_between_the_tool() {
    let world = World::new().await;
    let peer = Peer::mgp();
    world.tool(&peer, "chat.send", json!({ "to": "x" })).await.unwrap();
    let passed = world.server.last();
    assert_eq!(passed.params.text("name").as_deref(), Some("send"));
    assert_eq!(passed.extensions.get::<Tool>().unwrap().server.as_str(), "chat");
    assert_eq!(cached(&world, &peer).await, json!(["chat.send"]));

    world.tool(&peer, "read_file", json!({})).await.unwrap();
    assert_eq!(world.server.last().extensions.get::<Tool>().unwrap().id(), "files.read_file");
    world.tool(&peer, "send", json!({})).await.unwrap();
    assert!(world.server.last().extensions.get::<Tool>().is_none());
}

#[tokio::test]
async fn a_call_that_somebody_resolved_stays_as_it_is() {
    let world = World::new().await;
    let peer = Peer::mgp();
    let mut request = peer.request("tools/call", &json!({ "name": "mail.send" }));
    let security = EffectiveSecurity::new(RiskLevel::Safe);
    request.context.tool =
        Some(ResolvedTool::new("chat".into(), "send".into(), mgp_types::Object::default(), security));
    world.service().call(request).await.unwrap();
    assert_eq!(world.server.last().params.text("name").as_deref(), Some("mail.send"));
    assert_eq!(cached(&world, &peer).await, json!(["chat.send"]));
}

#[tokio::test]
async fn only_a_call_that_succeeds_is_a_use() {
    let world = World::new().await;
    let peer = Peer::mgp();
    world.server.refuses.store(true, Ordering::Relaxed);
    world.tool(&peer, "read_file", json!({})).await.unwrap_err();
    world.server.refuses.store(false, Ordering::Relaxed);
    world.server.says(json!({ "content": [], "isError": true }));
    world.tool(&peer, "read_file", json!({})).await.unwrap();
    world.server.says(json!({ "resultType": "input_required" }));
    world.tool(&peer, "read_file", json!({})).await.unwrap();
    world.server.says(json!({ "content": [], "isError": false }));
    let mut notified = peer.request("tools/call", &json!({ "name": "read_file" }));
    notified.kind = RequestKind::Notify;
    drop(world.service().call(notified).await);
    assert_eq!(cached(&world, &peer).await, json!([]));
    world.tool(&peer, "read_file", json!({})).await.unwrap();
    assert_eq!(cached(&world, &peer).await, json!(["read_file"]));
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_no_trace() {
    let world = World::new().await;
    let peer = Peer::mgp();
    world.server.hangs.store(1, Ordering::Relaxed);
    let call = world.service().call(peer.request("tools/call", &json!({ "name": "read_file" })));
    assert!(tokio::time::timeout(std::time::Duration::ZERO, call).await.is_err());
    let params = json!({ "requirements": { "capabilities": ["read file", "shrink image"] } });
    let mut asking = Box::pin(world.service().call(peer.request("mgp/tools/request", &params)));
    assert!(futures_util::poll!(&mut asking).is_pending());
    drop(asking);
    assert_eq!(cached(&world, &peer).await, json!([]));
}

// covers: MGP-16.7-01
#[tokio::test]
async fn sessions_and_agents_have_tools_of_their_own() {
    let world = World::new().await;
    let (one, other) = (Peer::mgp().named("one"), Peer::mgp().named("one"));
    let mut second_agent = one.clone();
    second_agent.principal = Some(mgp_types::Principal::new("two"));
    world.tool(&one, "read_file", json!({})).await.unwrap();
    assert_eq!(cached(&world, &one).await, json!(["read_file"]));
    assert_eq!(cached(&world, &other).await, json!([]));
    assert_eq!(cached(&world, &second_agent).await, json!([]));
}

#[tokio::test]
async fn an_agent_that_describes_itself_with_each_request_keeps_its_tools() {
    let world = World::new().await;
    let again = || Peer::of(Revision::V2026_07_28, None).named("one");
    world.tool(&again(), "read_file", json!({})).await.unwrap();
    assert_eq!(cached(&world, &again()).await, json!(["read_file"]));
    let stranger = Peer::of(Revision::V2026_07_28, None);
    assert_eq!(cached(&world, &stranger).await, json!([]));
}

#[tokio::test]
async fn a_caller_that_nobody_knows_keeps_its_tools_though_others_ask_in_between() {
    let world = World::new().await;
    let one = || Peer::of(Revision::V2026_07_28, None);
    let other = || Peer::of(Revision::V2026_07_28, Some(&["tool_discovery"])).described("other");
    for _ in 0..100 {
        world.tool(&one(), "read_file", json!({})).await.unwrap();
        world.tool(&other(), "shrink_image", json!({})).await.unwrap();
        world.server.seen.lock().clear();
    }
    assert_eq!(cached(&world, &one()).await, json!(["read_file"]));
    assert_eq!(cached(&world, &other()).await, json!(["shrink_image"]));
    assert_eq!(world.sessions.len(), 2);
    let here = one();
    assert_eq!(cached(&world, &here).await, json!(["read_file"]));
    assert_eq!(cached(&world, &one()).await, json!([]), "the one of these words is still here");
}

// covers: MGP-16.7-03
#[tokio::test]
async fn what_a_session_used_is_forgotten_with_it() {
    let world = World::new().await;
    for _ in 0..1000 {
        let peer = Peer::mgp();
        assert_eq!(cached(&world, &peer).await, json!([]));
        world.tool(&peer, "read_file", json!({})).await.unwrap();
        world.server.seen.lock().clear();
    }
    assert!(world.sessions.len() < 100, "{}", world.sessions.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_ask_at_once() {
    let world = std::sync::Arc::new(World::new().await);
    let asking = (0..8).map(|n| {
        let world = world.clone();
        tokio::spawn(async move {
            let peer = Peer::mgp().named(&n.to_string());
            for round in 0..50 {
                let query = json!({ "query": "read file", "max_results": 1 + round % 9 });
                world.method(&peer, "mgp/tools/discover", query).await.unwrap();
                world.tool(&peer, "read_file", json!({})).await.unwrap();
                if n == 0 {
                    world.index.put_server(ServerTools::new("mail", Vec::new())).await;
                    world.layer.tools_changed();
                }
                assert!(world.listed(&peer).await.contains(&"read_file".to_owned()));
                world
                    .tool(&peer, "mgp.tools.session.evict", json!({ "tools": ["read_file"] }))
                    .await
                    .unwrap();
            }
        })
    });
    for asked in futures_util::future::join_all(asking).await {
        asked.unwrap();
    }
}
