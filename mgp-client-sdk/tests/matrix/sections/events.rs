//! Events, from the publisher to whoever subscribed (§13.2, §13.3, §13.5).

use std::time::Duration;

use mgp_client_sdk::{EventItem, EventStream};
use mgp_types::RpcService;
use mgp_types::mcp::SubscriptionFilter;
use mgp_types::mgp::{EventSeverity, EventSubscribe};
use serde_json::{Value, json};

use super::{builder, connect};
use crate::host::Kind;
use crate::leg::{Connected, Leg};
use crate::runner::tests;
use crate::sections::raw::Raw;
use crate::sections::server::CHANNELS;

tests![
    what_is_published_arrives_in_order,
    patterns_choose_and_what_there_is_is_told,
    changes_and_events_are_asked_for_at_once,
    who_comes_back_misses_nothing_that_is_kept if Leg::is_shared,
    a_subscription_on_the_wire_is_as_the_specification_has_it if is_session_in_memory,
    an_event_on_the_wire_is_as_the_specification_has_it if is_session_in_memory,
];

fn is_session_in_memory(leg: Leg) -> bool {
    leg.is_memory() && !leg.is_stateless()
}

async fn publish(client: &Connected, channel: &str, severity: &str, count: u64) {
    let arguments = json!({"channel": channel, "severity": severity, "count": count});
    let published = client.call_tool("publish", arguments).await.unwrap();
    assert!(!published.is_error(), "{published:?}");
}

/// Returns the channel and number of the next event.
async fn next<S: RpcService>(events: &mut EventStream<S>) -> (String, u64) {
    let item = tokio::time::timeout(Duration::from_secs(10), events.next()).await;
    match item.expect("an event comes") {
        Some(EventItem::Event(event)) => {
            let data: Value = event.data.to().unwrap();
            (event.channel, data["number"].as_u64().unwrap())
        }
        item => panic!("{item:?}"),
    }
}

/// Publishes on a channel that is subscribed to, and hears that and nothing before it.
async fn nothing_else_comes(client: &Connected, events: &mut EventStream<impl RpcService>, channel: &str) {
    publish(client, channel, "critical", 2).await;
    for number in 0..2 {
        assert_eq!(next(events).await, (channel.to_owned(), number));
    }
}

fn all() -> EventSubscribe {
    EventSubscribe::new(["*"])
}

// covers: MGP-13.1-01, MGP-13.2-01, MGP-13.2-02, MGP-13.2-04, MGP-13.3-01, MGP-13.3-03, MGP-13.3-05
async fn what_is_published_arrives_in_order(leg: Leg) {
    let (_host, client) = connect(leg).await;
    let mut events = client.events(EventSubscribe::new(["tool.done", "system.error"])).await.unwrap();
    assert_eq!(events.answer().subscribed, ["tool.done", "system.error"]);
    publish(&client, "tool.done", "info", 100).await;
    publish(&client, "model.errors", "error", 1).await;
    publish(&client, "system.error", "error", 2).await;
    for number in 0..100 {
        assert_eq!(next(&mut events).await, ("tool.done".into(), number));
    }
    for number in 0..2 {
        assert_eq!(next(&mut events).await, ("system.error".into(), number));
    }
    nothing_else_comes(&client, &mut events, "tool.done").await;
}

// covers: MGP-13.2-04, MGP-13.2-05, MGP-13.5-01..05
async fn patterns_choose_and_what_there_is_is_told(leg: Leg) {
    let (_host, client) = connect(leg).await;
    let asked = ["model.*", "security.*", "tool.begun", "tool.*", "other.*"];
    let mut events = client.events(EventSubscribe::new(asked)).await.unwrap();
    let answer = events.answer();
    assert_eq!(answer.subscribed, ["model.*", "security.*", "tool.*"]);
    assert_eq!(answer.unsupported, ["tool.begun", "other.*"]);
    let mut available = answer.available.clone();
    available.sort();
    let mut channels = CHANNELS.map(str::to_owned);
    channels.sort();
    assert_eq!(available, channels);
    let mut system = client.events(EventSubscribe::new(["system.*"])).await.unwrap();
    for channel in ["model.errors", "system.error", "model.token_usage", "security.denied", "tool.done"] {
        publish(&client, channel, "info", 1).await;
    }
    for channel in ["model.errors", "model.token_usage", "security.denied", "tool.done"] {
        assert_eq!(next(&mut events).await.0, channel);
    }
    assert_eq!(next(&mut system).await.0, "system.error");
    nothing_else_comes(&client, &mut events, "model.errors").await;
    nothing_else_comes(&client, &mut system, "system.error").await;
}

