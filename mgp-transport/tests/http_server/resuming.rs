//! Streams that are lost and found again.

use std::time::Duration;

use http::StatusCode;
use mgp_transport::http::HttpConfig;
use mgp_types::{Object, Request};

use crate::peer::{Ask, peer, peer_with, settle};

#[tokio::test(start_paused = true)]
async fn a_closed_stream_is_resumed_where_it_ended() {
    let peer = peer_with(HttpConfig::default().retry(Duration::from_millis(500)));
    let session = peer.open("2025-11-25").await;
    let mut answer = peer.send(Ask::call(&session, 1, "tools/call", r#"{"name":"close"}"#)).await;
    let primer = answer.event().await.unwrap();
    assert_eq!((primer.data.as_str(), primer.retry.as_str()), ("", "500"));
    assert_eq!(answer.event().await, None);
    drop(answer);
    let mut again = peer.send(Ask::get(&session).with("last-event-id", &primer.id)).await;
    settle().await;
    peer.world.gate.add_permits(1);
    let last = again.event().await.unwrap();
    assert!(last.data.contains(r#""id":1,"result":{"done":true}"#));
    assert_eq!(again.event().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_lost_result_is_replayed() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    let mut answer = peer.send(Ask::call(&session, 1, "tools/call", r#"{"name":"notify then wait"}"#)).await;
    let primer = answer.event().await.unwrap();
    drop(answer);
    peer.world.gate.add_permits(1);
    settle().await;
    for _ in 0..2 {
        let mut again = peer.send(Ask::get(&session).with("last-event-id", &primer.id)).await;
        assert_eq!(again.data().await["params"]["progress"], 1);
        let second = again.event().await.unwrap();
        let stream_of = |id: &str| id.split_once('-').unwrap().0.to_owned();
        assert_eq!(stream_of(&second.id), stream_of(&primer.id));
        assert_eq!(again.data().await["id"], 1);
        assert_eq!(again.event().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn only_its_own_stream_is_replayed() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    let mut one = peer.send(Ask::call(&session, 1, "tools/call", r#"{"name":"notify"}"#)).await;
    let mut two = peer.send(Ask::call(&session, 2, "tools/call", r#"{"name":"notify"}"#)).await;
    let (first, second) = (one.event().await.unwrap().id, two.event().await.unwrap().id);
    assert_ne!(first, second);
    let mut again = peer.send(Ask::get(&session).with("last-event-id", &first)).await;
    again.event().await.unwrap();
    assert_eq!(again.data().await["id"], 1);
    assert_eq!(again.event().await, None);
}

#[tokio::test(start_paused = true)]
async fn the_standalone_stream_is_resumed() {
    let peer = peer();
    let session = peer.open("2025-06-18").await;
    let outbox = peer.world.outbox.lock().clone();
    let mut stream = peer.send(Ask::get(&session)).await;
    for name in ["notifications/a", "notifications/b", "notifications/c"] {
        outbox.notify(Request::notify(name, Object::new())).await.unwrap();
    }
    let first = stream.event().await.unwrap().id;
    stream.event().await.unwrap();
    drop(stream);
    let mut again = peer.send(Ask::get(&session).with("last-event-id", &first)).await;
    assert_eq!(again.data().await["method"], "notifications/b");
    assert_eq!(again.data().await["method"], "notifications/c");
}

#[tokio::test(start_paused = true)]
async fn what_was_dropped_cannot_be_resumed() {
    let peer = peer_with(HttpConfig::default().replay(2, 1 << 20));
    let session = peer.open("2025-06-18").await;
    let outbox = peer.world.outbox.lock().clone();
    let mut stream = peer.send(Ask::get(&session)).await;
    outbox.notify(Request::notify("notifications/0", Object::new())).await.unwrap();
    let first = stream.event().await.unwrap().id;
    drop(stream);
    for number in 1..9 {
        let name = format!("notifications/{number}");
        outbox.notify(Request::notify(name.as_str(), Object::new())).await.unwrap();
    }
    let resume = |id: &str| Ask::get(&session).with("last-event-id", id);
    assert_eq!(peer.refusal(resume(&first)).await, (400, -32600));
    for unknown in ["0-99", "7-0", "x", "", "-1-2", "0-+1", "99999999999999999999-1"] {
        assert_eq!(peer.refusal(resume(unknown)).await, (400, -32600), "{unknown}");
    }
    let mut fresh = peer.send(Ask::get(&session)).await;
    assert_eq!(fresh.data().await["method"], "notifications/7");
    assert_eq!(fresh.data().await["method"], "notifications/8");
}

#[tokio::test(start_paused = true)]
async fn finished_streams_are_kept_for_a_while() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    let mut answer = peer.send(Ask::call(&session, 1, "tools/call", r#"{"name":"notify"}"#)).await;
    let first = answer.event().await.unwrap().id;
    while answer.event().await.is_some() {}
    drop(answer);
    let resume = || Ask::get(&session).with("last-event-id", &first);
    assert_eq!(peer.send(resume()).await.status, StatusCode::OK);
    tokio::time::sleep(Duration::from_mins(7)).await;
    assert_eq!(peer.refusal(resume()).await, (400, -32600));
}

#[tokio::test]
async fn older_revisions_get_no_empty_events() {
    for revision in ["2025-03-26", "2025-06-18"] {
        let peer = peer();
        let session = peer.open(revision).await;
        let mut answer = peer.send(Ask::call(&session, 1, "tools/call", r#"{"name":"notify"}"#)).await;
        let first = answer.event().await.unwrap();
        assert!(
            first.data.contains("notifications/progress") && !first.id.is_empty() && first.retry.is_empty()
        );
    }
}
