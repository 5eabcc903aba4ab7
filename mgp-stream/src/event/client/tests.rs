//! Tests of the client's side of events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use mgp_types::mgp::{
    Event, EventSeverity, EventSubscribe, EventSubscribed, SubscriptionId, Timestamp, method,
};
use mgp_types::{BoxFuture, Error, Gated, Method, RawJson, Request, Response, code};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower_service::Service;

use super::super::peer::{ClientConnection, data, serve};
use super::super::server::{Bounds, EventQuotas};
use super::super::{EventsGate, Publisher};
use super::{EventItem, Events, Subscriber};
use crate::doubles::{TestServer, raw, settle, text};

mod assembly;
mod leaving;
mod waking;

type Connection = ClientConnection<Gated<EventsGate, TestServer>>;

/// A server that answers from a script, and remembers its requests.
#[derive(Clone, Default)]
struct Script {
    answers: Arc<Mutex<VecDeque<Result<RawJson, Error>>>>,
    asked: Arc<Mutex<Vec<Request>>>,
    /// The events that overtake every answer.
    overtaking: Arc<Mutex<Vec<Event>>>,
    to: Subscriber,
}

impl Script {
    fn answering(answers: impl IntoIterator<Item = Result<&'static str, Error>>) -> Self {
        let script = Self::default();
        let answers = answers.into_iter().map(|answer| answer.map(raw));
        script.answers.lock().extend(answers);
        script
    }

    fn then(&self, answer: Result<&'static str, Error>) {
        self.answers.lock().push_back(answer.map(raw));
    }

    fn asked(&self) -> Vec<(Method, String)> {
        let line = |request: &Request| (request.method.clone(), text(&request.params.to_raw()));
        std::mem::take(&mut *self.asked.lock()).iter().map(line).collect()
    }
}

impl Service<Request> for Script {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        for event in std::mem::take(&mut *self.overtaking.lock()) {
            self.to.push(event);
        }
        self.asked.lock().push(request);
        let answer = self.answers.lock().pop_front().unwrap_or_else(|| Err(Error::disconnected("over")));
        Box::pin(async { answer.map(Response::new) })
    }
}

const OURS: &str = r#"{"subscribed":["a"],"unsupported":[],"subscription_id":"s","last_seq":0}"#;
const SUBSCRIBED: &str = r#"{"subscribed":["a"],"unsupported":[],"subscription_id":"s"}"#;

fn event(subscription: &str, n: u64) -> Event {
    Event::new(SubscriptionId::new(subscription), "a", Timestamp::EPOCH, data(n))
}

fn numbered(seq: u64) -> Event {
    event("s", seq).with_seq(seq)
}

fn push<const N: usize>(script: &Script, seqs: [u64; N]) {
    for seq in seqs {
        script.to.push(numbered(seq));
    }
}

async fn subscribed(script: &Script) -> Events<Script> {
    script.to.subscribe(script.clone(), EventSubscribe::new(["a"])).await.unwrap()
}

fn now<S: mgp_types::RpcService>(events: &mut Events<S>) -> Vec<EventItem> {
    std::iter::from_fn(|| events.next().now_or_never().flatten()).collect()
}

fn items(events: impl IntoIterator<Item = Event>) -> Vec<EventItem> {
    events.into_iter().map(EventItem::Event).collect()
}

// covers: MGP-13.2-01, MGP-13.2-02, MGP-13.2-03, MGP-13.5-05
#[tokio::test(start_paused = true)]
async fn a_client_subscribes_and_learns_what_there_is() {
    let script = Script::answering([Ok(
        r#"{"subscribed":["a"],"unsupported":["b"],"subscription_id":"s","available":["a","c"]}"#,
    )]);
    let wanted = EventSubscribe::new(["a", "b"]).with_min_severity(EventSeverity::Warning);
    let events = script.to.subscribe(script.clone(), wanted).await.unwrap();
    let params = r#"{"channels":["a","b"],"filter":{"min_severity":"warning"}}"#;
    assert_eq!(script.asked(), [(Method::new(method::EVENTS_SUBSCRIBE), params.to_owned())]);
    assert_eq!(
        (&*events.answer().unsupported, &*events.answer().available),
        (&["b".into()][..], &["a".into(), "c".into()][..])
    );
}

