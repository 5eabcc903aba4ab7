//! Tests of notifications about changed lists.

use std::time::Duration;

use mgp_types::Revision;
use serde_json::json;
use tower_service::Service;

use super::world::{Peer, World};
use crate::discovery::ToolDiscoverySettings;

const CHANGED: &str = "notifications/tools/list_changed";

async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(200)).await;
}

#[tokio::test(start_paused = true)]
async fn who_asked_for_its_list_is_told_once_of_many_changes() {
    let world = World::with(ToolDiscoverySettings::new().tell_uses(true)).await;
    let peer = Peer::mgp();
    world.listed(&peer).await;
    for name in ["read_file", "shrink_image", "write_file"] {
        world.tool(&peer, name, json!({})).await.unwrap();
    }
    assert!(peer.notifications.all().is_empty());
    a_moment().await;
    assert_eq!(peer.notifications.all(), [CHANGED]);

    world.tool(&peer, "analyze_csv", json!({})).await.unwrap();
    a_moment().await;
    assert_eq!(peer.notifications.all(), [CHANGED], "it knows that its list is old");
    world.listed(&peer).await;
    world.tool(&peer, "mgp.tools.session.evict", json!({ "tools": ["read_file"] })).await.unwrap();
    a_moment().await;
    assert_eq!(peer.notifications.all(), [CHANGED, CHANGED]);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_of_what_changes_nothing() {
    let world = World::with(ToolDiscoverySettings::new().tell_uses(true)).await;
    let (peer, never_asked) = (Peer::mgp(), Peer::mgp());
    world.tool(&peer, "read_file", json!({})).await.unwrap();
    world.listed(&peer).await;
    world.tool(&peer, "read_file", json!({})).await.unwrap();
    world.tool(&peer, "shrink_image", json!({})).await.unwrap();
    world.tool(&peer, "mgp.tools.session.evict", json!({ "tools": ["shrink_image"] })).await.unwrap();
    world.tool(&never_asked, "read_file", json!({})).await.unwrap();
    a_moment().await;
    assert!(peer.notifications.all().is_empty());
    assert!(never_asked.notifications.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_tools_themselves_is_told_where_it_matters() {
    let world = World::with(ToolDiscoverySettings::new().tell_uses(true)).await;
    let (with, without) = (Peer::mgp(), Peer::plain());
    world.tool(&with, "read_file", json!({})).await.unwrap();
    world.listed(&with).await;
    world.listed(&without).await;
    world.index.remove_server("files".into()).await;
    world.index.settled().await;
    world.layer.tools_changed();
    a_moment().await;
    assert_eq!(with.notifications.all(), [CHANGED]);
    assert!(without.notifications.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stateless_peer_is_told_where_it_listens_and_while_it_does() {
    let world = World::with(ToolDiscoverySettings::new().tell_uses(true)).await;
    let peer = Peer::of(Revision::V2026_07_28, None);
    world.listed(&peer).await;
    world.tool(&peer, "read_file", json!({})).await.unwrap();
    a_moment().await;
    assert!(peer.notifications.all().is_empty());

    world.listed(&peer).await;
    let listen =
        peer.request("subscriptions/listen", &json!({ "notifications": { "toolsListChanged": true } }));
    let mut listening = Box::pin(world.service().call(listen));
    assert!(futures_util::poll!(&mut listening).is_pending());
    world.tool(&peer, "shrink_image", json!({})).await.unwrap();
    a_moment().await;
    assert_eq!(peer.notifications.all(), ["notifications/subscriptions/acknowledged", CHANGED]);

    world.listed(&peer).await;
    drop(listening);
    world.tool(&peer, "write_file", json!({})).await.unwrap();
    a_moment().await;
    assert_eq!(peer.notifications.all().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_listens_for_something_else_is_not_told() {
    let world = World::with(ToolDiscoverySettings::new().tell_uses(true)).await;
    let peer = Peer::of(Revision::V2026_07_28, None);
    world.listed(&peer).await;
    let listen =
        peer.request("subscriptions/listen", &json!({ "notifications": { "promptsListChanged": true } }));
    let mut listening = Box::pin(world.service().call(listen));
    assert!(futures_util::poll!(&mut listening).is_pending());
    world.tool(&peer, "shrink_image", json!({})).await.unwrap();
    a_moment().await;
    assert_eq!(peer.notifications.all(), ["notifications/subscriptions/acknowledged"]);
}

#[tokio::test(start_paused = true)]
async fn each_request_of_an_agent_that_listens_is_told() {
    let world = World::with(ToolDiscoverySettings::new().tell_uses(true)).await;
    let peer = || Peer::of(Revision::V2026_07_28, None).named("one");
    let (first, second) = (peer(), peer());
    let params = json!({ "notifications": { "toolsListChanged": true } });
    let mut one = Box::pin(world.service().call(first.request("subscriptions/listen", &params)));
    assert!(futures_util::poll!(&mut one).is_pending());
    world.listed(&first).await;
    world.tool(&first, "shrink_image", json!({})).await.unwrap();
    a_moment().await;
    assert_eq!(first.notifications.all().len(), 2);

    let mut other = Box::pin(world.service().call(second.request("subscriptions/listen", &params)));
    assert!(futures_util::poll!(&mut other).is_pending());
    world.tool(&second, "read_file", json!({})).await.unwrap();
    a_moment().await;
    assert_eq!(second.notifications.all().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_use_alone_is_not_worth_a_new_list_but_what_is_gone_or_was_asked_for_is() {
    let world = World::new().await;
    let peer = Peer::mgp();
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

    world.listed(&peer).await;
    let wanted = json!({ "requirements": { "capabilities": ["analyze csv"] } });
    world.method(&peer, "mgp/tools/request", wanted).await.unwrap();
    a_moment().await;
    assert_eq!(peer.notifications.all(), [CHANGED, CHANGED]);
}
