//! Tests of notifications about changed lists.

use std::time::Duration;

use mgp_types::Revision;
use serde_json::json;
use tower_service::Service;

use super::world::{Peer, World};

const CHANGED: &str = "notifications/tools/list_changed";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(200)).await;
}

/// Finds a tool, which puts it into the peer's list.
async fn find(world: &World, peer: &Peer, what: &str) {
    world.tool(peer, "mgp.tools.discover", json!({ "query": what, "max_results": 1 })).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_asked_for_its_list_is_told_once_of_many_changes_and_nobody_of_none() {
    let world = World::new().await;
    let (peer, never_asked) = (Peer::mgp(), Peer::mgp());
    world.listed(&peer).await;
    for what in ["read file", "shrink image", "write file"] {
        find(&world, &peer, what).await;
        find(&world, &never_asked, what).await;
    }
    assert!(peer.notifications.all().is_empty());
    a_moment().await;
    assert_eq!(peer.notifications.all(), [CHANGED]);

    find(&world, &peer, "statistics").await;
    a_moment().await;
    assert_eq!(peer.notifications.all(), [CHANGED], "it knows that its list is old");
    world.listed(&peer).await;
    find(&world, &peer, "shrink image").await;
    a_moment().await;
    assert_eq!(peer.notifications.all(), [CHANGED], "the list is as it was");
    find(&world, &peer, "telegram").await;
    a_moment().await;
    assert_eq!(peer.notifications.all(), [CHANGED, CHANGED]);
    assert!(never_asked.notifications.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stateless_peer_is_told_where_it_listens_for_tools_and_while_it_does() {
    let world = World::new().await;
    let peer = Peer::of(Revision::V2026_07_28, None);
    world.listed(&peer).await;
    find(&world, &peer, "read file").await;
    a_moment().await;
    assert!(peer.notifications.all().is_empty());

    world.listed(&peer).await;
    let listen =
        |what: &str| peer.request("subscriptions/listen", &json!({ "notifications": { what: true } }));
    let mut for_prompts = Box::pin(world.service().call(listen("promptsListChanged")));
    assert!(futures_util::poll!(&mut for_prompts).is_pending());
    find(&world, &peer, "write file").await;
    a_moment().await;
    assert_eq!(peer.notifications.all(), [ACKNOWLEDGED]);

    world.listed(&peer).await;
    let mut listening = Box::pin(world.service().call(listen("toolsListChanged")));
    assert!(futures_util::poll!(&mut listening).is_pending());
    find(&world, &peer, "shrink image").await;
    a_moment().await;
    assert_eq!(peer.notifications.all(), [ACKNOWLEDGED, ACKNOWLEDGED, CHANGED]);

    world.listed(&peer).await;
    drop(listening);
    find(&world, &peer, "telegram").await;
    a_moment().await;
    assert_eq!(peer.notifications.all().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn each_request_of_an_agent_that_listens_is_told() {
    let world = World::new().await;
    let peer = || Peer::of(Revision::V2026_07_28, None).named("one");
    let params = json!({ "notifications": { "toolsListChanged": true } });
    let mut requests = Vec::new();
    for what in ["shrink image", "read file"] {
        let peer = peer();
        let mut listening = Box::pin(world.service().call(peer.request("subscriptions/listen", &params)));
        assert!(futures_util::poll!(&mut listening).is_pending());
        if requests.is_empty() {
            world.listed(&peer).await;
        }
        find(&world, &peer, what).await;
        a_moment().await;
        assert_eq!(peer.notifications.all(), [ACKNOWLEDGED, CHANGED], "{what}");
        requests.push(listening);
    }
}

#[tokio::test(start_paused = true)]
async fn a_use_alone_is_not_worth_a_new_list_but_what_is_gone_or_was_asked_for_is() {
    let world = World::new().await;
    let (peer, without) = (Peer::mgp(), Peer::plain());
    world.listed(&without).await;
    world.listed(&peer).await;
    world.tool(&peer, "read_file", json!({})).await.unwrap();
    world.listed(&peer).await;
    world.tool(&peer, "shrink_image", json!({})).await.unwrap();
    world.tool(&peer, "mgp.tools.session.evict", json!({ "tools": ["read_file"] })).await.unwrap();
    a_moment().await;
    assert!(peer.notifications.all().is_empty());

    world.index.remove_server("files".into()).await;
    world.index.settled().await;
    world.layer.tools_changed();
    a_moment().await;
    assert_eq!(peer.notifications.all(), [CHANGED], "what it read of is gone");
    assert!(without.notifications.all().is_empty());

    world.listed(&peer).await;
    let wanted = json!({ "requirements": { "capabilities": ["analyze csv"] } });
    world.method(&peer, "mgp/tools/request", wanted).await.unwrap();
    a_moment().await;
    assert_eq!(peer.notifications.all(), [CHANGED, CHANGED]);
}
