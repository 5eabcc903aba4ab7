//! The events that servers publish, and those of what the kernel records.

use mgp_client_sdk::EventItem;
use mgp_client_sdk::{Client, ClientBuilder, EventStream};
use mgp_server_sdk::{Server, Tool};
use mgp_stream::event::Publisher;
use mgp_transport::era::EraMode;
use mgp_types::mgp::{Event, EventSeverity, EventSubscribe, ExtensionSet, Offer};
use mgp_types::{Object, Revision, RpcService};
use serde_json::json;

use super::{ask, child};
use crate::host::{Host, PATIENCE, Served, say, until_found};
use crate::runner::tests;

tests![
    what_a_server_publishes_is_found_by_its_family_in_every_pair_of_eras,
    operators_are_told_what_is_recorded_and_agents_of_their_own_calls,
    whoever_asks_for_a_channel_that_nobody_has_is_told_which_there_are,
];

/// A server of one revision that publishes when its tool is called.
async fn publishing(id: &str, revision: Revision) -> Served {
    let publisher = Publisher::new(["model.token_usage", "disk.full", "lifecycle"]).unwrap();
    let sender = publisher.clone();
    let server = Server::new("publishing", "1.0.0")
        .revisions([revision])
        .tool(Tool::new("work", "Uses tokens and fills the disk."), move || {
            for channel in ["disk.full", "model.token_usage"] {
                let data = Object::parse(r#"{"server_id":"bank","used":1500}"#).unwrap();
                sender.publish(channel, EventSeverity::Warning, &data).unwrap();
            }
            std::future::ready("worked")
        })
        .events(&publisher);
    Served::start(id, server).await
}

async fn subscribe<S: RpcService>(client: &Client<S>, channels: &[&str]) -> EventStream<S> {
    client.events(EventSubscribe::new(channels.to_vec())).await.unwrap()
}

async fn next<S: RpcService>(events: &mut EventStream<S>) -> Event {
    match tokio::time::timeout(PATIENCE, events.next()).await {
        Ok(Some(EventItem::Event(event))) => event,
        other => panic!("no event: {other:?}"),
    }
}

/// Subscribes as soon as one of the servers' channels is there.
async fn once_there<S: RpcService>(client: &Client<S>, channel: &str) -> EventStream<S> {
    until_found("the channel is there", async || {
        Some(subscribe(client, &[channel]).await).filter(|events| !events.answer().subscribed.is_empty())
    })
    .await
}

fn speaking(era: EraMode) -> ClientBuilder {
    Client::builder("tests", "1.0.0").mgp(Some(Offer::new(ExtensionSet::standard()))).era(era)
}

// covers: MGP-13.2-01, MGP-13.3-01..05, MGP-13.5-01
async fn what_a_server_publishes_is_found_by_its_family_in_every_pair_of_eras() {
    let files = publishing("files", Revision::V2025_11_25).await;
    let mail = publishing("mail", Revision::V2026_07_28).await;
    let host = Host::start([files.config.clone(), mail.config.clone()]).await;
    for server in ["files", "mail"] {
        host.up(server).await;
        for era in [EraMode::Session, EraMode::Stateless] {
            let client = host.connect("ada", speaking(era)).await;
            let mut own = once_there(&client, &format!("{server}.disk.*")).await;
            let mut family = once_there(&client, "model.*").await;
            // Channels are found by the names that the server gives them, too.
            let bare = subscribe(&client, &["disk.full", "disk.*"]).await;
            assert_eq!(bare.answer().subscribed, ["disk.full", "disk.*"]);
            let mut exact = subscribe(&client, &["model.token_usage"]).await;
            assert_eq!(say(&client, &format!("{server}.work"), json!({})).await, "worked");
            // An event comes under the name that was subscribed to; a pattern gets the full name.
            let full = format!("{server}.model.token_usage");
            for (events, channel) in [(&mut family, &*full), (&mut exact, "model.token_usage")] {
                let event = next(events).await;
                assert_eq!(event.channel, channel, "{era:?}");
                assert_eq!(event.data.bytes("used"), Some(&b"1500"[..]));
            }
            assert_eq!(next(&mut own).await.channel, format!("{server}.disk.full"));
        }
    }
}

// covers: MGP-13.5-03, MGP-13.5-04
async fn operators_are_told_what_is_recorded_and_agents_of_their_own_calls() {
    let host = Host::ready([child("files")]).await;
    let operator = host.operator().await;
    let ada = host.connect("ada", speaking(EraMode::Session)).await;
    let bob = host.connect("bob", speaking(EraMode::Stateless)).await;
    let mut audit = subscribe(&operator, &["audit"]).await;
    let mut permissions = subscribe(&operator, &["permissions"]).await;
    let mut security = subscribe(&operator, &["security.*"]).await;
    let mut by_its_word = subscribe(&operator, &["security"]).await;
    let mut tools = subscribe(&operator, &["tools"]).await;
    let mut of_ada = subscribe(&ada, &["tool.*"]).await;
    let mut of_bob = subscribe(&bob, &["tool.*"]).await;
    // What all others did and were refused is for operators.
    let refused = subscribe(&ada, &["audit", "permissions", "security.*", "security"]).await;
    assert!(refused.answer().subscribed.is_empty(), "{:?}", refused.answer());

    say(&ada, "files.pid", json!({})).await;
    let recorded = loop {
        // What was recorded shortly before the subscription may come first.
        let recorded = next(&mut audit).await;
        if recorded.data.text("event_type").as_deref() == Some("TOOL_EXECUTED") {
            break recorded;
        }
    };
    let completed = next(&mut of_ada).await;
    assert_eq!(completed.channel, "tool.completed");
    assert_eq!(completed.data.text("server_id").as_deref(), Some("files"));
    assert_eq!(completed.data.text("tool_name").as_deref(), Some("pid"));
    assert_eq!(completed.data.get("trace_id"), recorded.data.get("trace_id"));

    let rule = json!({
        "agent_id": "bob", "server_id": "files", "tool_name": "pid", "entry_type": "tool_grant",
        "permission": "deny", "justification": "a test",
    });
    ask(&operator, "mgp/access/grant", rule).await.unwrap();
    assert!(bob.call_tool("files.pid", json!({})).await.is_err());
    for events in [&mut security, &mut by_its_word] {
        let denied = next(events).await;
        assert_eq!(denied.channel, "security.access_denied");
        assert_eq!(denied.severity, Some(EventSeverity::Warning));
        let actor = denied.data.object("actor").unwrap();
        assert_eq!(actor.text("id").as_deref(), Some("bob"));
    }

    let grants = json!({"server_id": "files", "permission": "network.outbound"});
    ask(&operator, "kernel/permissions/grant", grants).await.unwrap();
    let granted = next(&mut permissions).await;
    assert_eq!(granted.data.text("event_type").as_deref(), Some("PERMISSION_GRANTED"));

    say(&bob, "files.storm", json!({"to": 1})).await;
    let changed = next(&mut tools).await;
    assert_eq!(changed.data.text("server_id").as_deref(), Some("files"));
    assert_eq!(changed.data.bytes("added"), Some(&b"1"[..]));
    // The first that bob hears is of his own call, and not of ada's.
    assert_eq!(next(&mut of_bob).await.data.text("tool_name").as_deref(), Some("storm"));
}

// covers: MGP-13.5-05
async fn whoever_asks_for_a_channel_that_nobody_has_is_told_which_there_are() {
    let host = Host::ready([child("files")]).await;
    let ada = host.connect("ada", speaking(EraMode::Session)).await;
    let answer =
        ask(&ada, "mgp/events/subscribe", json!({"channels": ["weather.*", "model.*"]})).await.unwrap();
    assert_eq!(answer["subscribed"], json!([]), "{answer}");
    assert_eq!(answer["unsupported"], json!(["weather.*", "model.*"]));
    assert_eq!(answer["available"], json!(["lifecycle", "tool.completed", "tool.failed", "tools"]));
    let operator = host.operator().await;
    let answer = ask(&operator, "mgp/events/subscribe", json!({"channels": ["weather.*"]})).await.unwrap();
    let available = answer["available"].as_array().unwrap();
    assert!(
        available.contains(&json!("audit")) && available.contains(&json!("security.access_denied")),
        "{answer}"
    );
}
