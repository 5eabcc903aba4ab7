//! Subscriptions to events in the words of `subscribe_notify`, in frames.

use std::sync::Arc;

use crate::peer::{Believing, Era, Peer, declaring};
use mgp_server_sdk::mgp::EventSeverity;
use mgp_server_sdk::types::mgp::ActionHint;
use mgp_server_sdk::types::{Gate, RpcService, code};
use mgp_server_sdk::{Object, Publisher, Resource, Server, ServerAccept, ServerHandle, Tool};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const LISTEN: &str = "dev.cloto/mgp/events";

fn open(publisher: &Publisher) -> (ServerAccept<impl RpcService + Sync + Unpin + use<>>, ServerHandle) {
    let server = Server::new("git", "1.0.0")
        .tool(Tool::new("pull", "Pulls."), async || "pulled")
        .resource(Resource::new("test://a", "a"), async || "a")
        .dynamic()
        .layer(Believing.into_layer())
        .events(publisher);
    let handle = server.handle();
    (server.accept().unwrap(), handle)
}

fn publisher() -> Publisher {
    Publisher::new(["commit_to_main", "pr_review_requested"]).unwrap()
}

async fn connect<S: RpcService + Sync + Unpin>(accept: &ServerAccept<S>, era: Era) -> Peer {
    Peer::connect(accept, era, declaring(&["subscribe_notify"]), Arc::new(|_, _| Value::Null)).await
}

/// Subscribes with a way for events; the task is the request that listens, where there are no sessions.
async fn subscribe(peer: &mut Peer, wish: Value) -> (Value, Option<JoinHandle<()>>) {
    if peer.era == Era::Session {
        return (peer.call("mgp/events/subscribe", wish).await.unwrap(), None);
    }
    let listening = peer.start("subscriptions/listen", json!({"notifications": {LISTEN: wish}}));
    let listening = tokio::spawn(async move { drop(listening.await) });
    let (method, acknowledged) = peer.next_notification().await;
    assert_eq!(method, "notifications/subscriptions/acknowledged");
    (acknowledged["notifications"][LISTEN].clone(), Some(listening))
}

fn commit(publisher: &Publisher, repository: &str, number: u64) {
    let data = Object::from_value(&json!({"repository": repository, "number": number})).unwrap();
    publisher.publish("commit_to_main", EventSeverity::Info, &data).unwrap();
}

async fn event(peer: &mut Peer) -> Value {
    let (method, event) = peer.next_notification().await;
    assert_eq!(method, "notifications/mgp.event", "{event}");
    event
}

fn wish() -> Value {
    json!({"subscription_id": "sub-git-main-commits", "events": ["commit_to_main"],
           "filter": {"repository": "frontend-app"}, "ttl_seconds": 3600})
}

// covers: EXT-15-01, EXT-15-02, EXT-15-03, EXT-15-05
#[tokio::test]
async fn the_wanted_events_come_under_the_chosen_id_and_no_other() {
    for era in Era::BOTH {
        let publisher = publisher();
        let (accept, _) = open(&publisher);
        let mut peer = connect(&accept, era).await;
        // Without sessions and without a name, an id that can be guessed would be worth nothing.
        let mut asked = wish();
        if era == Era::Stateless {
            asked.as_object_mut().unwrap().remove("subscription_id");
        }
        let (answer, _listening) = subscribe(&mut peer, asked).await;
        assert_eq!((&answer["status"], &answer["supported"]), (&json!("active"), &json!(true)), "{answer}");
        assert_eq!(answer["supported_events"], json!(["commit_to_main", "pr_review_requested"]));
        assert!(answer["expires_at"].as_str().unwrap().ends_with('Z'));
        if era == Era::Session {
            assert_eq!(answer["subscription_id"], "sub-git-main-commits");
        }
        commit(&publisher, "backend", 1);
        publisher.publish("pr_review_requested", EventSeverity::Info, &Object::new()).unwrap();
        let hint = ActionHint { recommended_tool: Some("pull".into()), ..ActionHint::default() };
        let data = Object::from_value(&json!({"repository": "frontend-app", "number": 2})).unwrap();
        publisher.publish_with_hint("commit_to_main", EventSeverity::Info, &data, &hint).unwrap();
        let event = event(&mut peer).await;
        assert_eq!((&event["type"], &event["event"]), (&json!("event"), &json!("commit_to_main")));
        assert_eq!(event["subscription_id"], answer["subscription_id"]);
        assert_eq!(event["payload"], json!({"repository": "frontend-app", "number": 2}));
        assert_eq!((&event["data"], &event["channel"]), (&event["payload"], &event["event"]));
        assert_eq!(event["action_hint"], json!({"recommended_tool": "pull"}));
        assert_eq!(event["seq"], 1, "what is not wanted has no number");
    }
}

