//! Tests of the server's side of events.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{
    Category, EventGap, EventReplay, EventReplayed, EventSeverity, EventSubscribe, EventSubscribed,
    EventUnsubscribe, EventUnsubscribed, SubscriptionId, method,
};
use mgp_types::{Error, Gated, Object, Request, code};
use tower_service::Service;

use super::super::peer::{ClientConnection, data, serve};
use super::feed::{Bounds, EventQuotas};
use super::{EventsGate, PublishError, Publisher};
use crate::doubles::{TestPort, TestServer, settle};
use stateless::listen;

mod attack;
mod audience;
mod stateless;

type Client = ClientConnection<Gated<EventsGate, TestServer>>;

fn publisher() -> Publisher {
    Publisher::new(["model.token_usage", "system.error", "tool.failed", "security.denied"]).unwrap()
}

fn arranged(quotas: EventQuotas) -> (Publisher, Gated<EventsGate, TestServer>) {
    let publisher = publisher();
    let service = serve(&publisher, quotas);
    (publisher, service)
}

fn usual() -> (Publisher, Gated<EventsGate, TestServer>) {
    arranged(EventQuotas::default())
}

async fn subscribe(client: &mut Client, asked: &EventSubscribe) -> Result<EventSubscribed, Error> {
    client.ask(method::EVENTS_SUBSCRIBE, asked).await
}

async fn to_all(client: &mut Client) -> SubscriptionId {
    subscribe(client, &EventSubscribe::new(["*"])).await.unwrap().subscription_id
}

async fn resume(client: &mut Client, id: &SubscriptionId, after: u64) -> Result<EventSubscribed, Error> {
    subscribe(client, &EventSubscribe::new(["*"]).resuming(id.clone(), after)).await
}

async fn replay(client: &mut Client, id: &SubscriptionId, after: u64) -> Result<EventReplayed, Error> {
    client.ask(method::EVENTS_REPLAY, &EventReplay::new(id.clone(), after)).await
}

async fn unsubscribe(client: &mut Client, id: &SubscriptionId) -> bool {
    let asked = EventUnsubscribe::new(id.clone());
    client.ask::<_, EventUnsubscribed>(method::EVENTS_UNSUBSCRIBE, &asked).await.unwrap().unsubscribed
}

/// Publishes events with the numbers that a subscriber sees who gets all from the beginning.
fn publish(publisher: &Publisher, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        publisher.publish("system.error", EventSeverity::Error, &data(number)).unwrap();
    }
}

fn seqs(answer: &EventReplayed) -> Vec<u64> {
    answer.events.iter().filter_map(|event| event.seq).collect()
}

// covers: MGP-13.2-01, MGP-13.2-02, MGP-13.2-04..06, MGP-13.5-05
#[tokio::test(start_paused = true)]
async fn a_client_learns_what_it_subscribed_to_and_what_there_is() {
    let (_, service) = usual();
    let mut client = Client::new(&service);
    let asked = EventSubscribe::new(["model.token_usage", "tool.*", "model.rate", "disk.*", "not a name"]);
    let answer = subscribe(&mut client, &asked).await.unwrap();
    assert_eq!(answer.subscribed, ["model.token_usage", "tool.*"]);
    assert_eq!(answer.unsupported, ["model.rate", "disk.*", "not a name"]);
    assert_eq!(answer.available, ["model.token_usage", "security.denied", "system.error", "tool.failed"]);
    assert_eq!((answer.last_seq, answer.gap), (Some(0), None));
    let other = subscribe(&mut client, &asked).await.unwrap();
    assert_ne!(answer.subscription_id, other.subscription_id);
    assert!(answer.subscription_id.as_str().len() >= 32);
}

// covers: MGP-13.5-05
#[tokio::test(start_paused = true)]
async fn asking_what_there_is_keeps_nothing() {
    let (publisher, service) = arranged(EventQuotas { in_all: 1, ..EventQuotas::default() });
    let mut client = Client::new(&service);
    for _ in 0..5 {
        let answer = subscribe(&mut client, &EventSubscribe::default()).await.unwrap();
        assert_eq!((answer.subscribed.len(), answer.available.len()), (0, 4));
        assert!(!unsubscribe(&mut client, &answer.subscription_id).await);
    }
    publish(&publisher, 1..=1);
    settle().await;
    assert!(client.port.take().is_empty());
}

