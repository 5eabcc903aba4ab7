//! Tests of who may see which events.

use std::collections::HashSet;
use std::sync::Arc;

use mgp_types::mgp::{EventSeverity, EventSubscribe};
use mgp_types::{Gate, Gated, Principal};
use parking_lot::Mutex;

use super::super::EventsGate;
use super::{Client, Publisher, data, publisher, settle, subscribe, to_all};
use crate::event::peer::bare;

type Allowed = Arc<Mutex<HashSet<&'static str>>>;

/// Returns a gate where `allowed` see the channel `security.denied` and all see the other channels.
fn guarded(publisher: &Publisher, allowed: &Allowed) -> Gated<EventsGate, crate::doubles::TestServer> {
    let allowed = Arc::clone(allowed);
    let audience = move |who: Option<&Principal>, channel: &str| {
        channel != "security.denied" || who.is_some_and(|who| allowed.lock().contains(who.as_str()))
    };
    EventsGate::new(publisher.clone()).for_audience(audience).layer(bare())
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_somebody_may_not_see_does_not_exist() {
    let (publisher, allowed) = (publisher(), Allowed::default());
    let service = guarded(&publisher, &allowed);
    allowed.lock().insert("a");
    let asked = EventSubscribe::new(["security.denied", "security.*", "system.error"]);
    let mut seeing = Client::new(&service).named("a");
    let answer = subscribe(&mut seeing, &asked).await.unwrap();
    assert_eq!((answer.subscribed.len(), answer.available.len()), (3, 4));
    for mut blind in [Client::new(&service).named("b"), Client::new(&service)] {
        let answer = subscribe(&mut blind, &asked).await.unwrap();
        assert_eq!(answer.subscribed, ["system.error"]);
        assert_eq!(answer.unsupported, ["security.denied", "security.*"]);
        assert!(!answer.available.contains(&"security.denied".to_owned()), "{answer:?}");
        let again = EventSubscribe::new(["*"]).resuming(answer.subscription_id, 0);
        let resumed = subscribe(&mut blind, &again).await.unwrap();
        assert_eq!(resumed.available.len(), 3);
        publisher.publish("security.denied", EventSeverity::Error, &data(1)).unwrap();
        publisher.publish("system.error", EventSeverity::Error, &data(2)).unwrap();
        settle().await;
        let got: Vec<_> = blind.port.events().into_iter().map(|event| (event.seq, event.channel)).collect();
        assert_eq!(got, [(Some(1), "system.error".to_owned())], "and nothing tells of the other");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_may_not_see_a_channel_any_more_gets_no_more_of_it() {
    let (publisher, allowed) = (publisher(), Allowed::default());
    let service = guarded(&publisher, &allowed);
    let mut client = Client::new(&service).named("a");
    to_all(&mut client).await;
    let seen = async |number| {
        publisher.publish("security.denied", EventSeverity::Error, &data(number)).unwrap();
        settle().await;
        client.port.take().len()
    };
    assert_eq!(seen(1).await, 0);
    allowed.lock().insert("a");
    assert_eq!(seen(2).await, 1);
    allowed.lock().clear();
    assert_eq!(seen(3).await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_event_is_for_those_whom_it_concerns() {
    let publisher = publisher();
    let service = guarded(&publisher, &Allowed::default());
    let mut clients = [Client::new(&service).named("a"), Client::new(&service).named("b")];
    for client in &mut clients {
        to_all(client).await;
    }
    let of_a = |who: Option<&Principal>| who.is_some_and(|who| who.as_str() == "a");
    publisher.publish_to("system.error", EventSeverity::Error, &data(1), of_a).unwrap();
    publisher.publish("system.error", EventSeverity::Error, &data(2)).unwrap();
    settle().await;
    let seen = clients.map(|client| client.port.seqs());
    assert_eq!(seen, [vec![1, 2], vec![1]]);
}
