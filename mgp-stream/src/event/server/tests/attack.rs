//! Tests with hostile or careless clients.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{EventReplay, EventReplayed, EventSeverity, EventSubscribe, method};
use mgp_types::{Object, code};
use tower_service::Service;

use super::super::feed::{Bounds, EventQuotas};
use super::stateless::listen;
use super::{
    Client, Publisher, arranged, publish, replay, resume, seqs, settle, subscribe, to_all, unsubscribe, usual,
};
use crate::doubles::TestPort;

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_replay_fits_into_a_frame_however_large_the_events_are() {
    let (publisher, service) = usual();
    let mut client = Client::stateless(&service);
    let id = to_all(&mut client).await;
    let large = Object::parse(format!(r#"{{"a":"{}"}}"#, "x".repeat(65_000))).unwrap();
    for _ in 0..60 {
        publisher.publish("system.error", EventSeverity::Info, &large).unwrap();
    }
    let (mut after, mut got) = (0, 0);
    while got < 60 {
        let asked = EventReplay::new(id.clone(), after).with_limit(u64::MAX);
        let answer: EventReplayed = client.ask(method::EVENTS_REPLAY, &asked).await.unwrap();
        let bytes = serde_json::to_string(&answer).unwrap().len();
        assert!(!answer.events.is_empty() && bytes < 2 << 20, "{bytes}");
        assert_eq!((answer.gap, answer.last_seq), (None, 60));
        after = answer.events.last().unwrap().seq.unwrap();
        got += answer.events.len();
    }
    let asked = EventReplay::new(id.clone(), u64::MAX).with_limit(u64::MAX);
    let none: EventReplayed = client.ask(method::EVENTS_REPLAY, &asked).await.unwrap();
    assert_eq!((none.events.len(), none.gap, none.last_seq), (0, None, 60));
    let asked = EventReplay::new(id, 0).with_limit(0);
    let none: EventReplayed = client.ask(method::EVENTS_REPLAY, &asked).await.unwrap();
    assert_eq!((none.events.len(), none.gap, none.last_seq), (0, None, 60));
}

#[tokio::test(start_paused = true)]
async fn patterns_without_end_are_unsupported_and_lists_without_end_refused() {
    let (_, service) = usual();
    let mut client = Client::new(&service);
    for wanted in ["*".repeat(1 << 20), "a.".repeat(1 << 19), format!("{}.*", "a".repeat(1 << 20))] {
        let answer = subscribe(&mut client, &EventSubscribe::new([wanted.as_str()])).await.unwrap();
        assert_eq!((answer.subscribed.len(), answer.unsupported), (0, vec![wanted]));
    }
    let many = EventSubscribe::new(vec!["*"; 100_000]);
    assert_eq!(subscribe(&mut client, &many).await.unwrap_err().code(), code::QUOTA_EXCEEDED);
}

#[tokio::test(start_paused = true)]
async fn channels_named_twice_bring_their_events_once() {
    let (publisher, service) = usual();
    let mut client = Client::new(&service);
    let asked = EventSubscribe::new(["system.error", "system.*", "*", "system.error"]);
    subscribe(&mut client, &asked).await.unwrap();
    publish(&publisher, 1..=2);
    settle().await;
    assert_eq!(client.port.seqs(), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn who_connects_again_and_again_loses_the_oldest_and_is_never_locked_out() {
    let (_, service) = arranged(EventQuotas { per_owner: 3, ..EventQuotas::default() });
    let mut kept = Client::new(&service).named("a");
    let used = to_all(&mut kept).await;
    let mut listener = Client::stateless(&service).named("a");
    for _ in 0..1000 {
        let listening = tokio::spawn(listener.call(listen(&EventSubscribe::new(["*"]))));
        settle().await;
        assert_eq!(listener.port.take().len(), 1);
        listening.abort();
        let _ = listening.await;
    }
    assert!(replay(&mut kept, &used, 0).await.is_ok(), "one that is connected stays");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let first = to_all(&mut listener).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = to_all(&mut listener).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(replay(&mut listener, &first, 0).await.is_ok());
    tokio::time::sleep(Duration::from_secs(1)).await;
    to_all(&mut listener).await;
    assert!(replay(&mut listener, &second, 0).await.is_err(), "the one that was used longest ago");
    assert!(replay(&mut listener, &first, 0).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn resuming_is_no_way_around_the_quota() {
    let (_, service) = arranged(EventQuotas { per_owner: 2, ..EventQuotas::default() });
    let mut one = Client::new(&service);
    let mut other = Client::new(&service);
    let ids = [to_all(&mut one).await, to_all(&mut one).await];
    to_all(&mut other).await;
    resume(&mut other, &ids[0], 0).await.unwrap();
    assert_eq!(resume(&mut other, &ids[1], 0).await.unwrap_err().code(), code::QUOTA_EXCEEDED);
    resume(&mut other, &ids[0], 0).await.unwrap();
    assert!(replay(&mut one, &ids[1], 0).await.is_ok(), "what was refused changed nothing");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_holds_up_nobody_and_no_more_than_its_buffer() {
    let (publisher, service) = arranged(EventQuotas {
        bounds: Bounds { events: 10, ..EventQuotas::default().bounds },
        ..EventQuotas::default()
    });
    let mut deaf = Client::with(&service, &["events"], TestPort::with_room(0));
    let id = to_all(&mut deaf).await;
    let mut other = Client::new(&service);
    to_all(&mut other).await;
    for round in 0..100 {
        publish(&publisher, round * 5 + 1..=round * 5 + 5);
        settle().await;
    }
    assert_eq!(other.port.seqs(), (1..=500).collect::<Vec<_>>());
    assert_eq!(seqs(&replay(&mut deaf, &id, 0).await.unwrap()), (491..=500).collect::<Vec<_>>());
    assert!(unsubscribe(&mut deaf, &id).await);
    settle().await;
    assert_eq!(Arc::strong_count(&deaf.session), 1, "nobody waits for it any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_subscribes_while_events_are_published_sees_a_whole_tail_of_them() {
    let publisher = Publisher::new(["system.error"]).unwrap();
    let service = super::serve(&publisher, EventQuotas { per_owner: 1000, ..EventQuotas::default() });
    let publishing = std::thread::spawn({
        let publisher = publisher.clone();
        move || (1..=20_000).for_each(|n| publish(&publisher, n..=n))
    });
    for _ in 0..100 {
        let mut client = Client::new(&service).named("a");
        let id = to_all(&mut client).await;
        tokio::task::yield_now().await;
        let got = replay(&mut client, &id, 0).await.unwrap();
        let numbers: Vec<u64> =
            got.events.iter().map(|event| event.data.get("n").unwrap().to().unwrap()).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
        assert!(unsubscribe(&mut client, &id).await && !unsubscribe(&mut client, &id).await);
    }
    publishing.join().unwrap();
    assert!(!publisher.has_subscribers());
}
