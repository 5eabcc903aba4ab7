//! Calls: arguments, results and errors of the typed methods.

use std::sync::Arc;

use mgp_client_sdk::Client;
use mgp_types::mcp::{CancelledParams, ListToolsParams, Role};
use mgp_types::{BoxedService, Origin, Revision, code};
use serde_json::json;

use crate::peer::*;

#[tokio::test]
async fn arguments_that_are_no_object_are_not_sent() {
    let (peer, client) = Peer::connect(Revision::LATEST, builder(), |_, _| text("7")).await;
    assert_eq!(fails(client.call_tool("add", 7)).await.code(), code::INVALID_PARAMS);
    assert_eq!(fails(client.request("x/y", [1])).await.code(), code::INVALID_PARAMS);
    assert_eq!(peer.all().len(), 1);
}

#[tokio::test]
async fn unknown_members_and_values_do_not_kill_a_result() {
    for era in ERAS {
        let (_, client) = Peer::connect(era, builder(), |_, _| {
            json!({"content": [
                {"type": "hologram", "depth": 3},
                {"type": "text", "text": "a", "annotations": {"audience": ["robot", "user"]}, "new": 1},
            ], "future": true})
        })
        .await;
        let result = client.call_tool("a", ()).await.unwrap();
        assert_eq!(result.content[1].as_text(), Some("a"));
        assert!(result.extra.get("future").is_some());
        let audience = match &result.content[1] {
            mgp_types::mcp::ContentBlock::Text(text) => {
                text.annotations.as_ref().unwrap().audience.clone().unwrap()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(audience, [Role::from("robot"), Role::User]);
    }
}

#[tokio::test]
async fn a_result_of_an_unknown_type_is_invalid_2026() {
    let (_, client) = Peer::connect(Revision::V2026_07_28, builder(), |method, _| match method {
        "tools/call" => json!({"resultType": "surprise", "content": []}),
        _ => json!({"resultType": 7, "tools": []}),
    })
    .await;
    assert_eq!(fails(client.call_tool("a", ())).await.origin(), Origin::Misbehaved);
    assert_eq!(fails(client.send(&ListToolsParams::new())).await.origin(), Origin::Misbehaved);
}

#[tokio::test]
async fn what_was_sent_goes_out_before_the_connection_closes() {
    for era in ERAS {
        let (peer, client) = Peer::connect(era, builder(), |_, _| json!(null)).await;
        client.notify("notifications/acme", mgp_types::Params::new()).await.unwrap();
        client.close().await.unwrap();
        peer.until(|seen| seen.contains(&json!("end")).then_some(())).await;
        assert_eq!(peer.seen("notifications/acme").len(), 1);
    }
}

#[tokio::test]
async fn a_notification_is_sent_by_the_type_of_its_params() {
    for era in ERAS {
        let (peer, client) = Peer::connect(era, builder(), |_, _| json!(null)).await;
        client.send_notification(&CancelledParams::new().with_reason("enough")).await.unwrap();
        assert_eq!(peer.until_seen("notifications/cancelled").await["params"]["reason"], "enough");
    }
}

#[tokio::test]
async fn dropping_the_last_client_closes_the_connection() {
    let (peer, client) = Peer::connect(Revision::LATEST, builder(), |_, _| text("")).await;
    let clone = client.clone();
    drop(client);
    clone.call_tool("a", ()).await.unwrap();
    drop(clone);
    peer.until(|seen| seen.contains(&json!("end")).then_some(())).await;
}

#[tokio::test]
async fn clients_of_several_stacks_are_kept_in_one_struct() {
    struct App {
        plain: Client,
        layered: Client,
    }
    let (_other, plain) = Peer::connect(Revision::LATEST, builder(), |_, _| text("plain")).await;
    let (_peer, (reader, writer)) = Peer::raw(era(Revision::LATEST, |_, _| text("layered")));
    let layered = builder().layer(tower_layer::layer_fn(BoxedService::new));
    let layered = layered.connect_io(reader, writer).await.unwrap();
    let app = Arc::new(App { plain: plain.boxed(), layered: layered.boxed() });
    let other = app.clone();
    tokio::spawn(async move {
        let (plain, layered) = tokio::join!(other.plain.call_tool("a", ()), other.layered.call_tool("a", ()));
        assert_eq!(plain.unwrap().content[0].as_text(), Some("plain"));
        assert_eq!(layered.unwrap().content[0].as_text(), Some("layered"));
    })
    .await
    .unwrap();
    assert!(app.plain.clone().list_tools().await.is_err(), "the answer is no list");
}
