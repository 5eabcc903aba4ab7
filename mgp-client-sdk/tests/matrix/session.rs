//! From the first message of a connection to its end.

use futures_util::future::join_all;
use mgp_client_sdk::Change;
use mgp_types::mcp::{CreateMessageResult, Root, SubscriptionFilter};
use mgp_types::{Error, Origin, RawJson, Revision};
use serde_json::{Value, json};

use crate::calls::text;
use crate::host::{Kind, builder};
use crate::leg::{Leg, Transport};
use crate::runner::tests;

tests![
    a_connection_begins_works_and_ends,
    the_server_knows_who_its_client_is,
    both_sides_find_the_newest_revision_of_both,
    a_server_that_lacks_what_the_client_needs_is_left,
    calls_after_the_end_fail,
    clients_of_one_server_are_kept_apart if Leg::is_shared,
    calls_in_work_fail_when_the_server_dies if own_process,
];

// covers: BASE-02, BASE-06, BASE-08, MGP-1.4-01
async fn a_connection_begins_works_and_ends(leg: Leg) {
    // Nobody shows who it is, and nobody is asked.
    let client = leg.connect().await;
    assert_eq!(client.revision(), Some(leg.revision));
    let server = client.server_info().unwrap();
    assert_eq!((&*server.name, &*server.version), ("matrix", "2.0.0"));
    assert_eq!(client.instructions().as_deref(), Some("Test."));
    client.ping().await.unwrap();
    assert_eq!(text(&client, "echo", json!({"text": "hi"})).await, "hi");
    client.close().await.unwrap();
}

// covers: BASE-08, BASE-10, BASE-11
async fn the_server_knows_who_its_client_is(leg: Leg) {
    let builder = builder()
        .on_sampling(async |_, _| Err::<CreateMessageResult, _>(Error::internal("not today")))
        .roots([Root::new("file:///a")])
        .capability("antigravity", RawJson::parse(r#"{"metres":3}"#).unwrap());
    let client = leg.connect_as(builder).await;
    let known: Value = serde_json::from_str(&text(&client, "client", json!({})).await).unwrap();
    assert_eq!(known["info"], json!({"name": "matrix", "version": "1.0.0"}));
    assert_eq!(known["capabilities"]["sampling"], json!({}));
    let roots = if leg.is_stateless() { json!({}) } else { json!({"listChanged": true}) };
    assert_eq!(known["capabilities"]["roots"], roots);
    assert_eq!(known["capabilities"]["antigravity"], json!({"metres": 3}));
    assert_eq!(known["revision"], leg.revision.as_str());
}

async fn both_sides_find_the_newest_revision_of_both(leg: Leg) {
    let client = leg.dial(Kind::Mcp, builder()).await.unwrap();
    let expected = match leg.transport {
        // There the newest that has sessions.
        Transport::Sse => Revision::LATEST_SESSION,
        _ => Revision::LATEST,
    };
    assert_eq!(client.revision(), Some(expected));
    assert_eq!(text(&client, "echo", json!({"text": "hi"})).await, "hi");

    for revision in Revision::ALL {
        if leg.transport == Transport::Sse && revision.is_stateless() {
            continue;
        }
        let client = leg.dial(Kind::Mcp, builder().revisions([revision])).await.unwrap();
        assert_eq!(client.revision(), Some(revision));
        assert_eq!(text(&client, "echo", json!({"text": "hi"})).await, "hi");
    }
}

// covers: BASE-25
async fn a_server_that_lacks_what_the_client_needs_is_left(leg: Leg) {
    leg.to(Kind::Mcp, builder().require(["tools", "logging"])).await.unwrap();
    let error = leg.to(Kind::Mcp, builder().require(["tools", "antigravity"])).await.unwrap_err();
    assert!(error.message().contains("antigravity") && !error.message().contains("tools"), "{error}");
    let data = error.data().unwrap().to::<Value>().unwrap();
    assert_eq!(data, json!({"missing_capabilities": ["antigravity"]}));
}

// covers: BASE-02
async fn calls_after_the_end_fail(leg: Leg) {
    let client = leg.connect().await;
    let clone = client.clone();
    assert_eq!(text(&clone, "echo", json!({"text": "hi"})).await, "hi");
    client.close().await.unwrap();
    let error = clone.call_tool("echo", json!({"text": "hi"})).await.unwrap_err();
    assert_eq!(error.origin(), Origin::Connection);
}

fn own_process(leg: Leg) -> bool {
    leg.transport == Transport::Stdio
}

async fn calls_in_work_fail_when_the_server_dies(leg: Leg) {
    let client = leg.connect().await;
    let (exited, hung) = tokio::join!(client.call_tool("exit", ()), client.call_tool("hang", ()));
    for error in [exited.unwrap_err(), hung.unwrap_err()] {
        assert_eq!(error.origin(), Origin::Connection, "{error:?}");
    }
    client.close().await.unwrap();
}

async fn clients_of_one_server_are_kept_apart(leg: Leg) {
    let mut host = leg.host(Kind::Mcp).await;
    let (first, second) = (host.client(builder()).await, host.client(builder()).await);
    // Both number their requests alike.
    let calls = (0..64).map(|number| {
        let client = if number % 2 == 0 { first.clone() } else { second.clone() };
        async move { (number, text(&client, "wait", json!({"a": number, "b": 64})).await) }
    });
    for (number, answer) in join_all(calls).await {
        assert_eq!(answer, number.to_string());
    }

    let of = |uri: &str| SubscriptionFilter::new().with_resource_subscriptions([uri.to_owned()]);
    let mut texts = first.subscribe(of("matrix://text")).await.unwrap();
    let mut bytes = second.subscribe(of("matrix://bytes")).await.unwrap();
    for client in [&first, &second] {
        text(client, "touch", json!({})).await;
        for (changes, uri) in [(&mut texts, "matrix://text"), (&mut bytes, "matrix://bytes")] {
            let change = changes.next().await.unwrap().unwrap();
            assert_eq!(change, Change::Resource { uri: uri.into() });
        }
    }
    first.close().await.unwrap();
    assert_eq!(text(&second, "echo", json!({"text": "hi"})).await, "hi");
}
