//! Subscriptions to events by filter and time, as a client makes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mgp_client_sdk::mgp::{Event, EventSeverity};
use mgp_client_sdk::types::code;
use mgp_client_sdk::types::ext::{ExtensionId, SubscriptionRequest};
use mgp_client_sdk::types::mgp::ActionHint;
use mgp_client_sdk::{
    Client, ClientBuilder, EraMode, Error, EventItem, EventStream, Object, RawJson, RpcService,
};
use mgp_server_sdk::{Publisher, Server, Tool};
use serde_json::json;

use crate::servers::{MODES, connect};

fn builder() -> ClientBuilder {
    Client::builder("tester", "1.0.0").event_subscriptions()
}

fn publisher() -> Publisher {
    Publisher::new(["commit_to_main", "pr_review_requested"]).unwrap()
}

fn commit(publisher: &Publisher, repository: &str) {
    let hint = ActionHint {
        recommended_tool: Some("pull".into()),
        parameters: Some(Object::new()),
        reason: Some("the branch moved".into()),
    };
    let data = Object::from_value(&json!({"repository": repository})).unwrap();
    publisher.publish_with_hint("commit_to_main", EventSeverity::Info, &data, &hint).unwrap();
}

fn wanted() -> SubscriptionRequest {
    SubscriptionRequest::new(["commit_to_main"]).with_member("repository", "frontend-app")
}

async fn next(events: &mut EventStream<impl RpcService>) -> Event {
    match tokio::time::timeout(Duration::from_mins(2), events.next()).await {
        Ok(Some(EventItem::Event(event))) => event,
        other => panic!("{other:?}"),
    }
}

// covers: EXT-15-01, EXT-15-04
#[tokio::test]
async fn a_client_gets_what_it_subscribed_to_until_it_unsubscribes() {
    for mode in MODES {
        let publisher = publisher();
        let client = connect(Server::new("git", "1.0.0").events(&publisher), builder(), mode).await;
        let mut kept = client.subscribe_events(&SubscriptionRequest::new(["*"])).await.unwrap();
        let mut events = client.subscribe_events(&wanted().with_id("mine")).await.unwrap();
        if mode == EraMode::Session {
            assert_eq!(events.answer().subscription_id.as_str(), "mine");
            let taken = client.subscribe_events(&wanted().with_id("mine")).await.unwrap_err();
            assert!(taken.message().contains("choose another id"), "{taken}");
            let own = client.event_subscriptions().await.unwrap();
            assert_eq!(own.subscriptions.len(), 2);
        }
        assert!(events.expires_at().is_some());
        commit(&publisher, "backend");
        commit(&publisher, "frontend-app");
        let event = next(&mut events).await;
        assert_eq!((event.channel.as_str(), event.seq), ("commit_to_main", Some(1)));
        assert_eq!(event.data.text("repository").as_deref(), Some("frontend-app"));
        assert!(events.unsubscribe().await.unwrap());
        commit(&publisher, "frontend-app");
        for _ in 0..3 {
            next(&mut kept).await;
        }
        let none = client.subscribe_events(&SubscriptionRequest::new(["moon_rise"])).await.unwrap_err();
        assert_eq!(none.code(), code::RESOURCE_NOT_FOUND, "{none}");
    }
}

// covers: EXT-15-06
#[tokio::test(start_paused = true)]
async fn a_client_learns_that_the_time_of_its_subscription_is_over() {
    for mode in MODES {
        let publisher = publisher();
        let client = connect(Server::new("git", "1.0.0").events(&publisher), builder(), mode).await;
        let mut events = client.subscribe_events(&wanted().with_ttl_seconds(60)).await.unwrap();
        commit(&publisher, "frontend-app");
        next(&mut events).await;
        let end = tokio::time::timeout(Duration::from_secs(90), events.next()).await.unwrap();
        assert_eq!(end, Some(EventItem::Gone), "{mode:?}");
        // The client may subscribe again.
        let mut again = client.subscribe_events(&wanted()).await.unwrap();
        commit(&publisher, "frontend-app");
        assert_eq!(next(&mut again).await.seq, Some(1));
    }
}

