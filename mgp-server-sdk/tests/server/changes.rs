//! Notifications of changes, and their receivers.

use std::sync::Arc;

use crate::peer::{Answers, Era, Peer};
use mgp_server_sdk::{Resource, ResourceTemplate, Server, ServerAccept, ServerHandle, Tool};
use serde_json::{Value, json};

fn server() -> Server {
    Server::new("test", "1")
        .tool(Tool::new("a", "A tool."), async || ())
        .resource(Resource::new("test://a", "a"), async || "a")
        .dynamic()
}

fn open() -> (ServerAccept<impl mgp_server_sdk::types::RpcService + Sync + Unpin>, ServerHandle) {
    let server = server();
    let handle = server.handle();
    (server.accept().expect("it can be served"), handle)
}

async fn connect<S>(accept: &ServerAccept<S>, era: Era) -> Peer
where
    S: mgp_server_sdk::types::RpcService + Sync + Unpin,
{
    let answers: Answers = Arc::new(|_, _| Value::Null);
    let mut peer = Peer::connect(accept, era, json!({}), answers).await;
    // Answered behind everything sent before.
    peer.call("tools/list", json!({})).await.expect("there are tools");
    peer
}

#[derive(serde::Deserialize)]
struct Item {
    id: u32,
}

#[tokio::test]
async fn a_family_of_resources_comes_and_goes_at_run_time() {
    let (accept, handle) = open();
    let mut peer = connect(&accept, Era::Session).await;
    let item = json!({"uri": "test://item/6"});
    let template = "test://item/{id}";
    handle
        .add_resource_template(ResourceTemplate::new(template, "item"), async |Item { id }: Item| {
            (id + 1).to_string()
        })
        .unwrap();
    assert_eq!(peer.next_notification().await.0, "notifications/resources/list_changed");
    let listed = peer.call("resources/templates/list", json!({})).await.unwrap();
    assert_eq!(listed["resourceTemplates"][0]["uriTemplate"], template);
    assert_eq!(peer.call("resources/read", item.clone()).await.unwrap()["contents"][0]["text"], "7");
    assert!(handle.remove_resource_template(template));
    assert!(!handle.remove_resource_template(template));
    assert_eq!(peer.next_notification().await.0, "notifications/resources/list_changed");
    assert!(peer.call("resources/read", item).await.is_err());
    peer.told_nothing().await;
}

#[tokio::test]
async fn a_listener_gets_what_it_asked_for_after_the_acknowledgement_2026() {
    let (accept, handle) = open();
    let mut peer = connect(&accept, Era::Stateless).await;
    handle.tools_changed();
    peer.told_nothing().await;
    let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": ["test://a"], "unknown": true});
    let listening = peer.start("subscriptions/listen", json!({"notifications": wanted}));
    let (method, acknowledged) = peer.next_notification().await;
    assert_eq!(method, "notifications/subscriptions/acknowledged");
    let honoured = json!({"toolsListChanged": true, "resourceSubscriptions": ["test://a"]});
    assert_eq!(acknowledged["notifications"], honoured);
    let subscription = acknowledged["_meta"]["io.modelcontextprotocol/subscriptionId"].clone();
    assert!(subscription.is_number());

    handle.prompts_changed();
    handle.resource_updated("test://b");
    handle.resource_updated("test://a");
    let (method, updated) = peer.next_notification().await;
    assert_eq!(method, "notifications/resources/updated");
    assert_eq!(updated["uri"], "test://a");
    assert_eq!(updated["_meta"]["io.modelcontextprotocol/subscriptionId"], subscription);
    handle.tools_changed();
    assert_eq!(peer.next_notification().await.0, "notifications/tools/list_changed");
    peer.told_nothing().await;

    handle.end_subscriptions();
    let ended = listening.await.unwrap().unwrap();
    assert_eq!(ended["resultType"], "complete");
    assert_eq!(ended["_meta"]["io.modelcontextprotocol/subscriptionId"], subscription);
}

#[tokio::test]
async fn a_listener_that_left_is_told_nothing_2026() {
    let (accept, handle) = open();
    let mut peer = connect(&accept, Era::Stateless).await;
    let listening = peer.start("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    peer.next_notification().await;
    listening.abort();
    peer.call("tools/list", json!({})).await.unwrap();
    handle.tools_changed();
    peer.told_nothing().await;
}

#[test]
fn a_server_that_does_not_run_cannot_be_changed() {
    let handle = server().handle();
    assert!(handle.add_tool(Tool::new("b", "Another."), async || ()).is_err());
    assert!(!handle.remove_tool("a"));
    handle.tools_changed();
}
