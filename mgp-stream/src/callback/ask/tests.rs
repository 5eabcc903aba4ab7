//! Tests of the relay of callbacks.

use std::sync::Arc;

use mgp_types::mgp::{CallbackAnswer, CallbackType};
use mgp_types::{Object, Outbox, Principal, Revision, Session, code};

use super::*;
use crate::callback::question::USUAL_WAIT;

fn front(principal: &str) -> Context {
    let mut context = Context::default();
    context.principal = Some(Principal::new(principal));
    context.session = Some(Arc::new(Session::new(Revision::V2025_11_25)));
    context.outbox = Outbox::on(StreamId::fresh());
    context
}

fn asks(id: &str) -> Params {
    CallbackRequest::new(id, CallbackType::Input, "Who?").to_params()
}

fn answers(id: &str) -> Params {
    let mut params = Object::parse(r#"{"callback_id":"","response":{"a":1},"x":2}"#).unwrap();
    params.set(ID, RawJson::from_text(id));
    params
}

fn id_of(params: &Params) -> String {
    params.text(ID).unwrap().into_owned()
}

fn server(name: &str) -> ServerId {
    ServerId::from(name)
}

/// I-8: a kernel that knew callbacks by their id alone dropped the callback of the second server.
#[tokio::test(start_paused = true)]
async fn callbacks_of_two_servers_with_one_id_are_two() {
    let (mut relay, now, client) = (CallbackRelay::new(), Instant::now(), front("a"));
    let one = id_of(&relay.pass_on(&server("one"), &client, &asks("cb-001"), now).unwrap());
    let two = id_of(&relay.pass_on(&server("two"), &client, &asks("cb-001"), now).unwrap());
    assert_ne!(one, two);
    for (ours, name) in [(&two, "two"), (&one, "one")] {
        let routed = relay.route(&client, &answers(ours), now).unwrap();
        assert_eq!(routed.server, server(name));
        let expected = r#"{"callback_id":"cb-001","response":{"a":1},"x":2}"#;
        assert_eq!(routed.params.to_raw().as_bytes(), expected.as_bytes());
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_callback_keeps_its_name_and_only_its_name_changes() {
    let (mut relay, now, client) = (CallbackRelay::new(), Instant::now(), front("a"));
    let json = r#"{"callback_id":"cb","request_id":20,"type":"llm_completion","messages":[1]}"#;
    let theirs = Object::parse(json).unwrap();
    let first = relay.pass_on(&server("s"), &client, &theirs, now).unwrap();
    let again = relay.pass_on(&server("s"), &client, &theirs, now).unwrap();
    assert_eq!(first, again);
    let ours = id_of(&first);
    let expected = format!(r#"{{"callback_id":"{ours}","type":"llm_completion","messages":[1]}}"#);
    assert_eq!(first.to_raw().as_bytes(), expected.as_bytes());

    let other_call = front("a");
    assert_ne!(id_of(&relay.pass_on(&server("s"), &other_call, &theirs, now).unwrap()), ours);
}

#[tokio::test(start_paused = true)]
async fn only_who_was_asked_can_answer() {
    let (mut relay, now, client) = (CallbackRelay::new(), Instant::now(), front("a"));
    let ours = id_of(&relay.pass_on(&server("s"), &client, &asks("cb"), now).unwrap());
    let mut same_principal = front("a");
    assert!(relay.route(&same_principal, &answers(&ours), now).is_none(), "another session");
    same_principal.session.clone_from(&client.session);
    same_principal.principal = Some(Principal::new("b"));
    assert!(relay.route(&same_principal, &answers(&ours), now).is_none(), "another principal");
    assert!(relay.route(&client, &answers("cb"), now).is_none(), "the server's own id");
    assert!(relay.route(&client, &answers(&ours), now).is_some());
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_come_again_until_its_time_is_over() {
    let (mut relay, now, client) = (CallbackRelay::new(), Instant::now(), front("a"));
    let ours = id_of(&relay.pass_on(&server("s"), &client, &asks("cb"), now).unwrap());
    let last = now + USUAL_WAIT + MEMORY - Duration::from_millis(1);
    assert!(relay.route(&client, &answers(&ours), now).is_some());
    assert!(relay.route(&client, &answers(&ours), last).is_some());
    assert!(relay.route(&client, &answers(&ours), last + Duration::from_millis(1)).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_server_has_its_own_room_and_answered_callbacks_make_more() {
    let (mut relay, now, client) = (CallbackRelay::new(), Instant::now(), front("a"));
    let mut ours = Vec::new();
    for number in 0..MAX_OF_SERVER {
        let params = relay.pass_on(&server("s"), &client, &asks(&number.to_string()), now).unwrap();
        ours.push(id_of(&params));
    }
    let refused = relay.pass_on(&server("s"), &client, &asks("x"), now).unwrap_err();
    assert_eq!(refused.code(), code::RESOURCE_EXHAUSTED);
    relay.pass_on(&server("other"), &client, &asks("x"), now).unwrap();
    relay.route(&client, &answers(&ours[7]), now).unwrap();
    relay.pass_on(&server("s"), &client, &asks("x"), now).unwrap();
    assert!(relay.route(&client, &answers(&ours[7]), now).is_none());
    assert!(relay.route(&client, &answers(&ours[8]), now).is_some());
}

#[tokio::test(start_paused = true)]
async fn what_is_over_is_forgotten() {
    let (mut relay, now) = (CallbackRelay::new(), Instant::now());
    let clients = [front("a"), front("b"), front("c")];
    let ours = ["s", "t", "s"]
        .iter()
        .zip(&clients)
        .map(|(name, client)| id_of(&relay.pass_on(&server(name), client, &asks("cb"), now).unwrap()));
    let ours: Vec<_> = ours.collect();
    let streams = clients.each_ref().map(|client| client.outbox.stream());
    assert!(relay.waits(streams[0], &server("s")) && !relay.waits(streams[0], &server("t")));
    relay.end_of_call(streams[0]);
    relay.end_of_call(streams[1]);
    assert!(!relay.waits(streams[0], &server("s")));
    let known =
        clients.iter().zip(&ours).map(|(client, ours)| relay.route(client, &answers(ours), now).is_some());
    assert_eq!(known.collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(relay.passed.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_asked_is_refused() {
    let (mut relay, now, client) = (CallbackRelay::new(), Instant::now(), front("a"));
    let nameless = relay.pass_on(&server("s"), &client, &Object::new(), now).unwrap_err();
    assert_eq!(nameless.code(), code::INVALID_PARAMS);
    let mut over = client;
    over.outbox = Outbox::CLOSED;
    let refused = relay.pass_on(&server("s"), &over, &asks("cb"), now).unwrap_err();
    assert_eq!(refused.code(), code::INVALID_REQUEST);
    let ack: CallbackAnswer = serde_json::from_str(r#"{"callback_id":"a","accepted":false}"#).unwrap();
    assert_eq!(ack, CallbackAnswer::new("a", false));
}
