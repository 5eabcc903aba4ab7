//! The cache of results.

use std::time::Duration;

use mgp_types::mcp::ElicitAction;
use mgp_types::{Principal, Revision};
use serde_json::{Value, json};

use crate::peer::*;

fn kept(method: &str, params: &Value) -> Value {
    match method {
        "tools/list" => {
            json!({"resultType": "complete", "ttlMs": 5000, "cacheScope": "public",
                "tools": [{"name": "a", "inputSchema": {"type": "object"}}]})
        }
        "resources/read" => {
            json!({"resultType": "complete", "ttlMs": 5000, "cacheScope": "private",
                "contents": [{"uri": params["uri"], "text": "x"}]})
        }
        _ => json!({"resultType": "complete", "ttlMs": 5000, "content": []}),
    }
}

async fn client(builder: mgp_client_sdk::ClientBuilder) -> (Peer, PlainClient) {
    Peer::connect(Revision::LATEST, builder, kept).await
}

fn changed(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[tokio::test(start_paused = true)]
async fn a_list_is_kept_as_long_as_the_server_allows() {
    let (peer, client) = client(builder()).await;
    client.list_tools().await.unwrap();
    tokio::time::sleep(Duration::from_millis(4999)).await;
    assert_eq!(client.list_tools().await.unwrap()[0].name, "a");
    assert_eq!(peer.seen("tools/list").len(), 1);
    tokio::time::sleep(Duration::from_millis(1)).await;
    client.list_tools().await.unwrap();
    assert_eq!(peer.seen("tools/list").len(), 2);
}

#[tokio::test]
async fn each_resource_is_kept_by_itself() {
    let (peer, client) = client(builder()).await;
    for uri in ["a:1", "a:2", "a:1", "a:2"] {
        assert_eq!(client.read_resource(uri).await.unwrap().contents[0].uri, uri);
    }
    assert_eq!(peer.seen("resources/read").len(), 2);
}

#[tokio::test]
async fn a_change_ends_what_is_kept_of_it() {
    let (peer, client) = client(builder()).await;
    let fetch = || async {
        client.list_tools().await.unwrap();
        client.read_resource("a:1").await.unwrap();
        client.read_resource("b:1").await.unwrap();
        (peer.seen("tools/list").len(), peer.seen("resources/read").len())
    };
    assert_eq!(fetch().await, (1, 2));
    peer.push(&changed("notifications/tools/list_changed", &json!({})));
    client.request("x", ()).await.unwrap();
    assert_eq!(fetch().await, (2, 2));
    peer.push(&changed("notifications/resources/updated", &json!({"uri": "a:1"})));
    client.request("x", ()).await.unwrap();
    assert_eq!(fetch().await, (2, 3));
    client.clear_cache();
    assert_eq!(fetch().await, (3, 5));
}

// covers: GGEN-8.3-04
#[tokio::test(start_paused = true)]
async fn what_is_private_is_not_shared_by_callers_that_differ() {
    let (peer, client) = client(builder()).await;
    let read = async |principal: Option<&str>| {
        let principal = principal.map(Principal::new);
        let call = client.read_resource("a:1").request_with(|request| request.context.principal = principal);
        call.await.unwrap();
        peer.seen("resources/read").len()
    };
    assert_eq!((read(Some("ada")).await, read(Some("bob")).await, read(Some("ada")).await), (1, 2, 3));
    assert_eq!((read(None).await, read(None).await), (4, 4), "the client's own results stay");
    let list = async |principal: &str| {
        let call = client.request("tools/list", ());
        let call = call.request_with(|request| request.context.principal = Some(Principal::new(principal)));
        call.await.unwrap();
        peer.seen("tools/list").len()
    };
    assert_eq!((list("ada").await, list("bob").await), (1, 1), "a public list is for everybody");
}

#[tokio::test(start_paused = true)]
async fn no_more_is_kept_than_there_is_room_for() {
    let (peer, client) = client(builder()).await;
    for number in 0..300 {
        client.read_resource(format!("a:{number}")).await.unwrap();
        // What ends first makes room.
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    for number in (0..300).rev() {
        client.read_resource(format!("a:{number}")).await.unwrap();
    }
    assert_eq!(peer.seen("resources/read").len(), 300 + 44, "256 of 300 are kept");
}

#[tokio::test]
async fn calls_are_never_kept_and_keeping_can_be_switched_off() {
    let (peer, client) = client(builder()).await;
    client.call_tool("a", ()).await.unwrap();
    client.call_tool("a", ()).await.unwrap();
    assert_eq!(peer.seen("tools/call").len(), 2);

    let (peer, client) = self::client(builder().caching(false)).await;
    client.list_tools().await.unwrap();
    client.list_tools().await.unwrap();
    assert_eq!(peer.seen("tools/list").len(), 2);
}

#[tokio::test]
async fn a_request_with_members_that_are_not_known_is_not_kept() {
    let (peer, client) = client(builder()).await;
    for _ in 0..2 {
        client.request("tools/list", json!({"acme/filter": 1})).await.unwrap();
    }
    assert_eq!(peer.seen("tools/list").len(), 2);
}

#[tokio::test]
async fn what_the_user_helped_with_is_not_kept_2026() {
    let builder =
        builder().on_elicitation(|_, _| async { mgp_types::mcp::ElicitResult::new(ElicitAction::Accept) });
    let (peer, client) = Peer::connect(Revision::V2026_07_28, builder, |method, params| {
        if params.get("inputResponses").is_some() {
            return kept(method, params);
        }
        let form = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}});
        json!({"resultType": "input_required",
            "inputRequests": {"q": {"method": "elicitation/create", "params": form}}})
    })
    .await;
    client.read_resource("a:1").await.unwrap();
    client.read_resource("a:1").await.unwrap();
    assert_eq!(peer.seen("resources/read").len(), 4);
}
