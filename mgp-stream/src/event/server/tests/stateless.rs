//! Tests of clients without a session.

use std::sync::Arc;

use mgp_types::mgp::{Event, EventReplayed, EventSubscribe, EventSubscribed};
use mgp_types::{Method, Object, RawJson, Request, code};
use tower_service::Service;

use super::super::feed::EventQuotas;
use super::{Client, arranged, publish, replay, seqs, to_all, unsubscribe, usual};
use crate::doubles::{TestPort, settle};

pub(super) fn listen(wish: &EventSubscribe) -> Request {
    let mut filter = Object::parse(r#"{"toolsListChanged":true}"#).unwrap();
    filter.set(EventSubscribe::LISTEN_MEMBER, RawJson::from_value(wish).unwrap());
    let mut params = Object::new();
    params.set("notifications", filter.to_raw());
    Request::call(Method::LISTEN, params)
}

/// Returns the answer in an acknowledgement, beside the filter that the server honours.
#[track_caller]
fn acknowledged(message: &Request) -> EventSubscribed {
    assert_eq!(message.method, Method::ACKNOWLEDGED);
    let filter = Object::from_raw(&message.params.get("notifications").unwrap()).unwrap();
    assert!(filter.contains("toolsListChanged"));
    filter.get(EventSubscribe::LISTEN_MEMBER).unwrap().to().unwrap()
}

// covers: MGP-13.3-01
#[tokio::test(start_paused = true)]
async fn a_stateless_client_gets_events_on_the_stream_it_listens_to() {
    let (publisher, service) = usual();
    let mut client = Client::stateless(&service);
    let listening = tokio::spawn(client.call(listen(&EventSubscribe::new(["system.*", "x"]))));
    publish(&publisher, 1..=2);
    settle().await;
    publish(&publisher, 3..=3);
    settle().await;
    let mut sent = client.port.take();
    let answer = acknowledged(&sent.remove(0));
    assert_eq!((answer.subscribed, answer.unsupported), (vec!["system.*".to_owned()], vec!["x".to_owned()]));
    let got: Vec<_> = sent.iter().map(|event| event.body::<Event>().unwrap().seq).collect();
    assert_eq!(got, [Some(1), Some(2), Some(3)]);

    listening.abort();
    let _ = listening.await;
    publish(&publisher, 4..=4);
    settle().await;
    assert!(client.port.take().is_empty());
    assert_eq!(Arc::strong_count(&client.port), 1, "nothing holds the stream of a request that ended");

    let wish = EventSubscribe::default().resuming(answer.subscription_id.clone(), 2);
    let again = tokio::spawn(client.call(listen(&wish)));
    settle().await;
    let mut sent = client.port.take();
    let resumed = acknowledged(&sent.remove(0));
    assert_eq!((resumed.subscription_id, resumed.last_seq), (answer.subscription_id, Some(4)));
    assert_eq!(sent.len(), 2);
    again.abort();
}

#[tokio::test(start_paused = true)]
async fn what_is_not_acknowledged_is_not_kept() {
    let (_, service) = arranged(EventQuotas { in_all: 2, ..EventQuotas::default() });
    let mut client = Client::stateless(&service);
    for _ in 0..5 {
        let mut request = listen(&EventSubscribe::new(["*"]));
        request.params.set("refuse", RawJson::null());
        let error = client.call(request).await.unwrap_err();
        assert_eq!(error.code(), code::METHOD_NOT_FOUND);
    }
    to_all(&mut client).await;
    let error = client.call(listen(&EventSubscribe::new(["*"]))).await.unwrap_err();
    assert_eq!(error.code(), code::QUOTA_EXCEEDED);
    assert!(client.port.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_acknowledgement_that_outlives_its_request_begins_nothing() {
    let (publisher, service) = usual();
    let mut client = Client::stateless(&service);
    client.port = TestPort::with_room(0);
    let mut request = listen(&EventSubscribe::new(["*"]));
    request.params.set("late", RawJson::null());
    let listening = tokio::spawn(client.call(request));
    settle().await;
    listening.abort();
    let _ = listening.await;
    client.port.make_room(10);
    publish(&publisher, 1..=3);
    settle().await;
    assert_eq!(client.port.take().len(), 1);
    assert_eq!(Arc::strong_count(&client.port), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stateless_client_can_ask_for_events() {
    let (publisher, service) = usual();
    let mut client = Client::stateless(&service);
    let id = to_all(&mut client).await;
    assert_eq!(replay(&mut client, &id, 0).await.unwrap(), EventReplayed::default());
    publish(&publisher, 1..=3);
    settle().await;
    assert!(client.port.take().is_empty());
    assert_eq!(seqs(&replay(&mut client, &id, 1).await.unwrap()), [2, 3]);
    assert!(unsubscribe(&mut Client::stateless(&service), &id).await, "the name is the proof");
}