/// A server that pushes nothing: it answers with one event more each time it is asked.
fn asked_only(asked: &Arc<AtomicUsize>) -> Server {
    let asked = asked.clone();
    let subscribe = async |wish: Object| {
        assert_eq!(wish.to::<SubscriptionRequest>().unwrap().events, ["commit_to_main"]);
        Ok::<_, Error>(json!({
            "subscription_id": "sub-1", "status": "active", "supported_events": ["commit_to_main"],
            "supported": false, "poll_interval_seconds": 45, "poll_method": "mgp/events/replay",
        }))
    };
    let replay = move |wish: Object| {
        let seq = asked.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            let after: usize = wish.get("after_seq").unwrap().to().unwrap();
            assert_eq!((wish.text("subscription_id").as_deref(), after), (Some("sub-1"), seq - 1));
            let event = json!({
                "type": "event", "subscription_id": "sub-1", "event": "commit_to_main", "seq": seq,
                "timestamp": "2026-03-10T14:22:00Z", "payload": {"repository": "frontend-app"},
            });
            Ok::<_, Error>(json!({"events": [event], "last_seq": seq}))
        }
    };
    Server::new("git", "1.0.0")
        .extension(ExtensionId::SubscribeNotify.id(), RawJson::empty_object())
        .method("mgp/events/subscribe", subscribe)
        .method("mgp/events/replay", replay)
}

// covers: EXT-15-09
#[tokio::test(start_paused = true)]
async fn a_client_that_nothing_is_pushed_to_asks_as_often_as_the_server_says() {
    for mode in MODES {
        let asked: Arc<AtomicUsize> = Arc::default();
        let client = connect(asked_only(&asked), builder(), mode).await;
        let mut events = client.subscribe_events(&wanted()).await.unwrap();
        let mut last = tokio::time::Instant::now();
        for seq in 1..=3 {
            let event = next(&mut events).await;
            assert_eq!((event.channel.as_str(), event.seq), ("commit_to_main", Some(seq)), "{mode:?}");
            assert_eq!(event.data.text("repository").as_deref(), Some("frontend-app"));
            let waited = last.elapsed();
            last += waited;
            let asked_at_once = seq == 1 && waited < Duration::from_secs(1);
            assert!(asked_at_once || (44..=60).contains(&waited.as_secs()), "{waited:?} {mode:?}");
        }
    }
}

// covers: EXT-15-13
#[tokio::test]
async fn what_an_event_suggests_is_told_and_not_done() {
    for mode in MODES {
        let publisher = publisher();
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let pull = move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async { "pulled" }
        };
        let server = Server::new("git", "1.0.0").tool(Tool::new("pull", "Pulls."), pull).events(&publisher);
        let client = connect(server, builder(), mode).await;
        let mut events = client.subscribe_events(&wanted()).await.unwrap();
        for _ in 0..3 {
            commit(&publisher, "frontend-app");
            let hint = next(&mut events).await.action_hint.unwrap();
            assert_eq!(hint.recommended_tool.as_deref(), Some("pull"));
        }
        client.ping().await.unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        client.call_tool("pull", ()).await.unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 1, "the application decides");
    }
}

#[tokio::test]
async fn a_server_without_the_extension_is_not_asked() {
    for mode in MODES {
        let server = Server::new("git", "1.0.0").tool(Tool::new("pull", "Pulls."), async || "pulled");
        let client = connect(server, builder(), mode).await;
        let error = client.subscribe_events(&wanted()).await.unwrap_err();
        assert_eq!(error.code(), code::METHOD_NOT_FOUND);
        assert!(error.message().contains("Client::events"), "{error}");
    }
}