// covers: MGP-13.2-07
#[tokio::test(start_paused = true)]
async fn a_client_unsubscribes() {
    let script = Script::answering([Ok(OURS), Ok(r#"{"unsubscribed":true}"#)]);
    let events = subscribed(&script).await;
    assert!(events.unsubscribe().await.unwrap());
    let asked = script.asked().pop().unwrap();
    assert_eq!((asked.0.as_str(), &*asked.1), (method::EVENTS_UNSUBSCRIBE, r#"{"subscription_id":"s"}"#));
}

#[tokio::test(start_paused = true)]
async fn events_that_overtake_the_answer_are_not_lost() {
    let script = Script::answering([Ok(SUBSCRIBED)]);
    script.overtaking.lock().extend([event("s", 1), event("other", 1), event("s", 2)]);
    let mut events = subscribed(&script).await;
    script.to.push(event("s", 3));
    assert_eq!(now(&mut events), items([event("s", 1), event("s", 2), event("s", 3)]));
    script.to.push(event("late", 1));
    assert_eq!(now(&mut events), []);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_numbers_is_read_as_its_events_arrive() {
    let script = Script::answering([Ok(SUBSCRIBED)]);
    let mut events = subscribed(&script).await;
    // Numbers that are not the subscription's own, like those of one server for all, tell nothing.
    let arriving = [event("s", 1), numbered(70), numbered(12), event("s", 1)];
    for event in arriving.clone() {
        script.to.push(event);
    }
    assert_eq!(now(&mut events), items(arriving));
    assert_eq!(script.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_comes_faster_than_it_is_read_is_counted() {
    let script = Script::answering([Ok(SUBSCRIBED)]);
    let mut events = subscribed(&script).await;
    (0..1030).for_each(|n| script.to.push(event("s", n)));
    let mut given = now(&mut events);
    assert_eq!(given.pop(), Some(EventItem::Dropped(6)));
    assert_eq!(given.len(), 1024);
    script.to.push(event("s", 1));
    assert_eq!(now(&mut events).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn numbered_events_that_do_not_fit_are_asked_for_later() {
    let publisher = Publisher::new(["a"]).unwrap();
    let quotas = EventQuotas {
        bounds: Bounds { events: 5000, ..EventQuotas::default().bounds },
        ..EventQuotas::default()
    };
    let connection = Connection::new(&serve(&publisher, quotas));
    let subscriber = Subscriber::new();
    let mut events = subscriber.subscribe(connection.clone(), EventSubscribe::new(["a"])).await.unwrap();
    (1..=4000).for_each(|n| publisher.publish("a", EventSeverity::Info, &data(n)).unwrap());
    settle().await;
    connection.port.events().into_iter().for_each(|event| subscriber.push(event));
    let given = now(&mut events);
    let seqs = given.iter().map(|item| match item {
        EventItem::Event(event) => event.seq.unwrap(),
        other => panic!("{other:?}"),
    });
    assert!(seqs.eq(1..=4000));
}

#[tokio::test(start_paused = true)]
async fn what_the_server_cannot_send_again_is_reported_in_its_place() {
    for refusal in [code::METHOD_NOT_FOUND, code::INVALID_PARAMS] {
        let script = Script::answering([Ok(OURS), Err(Error::new(refusal, "no"))]);
        let mut events = subscribed(&script).await;
        push(&script, [1, 4, 5]);
        let missed = EventItem::Missed { from: 2, to: 3 };
        let one = |seq| EventItem::Event(numbered(seq));
        assert_eq!(now(&mut events), [one(1), missed, one(4), one(5)]);
        script.to.push(numbered(3));
        assert_eq!(now(&mut events), [], "it was reported already");
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_brings_nothing_is_not_asked_for_again() {
    let script = Script::answering([Ok(OURS), Ok(r#"{"events":[],"last_seq":0}"#)]);
    let mut events = subscribed(&script).await;
    script.to.push(numbered(3));
    assert_eq!(now(&mut events), [EventItem::Missed { from: 1, to: 2 }, EventItem::Event(numbered(3))]);
    let replay = script.asked().pop().unwrap();
    assert_eq!(replay.1, r#"{"subscription_id":"s","after_seq":0,"limit":2}"#);
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_fails_is_tried_again_after_a_growing_while() {
    let script = Script::answering([Ok(OURS)]);
    (0..3).for_each(|_| script.then(Err(Error::disconnected("down"))));
    script.then(Ok(r#"{"events":[],"gap":{"from":1,"to":1},"last_seq":2}"#));
    let mut events = subscribed(&script).await;
    script.to.push(numbered(2));
    let start = Instant::now();
    assert_eq!(events.next().await, Some(EventItem::Missed { from: 1, to: 1 }));
    assert_eq!(start.elapsed().as_secs(), 1 + 2 + 4);
    assert_eq!(script.asked().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_the_server_forgot_is_gone_once() {
    let gone = || Err(Error::new(code::RESOURCE_NOT_FOUND, "no such subscription"));
    let script = Script::answering([Ok(OURS), gone()]);
    let mut events = subscribed(&script).await;
    push(&script, [1, 3]);
    let given = now(&mut events);
    let missed = EventItem::Missed { from: 2, to: 2 };
    let one = |seq| EventItem::Event(numbered(seq));
    assert_eq!(given, [one(1), missed, one(3), EventItem::Gone]);
    script.to.push(numbered(4));
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(now(&mut events), []);

    assert_eq!(events.resuming(), EventSubscribe::new(["a"]), "it is opened again");
}

#[tokio::test(start_paused = true)]
async fn a_resumed_subscription_reports_what_the_answer_says_is_lost() {
    let resumed = concat!(
        r#"{"subscribed":["a"],"unsupported":[],"subscription_id":"s","last_seq":9,"#,
        r#""gap":{"from":2,"to":8}}"#
    );
    let script = Script::answering([Ok(OURS), Ok(resumed)]);
    let mut events = subscribed(&script).await;
    push(&script, [1, 5]);
    assert_eq!(events.next().await, Some(EventItem::Event(numbered(1))));
    let wanted = events.resuming();
    drop(events);
    let mut events = script.to.subscribe(script.clone(), wanted).await.unwrap();
    push(&script, [5, 9]);
    let missed = |from, to| EventItem::Missed { from, to };
    let one = |seq| EventItem::Event(numbered(seq));
    assert_eq!(now(&mut events), [missed(2, 4), one(5), missed(6, 8), one(9)]);
}

#[tokio::test(start_paused = true)]
async fn events_can_be_asked_for_where_nobody_pushes_them() {
    let publisher = Publisher::new(["a"]).unwrap();
    let connection = Connection::stateless(&serve(&publisher, EventQuotas::default()));
    let wanted = EventSubscribe::new(["a"]);
    let events = Subscriber::new().subscribe(connection, wanted).await.unwrap();
    let mut events = events.polled(Duration::from_secs(10));
    assert_eq!(now(&mut events), []);
    (1..=900).for_each(|n| publisher.publish("a", EventSeverity::Info, &data(n)).unwrap());
    assert_eq!(now(&mut events), []);
    let start = Instant::now();
    for n in 1..=900 {
        let Some(EventItem::Event(event)) = events.next().await else { panic!("{n} is missing") };
        assert_eq!((event.seq, event.data), (Some(n), data(n)));
    }
    assert_eq!(start.elapsed().as_secs(), 10, "what there is more of is asked for at once");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_opened_by_listening_is_read_like_any_other() {
    let script = Script::answering([]);
    let answer: EventSubscribed = serde_json::from_str(OURS).unwrap();
    let mut events = script.to.opened(script.clone(), EventSubscribe::new(["a"]), answer);
    script.to.push(numbered(1));
    assert_eq!(now(&mut events), items([numbered(1)]));
    let expected = EventSubscribe::new(["a"]).resuming(SubscriptionId::new("s"), 1);
    assert_eq!(events.resuming(), expected);
}