// covers: MGP-13.1-01, MGP-13.3-01..05
#[tokio::test(start_paused = true)]
async fn events_are_pushed_in_order_with_their_numbers() {
    let (publisher, service) = usual();
    let mut client = Client::new(&service);
    let id = to_all(&mut client).await;
    publisher.publish("model.token_usage", EventSeverity::Info, &data(7)).unwrap();
    publish(&publisher, 2..=3);
    settle().await;
    let events = client.port.events();
    assert_eq!(events.iter().filter_map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3]);
    let first = &events[0];
    assert_eq!((&first.subscription_id, first.channel.as_str()), (&id, "model.token_usage"));
    assert_eq!((first.severity, &first.data), (Some(EventSeverity::Info), &data(7)));
    let age = mgp_types::mgp::Timestamp::now().since(first.timestamp);
    assert!(age < Duration::from_mins(1));
}

// covers: MGP-13.2-03
#[tokio::test(start_paused = true)]
async fn events_below_the_wanted_severity_are_not_counted() {
    let (publisher, service) = usual();
    let mut client = Client::new(&service);
    let asked = EventSubscribe::new(["system.error"]).with_min_severity(EventSeverity::Warning);
    subscribe(&mut client, &asked).await.unwrap();
    for severity in EventSeverity::ALL {
        publisher.publish("system.error", *severity, &Object::new()).unwrap();
        publisher.publish("tool.failed", *severity, &Object::new()).unwrap();
    }
    settle().await;
    let got: Vec<_> = client.port.events().iter().map(|event| (event.seq, event.severity)).collect();
    let expected = [EventSeverity::Warning, EventSeverity::Error, EventSeverity::Critical];
    assert_eq!(got, [1, 2, 3].map(Some).into_iter().zip(expected.map(Some)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_severity_that_nobody_knows_is_refused() {
    let (_, service) = usual();
    let params = Object::parse(r#"{"channels":["*"],"filter":{"min_severity":"loud"}}"#).unwrap();
    let error = Client::new(&service).call(Request::call("mgp/events/subscribe", params)).await.unwrap_err();
    assert_eq!(error.code(), code::INVALID_PARAMS);
}

// covers: MGP-13.5-01..04
#[tokio::test(start_paused = true)]
async fn each_family_is_subscribed_to_with_its_later_channels() {
    let (publisher, service) = usual();
    for (family, channel) in [
        ("model.*", "model.token_usage"),
        ("system.*", "system.error"),
        ("tool.*", "tool.failed"),
        ("security.*", "security.denied"),
    ] {
        let mut client = Client::new(&service);
        subscribe(&mut client, &EventSubscribe::new([family])).await.unwrap();
        let later = format!("{channel}.later");
        publisher.declare(&later).unwrap();
        publisher.declare(&later).unwrap();
        for name in ["model.token_usage", "system.error", "tool.failed", "security.denied", &later] {
            publisher.publish(name, EventSeverity::Info, &Object::new()).unwrap();
        }
        settle().await;
        let channels: Vec<_> = client.port.events().into_iter().map(|event| event.channel).collect();
        assert_eq!(channels, [channel, &later]);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_published_on_channels_that_are_not_declared_nor_contents() {
    let publisher = publisher();
    let error = publisher.publish("model.errors", EventSeverity::Info, &Object::new()).unwrap_err();
    assert_eq!(error, PublishError::Undeclared("model.errors".into()));
    assert!(error.to_string().contains("model.errors"));
    let large = Object::parse(format!(r#"{{"a":"{}"}}"#, "x".repeat(Publisher::MAX_DATA_BYTES))).unwrap();
    let error = publisher.publish("system.error", EventSeverity::Info, &large).unwrap_err();
    assert!(matches!(error, PublishError::TooLarge { bytes } if bytes > Publisher::MAX_DATA_BYTES));
    assert!(Publisher::new(["a.*"]).is_err());
}

// covers: MGP-13.2-07
#[tokio::test(start_paused = true)]
async fn after_unsubscribing_nothing_comes() {
    let (publisher, service) = usual();
    let mut client = Client::new(&service);
    let id = to_all(&mut client).await;
    publish(&publisher, 1..=1);
    settle().await;
    assert!(unsubscribe(&mut client, &id).await);
    publish(&publisher, 2..=2);
    settle().await;
    assert_eq!(client.port.seqs(), [1]);
    assert!(!unsubscribe(&mut client, &id).await);
    assert_eq!(replay(&mut client, &id, 0).await.unwrap_err().code(), code::RESOURCE_NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn a_session_does_not_see_the_subscriptions_of_another() {
    let (publisher, service) = usual();
    let (mut one, mut other) = (Client::new(&service), Client::new(&service));
    let id = to_all(&mut one).await;
    publish(&publisher, 1..=2);
    settle().await;
    assert!(other.port.take().is_empty());
    let foreign = replay(&mut other, &id, 0).await.unwrap_err();
    let unknown = replay(&mut other, &SubscriptionId::new("sub-001"), 0).await.unwrap_err();
    assert_eq!((foreign.code(), foreign.message()), (unknown.code(), unknown.message()));
    assert!(!unsubscribe(&mut other, &id).await);
    assert_eq!(seqs(&replay(&mut one, &id, 0).await.unwrap()), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_principals_subscription_is_nobody_elses_even_by_name() {
    let (publisher, service) = usual();
    let mut owner = Client::new(&service).named("a");
    let id = to_all(&mut owner).await;
    publish(&publisher, 1..=1);
    for mut other in [Client::new(&service), Client::new(&service).named("b")] {
        assert_eq!(resume(&mut other, &id, 0).await.unwrap_err().code(), code::RESOURCE_NOT_FOUND);
        assert!(replay(&mut other, &id, 0).await.is_err());
        assert!(!unsubscribe(&mut other, &id).await);
    }
    let mut again = Client::new(&service).named("a");
    assert_eq!(seqs(&replay(&mut again, &id, 0).await.unwrap()), [1]);
    resume(&mut again, &id, 0).await.unwrap();
    settle().await;
    assert_eq!(again.port.seqs(), [1]);
}

#[tokio::test(start_paused = true)]
async fn quotas_hold_for_each_owner_and_for_all() {
    let quotas = EventQuotas { per_owner: 2, in_all: 5, channels: 3, ..EventQuotas::default() };
    let (_, service) = arranged(quotas);
    let refused = async |client: &mut Client| {
        let error = subscribe(client, &EventSubscribe::new(["*"])).await.unwrap_err();
        assert_eq!(error.code(), code::QUOTA_EXCEEDED);
        let recovery = error.recovery().unwrap();
        assert_eq!((recovery.category, recovery.retryable), (Some(Category::Resource), Some(false)));
    };
    let mut named = Client::new(&service).named("a");
    let first = to_all(&mut named).await;
    to_all(&mut named).await;
    refused(&mut named).await;
    refused(&mut Client::new(&service).named("a")).await;
    let mut by_session = Client::new(&service);
    to_all(&mut by_session).await;
    to_all(&mut by_session).await;
    refused(&mut by_session).await;
    to_all(&mut Client::new(&service)).await;
    refused(&mut Client::new(&service)).await;
    assert!(unsubscribe(&mut named, &first).await);
    to_all(&mut named).await;
    let many = EventSubscribe::new(["*", "*", "*", "*"]);
    assert_eq!(subscribe(&mut named, &many).await.unwrap_err().code(), code::QUOTA_EXCEEDED);
}

#[tokio::test(start_paused = true)]
async fn those_who_are_nobody_leave_room_for_others() {
    let (_, service) = arranged(EventQuotas { in_all: 4, ..EventQuotas::default() });
    let mut anybody = Client::stateless(&service);
    to_all(&mut anybody).await;
    to_all(&mut anybody).await;
    assert!(subscribe(&mut anybody, &EventSubscribe::new(["*"])).await.is_err());
    to_all(&mut Client::stateless(&service).named("a")).await;
    assert!(subscribe(&mut Client::new(&service), &EventSubscribe::new(["*"])).await.is_err());
    to_all(&mut Client::new(&service).named("b")).await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_nobody_uses_ends_and_one_that_is_used_does_not() {
    let quotas = EventQuotas { idle_timeout: Duration::from_mins(10), in_all: 2, ..EventQuotas::default() };
    let (publisher, service) = arranged(quotas);
    let mut connected = Client::new(&service);
    let kept = to_all(&mut connected).await;
    let mut polling = Client::stateless(&service).named("a");
    let polled = to_all(&mut polling).await;
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_mins(9)).await;
        assert!(replay(&mut polling, &polled, 0).await.is_ok());
    }
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(replay(&mut polling, &polled, 0).await.unwrap_err().code(), code::RESOURCE_NOT_FOUND);
    assert!(resume(&mut polling, &polled, 0).await.is_err());
    to_all(&mut polling).await;
    publish(&publisher, 1..=1);
    settle().await;
    assert_eq!(connected.port.seqs(), [1]);

    let port = Arc::clone(&connected.port);
    drop(connected);
    tokio::time::sleep(Duration::from_mins(9)).await;
    let mut again = Client::new(&service);
    assert_eq!(resume(&mut again, &kept, 1).await.unwrap().last_seq, Some(1));
    drop(again);
    tokio::time::sleep(Duration::from_mins(12)).await;
    assert!(resume(&mut Client::new(&service), &kept, 0).await.is_err());
    assert_eq!(Arc::strong_count(&port), 1, "nothing holds a connection that is gone");
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_sees_what_it_missed_and_is_told_what_is_lost() {
    let (publisher, service) = arranged(EventQuotas {
        bounds: Bounds { events: 3, ..EventQuotas::default().bounds },
        ..EventQuotas::default()
    });
    let port = TestPort::with_room(1);
    let mut client = Client::with(&service, &["events"], port.clone());
    let id = to_all(&mut client).await;
    publish(&publisher, 1..=2);
    settle().await;
    publish(&publisher, 3..=9);
    settle().await;
    port.make_room(100);
    settle().await;
    assert_eq!(port.seqs(), [1, 2, 7, 8, 9]);
    let answer = replay(&mut client, &id, 2).await.unwrap();
    assert_eq!(answer.gap, Some(EventGap { from: 3, to: 6 }));
    assert_eq!((seqs(&answer), answer.last_seq), (vec![7, 8, 9], 9));
}

#[tokio::test(start_paused = true)]
async fn the_last_thousand_events_can_be_sent_again() {
    let (publisher, service) = usual();
    let mut client = Client::stateless(&service);
    let id = to_all(&mut client).await;
    publish(&publisher, 1..=1005);
    let answer = replay(&mut client, &id, 0).await.unwrap();
    assert_eq!(seqs(&answer), (6..=1005).collect::<Vec<_>>());
    assert_eq!(answer.gap, Some(EventGap { from: 1, to: 5 }));
    let asked = EventReplay::new(id, 10).with_limit(2);
    let answer: EventReplayed = client.ask(method::EVENTS_REPLAY, &asked).await.unwrap();
    assert_eq!((seqs(&answer), answer.gap, answer.last_seq), (vec![11, 12], None, 1005));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_gets_what_it_did_not_get() {
    let (publisher, service) = arranged(EventQuotas {
        bounds: Bounds { events: 4, ..EventQuotas::default().bounds },
        ..EventQuotas::default()
    });
    let mut client = Client::new(&service);
    let id = to_all(&mut client).await;
    publish(&publisher, 1..=2);
    settle().await;
    client.port.cut();
    publish(&publisher, 3..=5);
    settle().await;
    drop(client);

    let mut within = Client::new(&service);
    let answer = resume(&mut within, &id, 2).await.unwrap();
    assert_eq!((answer.gap, answer.last_seq), (None, Some(5)));
    assert_eq!((answer.subscription_id, answer.subscribed), (id.clone(), vec!["*".to_owned()]));
    publish(&publisher, 6..=6);
    settle().await;
    assert_eq!(within.port.seqs(), [3, 4, 5, 6]);

    drop(within);
    publish(&publisher, 7..=12);
    let mut beyond = Client::new(&service);
    let answer = resume(&mut beyond, &id, 6).await.unwrap();
    assert_eq!((answer.gap, answer.last_seq), (Some(EventGap { from: 7, to: 8 }), Some(12)));
    settle().await;
    assert_eq!(beyond.port.seqs(), [9, 10, 11, 12]);
}

#[tokio::test(start_paused = true)]
async fn resuming_takes_a_subscription_over_from_a_session_that_still_seems_to_be_there() {
    let (publisher, service) = usual();
    let mut old = Client::new(&service);
    let id = to_all(&mut old).await;
    let mut new = Client::new(&service);
    resume(&mut new, &id, u64::MAX).await.unwrap();
    publish(&publisher, 1..=2);
    settle().await;
    assert_eq!((old.port.take().len(), new.port.seqs()), (0, vec![1, 2]));
    assert!(!unsubscribe(&mut old, &id).await);
    assert!(unsubscribe(&mut new, &id).await);
}

#[tokio::test(start_paused = true)]
async fn to_a_client_without_events_there_are_none() {
    let (publisher, service) = usual();
    for extensions in [&[][..], &["callbacks"], &["streaming", "audit"]] {
        let mut client = Client::with(&service, extensions, TestPort::new());
        for name in [method::EVENTS_SUBSCRIBE, method::EVENTS_UNSUBSCRIBE, method::EVENTS_REPLAY] {
            let error = client.call(Request::call(name, Object::new())).await.unwrap_err();
            assert_eq!(error.code(), code::METHOD_NOT_FOUND, "{name}");
        }
        let listening = tokio::spawn(client.call(listen(&EventSubscribe::new(["*"]))));
        publish(&publisher, 1..=1);
        settle().await;
        let sent = client.port.take();
        assert_eq!(sent.len(), 1);
        let wish = sent[0].params.get("notifications").unwrap().to::<serde_json::Value>().unwrap();
        assert_eq!(wish["dev.cloto/mgp/events"]["channels"][0], "*", "it passes as it came");
        listening.abort();
    }
    let mut client = Client::new(&service);
    let note = Request::notify(method::EVENTS_SUBSCRIBE, Object::parse(r#"{"channels":["*"]}"#).unwrap());
    assert_eq!(client.call(note).await.unwrap_err().code(), code::METHOD_NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn with_the_layer_its_subscriptions_end() {
    let publisher = publisher();
    let client = {
        let service = serve(&publisher, EventQuotas::default());
        let mut client = Client::new(&service);
        to_all(&mut client).await;
        (client.port, client.session)
    };
    publish(&publisher, 1..=1);
    settle().await;
    assert!(client.0.take().is_empty());
    assert!(!publisher.has_subscribers());
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_nobody_comes_back_to_costs_publishers_nothing() {
    let (publisher, service) =
        arranged(EventQuotas { idle_timeout: Duration::from_mins(10), ..EventQuotas::default() });
    let mut client = Client::new(&service);
    to_all(&mut client).await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert!(publisher.has_subscribers());
    drop(client);
    tokio::time::sleep(Duration::from_mins(15)).await;
    assert!(!publisher.has_subscribers());
    to_all(&mut Client::new(&service)).await;
    assert!(publisher.has_subscribers());
    tokio::time::sleep(Duration::from_mins(15)).await;
    assert!(!publisher.has_subscribers());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn publishers_on_many_threads_share_one_order() {
    let (publisher, service) = usual();
    let mut clients = [Client::new(&service), Client::new(&service)];
    for client in &mut clients {
        to_all(client).await;
    }
    let publishing: Vec<_> = (0..4)
        .map(|_| {
            let publisher = publisher.clone();
            std::thread::spawn(move || publish(&publisher, 1..=200))
        })
        .collect();
    for thread in publishing {
        thread.join().unwrap();
    }
    for client in clients {
        let mut got = Vec::new();
        while got.len() < 800 {
            got.extend(client.port.seqs());
            tokio::task::yield_now().await;
        }
        assert_eq!(got, (1..=800).collect::<Vec<_>>());
    }
}

#[test]
fn static_property_both_sides_are_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Publisher>();
    shared::<super::EventsGate>();
    shared::<Gated<EventsGate, TestServer>>();
    shared::<crate::event::Subscriber>();
}