// covers: EXT-15-02
#[tokio::test]
async fn what_there_is_not_is_denied_and_a_used_id_is_refused() {
    let publisher = publisher();
    let (accept, _) = open(&publisher);
    let mut peer = connect(&accept, Era::Session).await;
    let denied = peer.call("mgp/events/subscribe", json!({"events": ["moon_rise"]})).await.unwrap();
    assert_eq!(denied["status"], "denied");
    assert!(denied["reason"].as_str().unwrap().contains("supported_events"), "{denied}");
    assert_eq!(denied["supported_events"], json!(["commit_to_main", "pr_review_requested"]));
    subscribe(&mut peer, wish()).await;
    let taken = peer.call("mgp/events/subscribe", wish()).await.unwrap_err();
    assert!(taken.message().contains("choose another id"), "{taken}");
    let mut other = connect(&accept, Era::Session).await;
    let (answer, _) = subscribe(&mut other, wish()).await;
    assert_eq!(answer["status"], "active", "another client may choose the same id");
}

// covers: EXT-15-07, EXT-15-08
#[tokio::test]
async fn events_are_numbered_in_order_and_what_is_lost_is_marked() {
    for era in Era::BOTH {
        let publisher = publisher();
        let (accept, _) = open(&publisher);
        let mut peer = connect(&accept, era).await;
        let (_, _listening) = subscribe(&mut peer, json!({"events": ["commit_to_main"]})).await;
        for number in 1..=3 {
            commit(&publisher, "frontend-app", number);
        }
        for number in 1..=3 {
            let event = event(&mut peer).await;
            assert_eq!((&event["seq"], &event["payload"]["number"]), (&json!(number), &json!(number)));
            assert_eq!(event.get("gap"), None, "{event}");
        }
        // Nothing is sent while this test does not wait, and a thousand are kept.
        for number in 4..=1008 {
            commit(&publisher, "frontend-app", number);
        }
        let after = event(&mut peer).await;
        assert_eq!((&after["seq"], &after["gap"]), (&json!(9), &json!(true)), "{after}");
        let next = event(&mut peer).await;
        assert_eq!((&next["seq"], next.get("gap")), (&json!(10), None));
    }
}

// covers: EXT-15-09
#[tokio::test]
async fn a_client_that_nothing_is_pushed_to_polls_the_same_events() {
    let publisher = publisher();
    let (accept, _) = open(&publisher);
    let mut pushed = connect(&accept, Era::Session).await;
    subscribe(&mut pushed, wish()).await;
    let mut polling = connect(&accept, Era::Stateless).await;
    let answer = polling.call("mgp/events/subscribe", wish()).await.unwrap();
    assert_eq!((&answer["supported"], &answer["poll_interval_seconds"]), (&json!(false), &json!(30)));
    let mut cursor = 0;
    for number in 1..=3 {
        commit(&publisher, "backend", number);
        commit(&publisher, "frontend-app", number);
        let expected = event(&mut pushed).await;
        let asked = json!({"subscription_id": answer["subscription_id"], "after_seq": cursor});
        let polled = polling.call(answer["poll_method"].as_str().unwrap(), asked).await.unwrap();
        let events = polled["events"].as_array().unwrap();
        assert_eq!(events.len(), 1, "{polled}");
        for member in ["type", "event", "payload", "seq", "timestamp"] {
            assert_eq!(events[0][member], expected[member], "{member}");
        }
        cursor = events[0]["seq"].as_u64().unwrap();
    }
}

/// The params of a request of `who`.
fn by(who: &str, mut params: Value) -> Value {
    params["_meta"] = json!({"who": who});
    params
}

// covers: EXT-15-10
#[tokio::test]
async fn an_id_proves_nothing() {
    for era in Era::BOTH {
        let publisher = publisher();
        let (accept, _) = open(&publisher);
        let mut peer = connect(&accept, era).await;
        peer.call("mgp/events/subscribe", by("alice", wish())).await.unwrap();
        commit(&publisher, "frontend-app", 1);
        if era == Era::Session {
            event(&mut peer).await;
        }
        let id = json!({"subscription_id": "sub-git-main-commits"});
        let refused = peer.call("mgp/events/replay", by("mallory", id.clone())).await.unwrap_err();
        assert!(refused.message().contains("no such subscription"), "{refused}");
        let ended = peer.call("mgp/events/unsubscribe", by("mallory", id.clone())).await.unwrap();
        assert_eq!(ended["unsubscribed"], false);
        let taken_over = json!({"subscription_id": id["subscription_id"], "events": ["*"], "after_seq": 0});
        assert!(peer.call("mgp/events/subscribe", by("mallory", taken_over)).await.is_err());
        let own = peer.call("mgp/events/replay", by("alice", id.clone())).await.unwrap();
        assert_eq!(own["events"][0]["payload"]["number"], 1, "{own}");
        // Ids that the server makes up cannot be guessed.
        let made = json!({"events": ["commit_to_main"]});
        let made = peer.call("mgp/events/subscribe", by("alice", made)).await.unwrap();
        assert!(made["subscription_id"].as_str().unwrap().len() >= 36, "{made}");
    }
}