async fn changes_and_events_are_asked_for_at_once(leg: Leg) {
    let (_host, client) = connect(leg).await;
    for _ in 0..20 {
        let changes = client.subscribe(SubscriptionFilter::new().with_tools_list_changed(true));
        let (changes, events) = tokio::join!(changes, client.events(all()));
        let (changes, mut events) = (changes.unwrap(), events.unwrap());
        let honoured = changes.honoured().and_then(|honoured| honoured.tools_list_changed);
        assert_eq!(honoured, leg.is_stateless().then_some(true));
        publish(&client, "tool.done", "info", 1).await;
        assert_eq!(next(&mut events).await, ("tool.done".to_owned(), 0));
    }
}

async fn who_comes_back_misses_nothing_that_is_kept(leg: Leg) {
    let (mut host, client) = connect(leg).await;
    let mut events = client.events(all()).await.unwrap();
    for number in 0..10 {
        host.state.publish("tool.done", EventSeverity::Info, number);
    }
    for number in 0..5 {
        assert_eq!(next(&mut events).await.1, number);
    }
    let resuming = events.resuming();
    drop((events, client));
    for number in 10..500 {
        host.state.publish("tool.done", EventSeverity::Info, number);
    }
    let client = host.client(builder()).await;
    let resumed = client.events(resuming.clone()).await;
    let mut events = match resumed {
        Ok(events) => events,
        // A session that nobody is in owns nothing any more.
        Err(error) => {
            assert!(!leg.is_stateless(), "{error:?}");
            assert_eq!(error.code(), mgp_types::mgp::code::RESOURCE_NOT_FOUND);
            return;
        }
    };
    assert_eq!(Some(&events.answer().subscription_id), resuming.subscription_id.as_ref());

    for number in 5..500 {
        assert_eq!(next(&mut events).await.1, number);
    }
    nothing_else_comes(&client, &mut events, "tool.done").await;
}

// covers: MGP-13.2-01, MGP-13.2-02, MGP-13.2-04..07
async fn a_subscription_on_the_wire_is_as_the_specification_has_it(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Sections, &["events"]).await;
    raw.ask(30, "mgp/events/subscribe", json!({"channels": ["model.token_usage", "x.y"]})).await;
    let answer = raw.answer(30).await["result"].clone();
    assert_eq!(
        (&answer["subscribed"], &answer["unsupported"]),
        (&json!(["model.token_usage"]), &json!(["x.y"]))
    );
    let id = answer["subscription_id"].clone();
    assert!(id.is_string());
    raw.ask(31, "mgp/events/unsubscribe", json!({"subscription_id": id})).await;
    assert_eq!(raw.answer(31).await["result"], json!({"unsubscribed": true}));
    raw.ask(32, "mgp/events/unsubscribe", json!({"subscription_id": id})).await;
    assert_eq!(raw.answer(32).await["result"], json!({"unsubscribed": false}));
}

// covers: MGP-13.2-03, MGP-13.3-01..05
async fn an_event_on_the_wire_is_as_the_specification_has_it(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Sections, &["events"]).await;
    let params = json!({"channels": ["model.*"], "filter": {"min_severity": "warning"}});
    raw.ask(30, "mgp/events/subscribe", params).await;
    let id = raw.answer(30).await["result"]["subscription_id"].clone();
    raw.state.publish("model.token_usage", EventSeverity::Info, 1);
    raw.state.publish("model.token_usage", EventSeverity::Error, 2);
    let event = raw.next_notification("notifications/mgp.event").await["params"].clone();
    assert_eq!(
        (&event["subscription_id"], &event["channel"], &event["data"]),
        (&id, &json!("model.token_usage"), &json!({"number": 2}))
    );
    assert!(event["timestamp"].as_str().unwrap().ends_with('Z'));
}
