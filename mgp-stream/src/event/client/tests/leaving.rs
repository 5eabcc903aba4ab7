//! Tests of streams that are dropped.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{Event, EventSubscribe, EventSubscribed, SubscriptionId, method};
use mgp_types::{Method, Object, Request, Revision, Session};

use super::super::{Events, Subscriber};
use super::{OURS, Script, event, now, numbered, subscribed};
use crate::doubles::{TestPort, session, settle, text};

/// Returns a session whose outbox is `port`.
fn through(port: &Arc<TestPort>) -> Arc<Session> {
    let mut session = session(Revision::V2025_11_25, &["events"]);
    session.outbox = port.outbox();
    Arc::new(session)
}

fn notified(session: &Arc<Session>, event: &Event) -> Request {
    let mut request = Request::notify(Method::EVENT, Object::from_value(event).unwrap());
    request.context.session = Some(session.clone());
    request
}

fn ended(port: &TestPort) -> Vec<String> {
    let line = |request: &Request| {
        assert_eq!(request.method, *method::EVENTS_UNSUBSCRIBE);
        text(&request.params.to_raw())
    };
    port.called.lock().iter().map(line).collect()
}

// covers: MGP-13.2-07
#[tokio::test(start_paused = true)]
async fn a_server_that_sends_to_nobody_is_told_once_to_stop() {
    let (script, port) = (Script::answering([Ok(OURS)]), TestPort::answering(r#"{"unsubscribed":true}"#));
    let (events, session) = (subscribed(&script).await, through(&port));
    script.to.receive(&notified(&session, &numbered(1)));
    script.to.receive(&notified(&session, &event("other", 1)));
    drop(events);
    settle().await;
    assert!(ended(&port).is_empty(), "its subscription may go on elsewhere");
    for seq in 2..9 {
        script.to.receive(&notified(&session, &numbered(seq)));
    }
    settle().await;
    assert_eq!(ended(&port), [r#"{"subscription_id":"s"}"#]);
    assert_eq!(Arc::strong_count(&session), 1, "nothing holds the session");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_read_again_or_was_ended_is_not_ended() {
    let port = TestPort::answering("{}");
    let session = through(&port);
    let script = Script::answering([Ok(OURS), Ok(OURS), Ok("{}")]);
    drop(subscribed(&script).await);
    let again: Events<Script> = subscribed(&script).await;
    script.to.receive(&notified(&session, &numbered(1)));
    assert!(again.unsubscribe().await.unwrap());
    script.to.receive(&notified(&session, &numbered(2)));
    settle().await;
    assert!(ended(&port).is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_subscriber_ends_what_it_does_and_a_deaf_server_is_not_waited_for() {
    let port = TestPort::new();
    let session = through(&port);
    for is_dropped in [true, false] {
        let subscriber = Subscriber::new();
        let answer: EventSubscribed = serde_json::from_str(OURS).unwrap();
        drop(subscriber.opened(Script::default(), EventSubscribe::new(["a"]), answer));
        subscriber.receive(&notified(&session, &numbered(1)));
        settle().await;
        assert_eq!(Arc::strong_count(&session), 2);
        if is_dropped {
            drop(subscriber);
            settle().await;
        } else {
            tokio::time::sleep(Duration::from_secs(11)).await;
        }
        assert_eq!(Arc::strong_count(&session), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn early_events_take_no_more_room_than_there_is_whatever_they_are_called() {
    let subscriber = Subscriber::new();
    let _expecting = subscriber.expecting();
    for (name, kept) in [("s".to_owned(), 256), ("t".repeat(300 << 10), 3)] {
        for n in 0..300 {
            subscriber.push(event(&name, n));
        }
        let answer = EventSubscribed::new(SubscriptionId::new(name));
        let mut events = subscriber.opened(Script::default(), EventSubscribe::new(["a"]), answer);
        assert_eq!(now(&mut events).len(), kept);
    }
}