// covers: EXT-15-11
#[tokio::test]
async fn a_client_lists_and_changes_its_own_subscriptions_and_finds_what_there_is() {
    for era in Era::BOTH {
        let publisher = publisher();
        let (accept, _) = open(&publisher);
        let mut peer = connect(&accept, era).await;
        peer.call("mgp/events/subscribe", by("alice", wish())).await.unwrap();
        let list = peer.call("mgp/events/list", by("alice", json!({}))).await.unwrap();
        let own = list["subscriptions"].as_array().unwrap();
        assert_eq!((own.len(), &own[0]["subscription_id"]), (1, &wish()["subscription_id"]), "{list}");
        assert_eq!(own[0]["events"], json!(["commit_to_main"]));
        assert!(own[0]["expires_at"].is_string());
        // It is changed by ending it, and opening another under the same id.
        let id = json!({"subscription_id": "sub-git-main-commits"});
        let ended = peer.call("mgp/events/unsubscribe", by("alice", id.clone())).await.unwrap();
        assert_eq!(ended["unsubscribed"], true);
        let mut other = wish();
        other["events"] = json!(["pr_*", "pr_review_requested"]);
        let changed = peer.call("mgp/events/subscribe", by("alice", other)).await.unwrap();
        assert_eq!(changed["subscription_id"], id["subscription_id"], "{changed}");
        let list = peer.call("mgp/events/list", by("alice", json!({}))).await.unwrap();
        let own = list["subscriptions"].as_array().unwrap();
        assert_eq!((own.len(), &own[0]["events"]), (1, &changed["subscribed"]), "{list}");
        commit(&publisher, "frontend-app", 1);
        let none = peer.call("mgp/events/replay", by("alice", id)).await.unwrap();
        assert_eq!(none["events"], json!([]), "what was wanted before does not come");
        let list = peer.call("mgp/events/list", by("mallory", json!({}))).await.unwrap();
        assert_eq!(list["subscriptions"], json!([]));
        assert_eq!(list["supported_events"], json!(["commit_to_main", "pr_review_requested"]));
    }
}

// covers: EXT-15-12
#[tokio::test]
async fn subscriptions_to_events_and_to_resources_go_together() {
    let publisher = publisher();
    let (accept, handle) = open(&publisher);
    let mut peer = connect(&accept, Era::Session).await;
    subscribe(&mut peer, wish()).await;
    peer.call("resources/subscribe", json!({"uri": "test://a"})).await.unwrap();
    handle.resource_updated("test://a");
    assert_eq!(peer.next_notification().await.0, "notifications/resources/updated");
    commit(&publisher, "frontend-app", 1);
    event(&mut peer).await;

    let mut peer = connect(&accept, Era::Stateless).await;
    let asked = json!({"notifications": {
        LISTEN: {"events": ["commit_to_main"]}, "resourceSubscriptions": ["test://a"],
    }});
    let _listening = peer.start("subscriptions/listen", asked);
    let (_, acknowledged) = peer.next_notification().await;
    assert_eq!(acknowledged["notifications"][LISTEN]["status"], "active", "{acknowledged}");
    assert_eq!(acknowledged["notifications"]["resourceSubscriptions"], json!(["test://a"]));
    handle.resource_updated("test://a");
    assert_eq!(peer.next_notification().await.0, "notifications/resources/updated");
    commit(&publisher, "frontend-app", 2);
    event(&mut peer).await;
}

#[tokio::test]
async fn a_client_that_does_not_declare_the_extension_has_no_part_of_it() {
    for era in Era::BOTH {
        let publisher = publisher();
        let (accept, _) = open(&publisher);
        let mut peer = Peer::connect(&accept, era, json!({}), Arc::new(|_, _| Value::Null)).await;
        for method in ["mgp/events/subscribe", "mgp/events/list"] {
            let error = peer.call(method, wish()).await.unwrap_err();
            assert_eq!(error.code(), code::METHOD_NOT_FOUND, "{method}");
        }
    }
}
