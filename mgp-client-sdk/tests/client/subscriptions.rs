//! Subscriptions to changes, in both eras.

use std::time::Duration;

use mgp_client_sdk::{Change, EventItem};
use mgp_server_sdk::{Publisher, Server};
use mgp_transport::{ConnectionLimits, memory};
use mgp_types::mcp::SubscriptionFilter;
use mgp_types::mgp::{EventSeverity, EventSubscribe, ExtensionSet, Offer};
use mgp_types::{Object, Origin, Revision};
use serde_json::{Value, json};

use crate::peer::*;

fn filter() -> SubscriptionFilter {
    SubscriptionFilter::new().with_tools_list_changed(true).with_resource_subscriptions(["a:1".to_owned()])
}

/// Connects to a server that acknowledges subscriptions under their request's id.
async fn connect(era: Revision) -> (Peer, PlainClient) {
    let mut answer = crate::peer::era(era, |_, _| json!({}));
    let (peer, (reader, writer)) = Peer::raw(move |message| {
        if message["method"] != "subscriptions/listen" {
            return answer(message);
        }
        let params =
            json!({"notifications": message["params"]["notifications"], "_meta": tag(&message["id"])});
        vec![
            json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}),
        ]
    });
    (peer, builder().connect_io(reader, writer).await.unwrap())
}

fn tag(id: &Value) -> Value {
    json!({"io.modelcontextprotocol/subscriptionId": id})
}

fn note(method: &str, mut params: Value, id: Option<&Value>) -> Value {
    if let Some(id) = id {
        params["_meta"] = tag(id);
    }
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[tokio::test]
async fn two_subscriptions_do_not_hear_each_others_changes_2026() {
    let (peer, client) = connect(Revision::V2026_07_28).await;
    let mut one = client.subscribe(filter()).await.unwrap();
    let mut other = client.subscribe(filter()).await.unwrap();
    let ids: Vec<_> = peer.seen("subscriptions/listen").iter().map(|message| message["id"].clone()).collect();
    peer.push(&note("notifications/tools/list_changed", json!({}), Some(&ids[1])));
    peer.push(&note("notifications/resources/updated", json!({"uri": "a:1"}), Some(&ids[0])));
    assert_eq!(one.next().await.unwrap().unwrap(), Change::Resource { uri: "a:1".into() });
    assert_eq!(other.next().await.unwrap().unwrap(), Change::Tools);
}

#[tokio::test]
async fn a_subscription_that_the_server_ends_has_an_end_2026() {
    let (peer, client) = connect(Revision::V2026_07_28).await;
    let mut changes = client.subscribe(filter()).await.unwrap();
    let id = peer.seen("subscriptions/listen")[0]["id"].clone();
    peer.push(&note("notifications/tools/list_changed", json!({}), Some(&id)));
    peer.push(&json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "_meta": tag(&id)}}));
    assert_eq!(changes.next().await.unwrap().unwrap(), Change::Tools);
    assert!(changes.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_subscription_ends_with_the_connection() {
    for era in ERAS {
        let (peer, client) = connect(era).await;
        let mut changes = client.subscribe(filter()).await.unwrap();
        let id = era.is_stateless().then(|| peer.seen("subscriptions/listen")[0]["id"].clone());
        peer.push(&note("notifications/tools/list_changed", json!({}), id.as_ref()));
        client.ping().await.unwrap();
        client.close().await.unwrap();
        assert_eq!(changes.next().await.unwrap().unwrap(), Change::Tools);
        let next = tokio::time::timeout(Duration::from_secs(1), changes.next());
        let error = next.await.expect("it does not go on for ever").unwrap().unwrap_err();
        assert_eq!(error.origin(), Origin::Connection);
        assert!(changes.next().await.is_none());
    }
}

#[tokio::test]
async fn a_server_that_refuses_subscriptions_says_so() {
    for era in ERAS {
        let (_, client) =
            Peer::connect(era, builder(), |_, _| json!({"error": {"code": -32601, "message": "no"}})).await;
        assert_eq!(client.subscribe(filter()).await.unwrap_err().code(), -32601);
    }
}

#[tokio::test]
async fn events_end_with_their_connection() {
    for revision in ERAS {
        let publisher = Publisher::new(["tool.counted"]).unwrap();
        let server = Server::new("counter", "1.0.0").events(&publisher).accept().unwrap();
        let (near, far) = memory::pair(1 << 16);
        let (_, connection) = mgp_transport::connect(far.0, far.1, &server, ConnectionLimits::default());
        let serving = tokio::spawn(connection);
        let offer = Offer::new(ExtensionSet::from_names(["events"]));
        let client = builder().revisions([revision]).mgp(offer).connect_io(near.0, near.1).await.unwrap();
        let mut events = client.events(EventSubscribe::new(["tool.*"])).await.unwrap();
        publisher.publish("tool.counted", EventSeverity::Info, &Object::new()).unwrap();
        assert!(matches!(events.next().await, Some(EventItem::Event(_))), "{revision:?}");
        serving.abort();
        let end = tokio::time::timeout(Duration::from_secs(10), events.next()).await.unwrap();
        assert!(end.is_none(), "{revision:?}: {end:?}");
    }
}
