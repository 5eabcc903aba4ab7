//! The remains of a client that goes away.

use std::sync::atomic::Ordering;

use crate::peer::{Ask, initialize, peer, settle};

#[tokio::test(start_paused = true)]
async fn without_a_session_it_cancels_the_call_2026() {
    for tool in ["wait", "notify then wait"] {
        let peer = peer();
        {
            let pending = peer.send(Ask::tool(tool));
            tokio::pin!(pending);
            let answer = tokio::time::timeout(std::time::Duration::from_secs(1), pending).await;
            assert_eq!(answer.is_ok(), tool != "wait");
        }
        settle().await;
        assert_eq!(peer.world.dropped.load(Ordering::SeqCst), 1, "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_session_the_call_goes_on_2025() {
    for tool in ["wait", "notify then wait"] {
        let peer = peer();
        let session = peer.open("2025-11-25").await;
        {
            let pending = peer.send(Ask::call(&session, 1, "tools/call", &format!(r#"{{"name":"{tool}"}}"#)));
            tokio::pin!(pending);
            let answer = tokio::time::timeout(std::time::Duration::from_secs(1), pending).await;
            assert_eq!(answer.is_ok(), tool != "wait");
        }
        settle().await;
        assert_eq!(peer.world.dropped.load(Ordering::SeqCst), 0, "{tool}");
        assert_eq!(peer.refusal(Ask::call(&session, 1, "tools/list", "{}")).await, (400, -32600), "{tool}");
        peer.world.gate.add_permits(1);
        settle().await;
        assert_eq!(peer.world.dropped.load(Ordering::SeqCst), 0, "{tool}");
        assert_eq!(peer.refusal(Ask::call(&session, 1, "tools/list", "{}")).await, (200, 0), "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_goes_on_ends_with_the_server() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    drop(peer.send(Ask::call(&session, 1, "tools/call", r#"{"name":"notify then wait"}"#)).await);
    settle().await;
    let world = peer.world.clone();
    drop(peer);
    settle().await;
    assert_eq!(world.dropped.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_not_polled_again_leaves_nothing() {
    let peer = peer();
    drop(peer.routes.handle(initialize("2025-11-25").0.map(http_body_util::Full::new)));
    settle().await;
    assert_eq!(peer.world.started.load(Ordering::SeqCst), 0);
}
