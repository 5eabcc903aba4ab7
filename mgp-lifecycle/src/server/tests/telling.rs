//! Tests of notifications about changes.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{Extension, ShutdownReason, Timestamp};
use mgp_types::{Object, Request, Revision, Session};
use tokio::time::Instant;

use super::{LifecycleService, ask, begin, changes_of, reaching, session_with, started, tool};
use crate::doubles::{Caller, Upstream, millis};
use crate::server::DrainOutcome;

/// Opens the session.
async fn open(service: &LifecycleService<Upstream>, session: &Arc<Session>) {
    let mut initialized = Request::notify("notifications/initialized", Object::new());
    initialized.context.session = Some(session.clone());
    ask(service, initialized).await.unwrap();
}

// covers: MGP-11.4-13..18
#[tokio::test(start_paused = true)]
async fn every_session_with_lifecycle_is_told_of_every_change() {
    let (life, server, service) = started();
    let peers: Vec<Arc<Caller>> = (0..3).map(|_| Arc::default()).collect();
    let sessions: Vec<_> = peers.iter().map(reaching).collect();
    for session in &sessions {
        open(&service, session).await;
    }
    assert_eq!(server.methods(), ["notifications/initialized"; 3], "the server is told as well");
    life.failed("the disk is gone").unwrap();
    life.restarting("a new disk").unwrap();
    life.ready().unwrap();
    let _never = begin(&service, tool(&sessions[0], "never")).await;
    life.shutdown(ShutdownReason::IdleTimeout, millis(100)).await;
    for peer in &peers {
        let expected = [
            "connected > error because the disk is gone",
            "error > restarting because a new disk",
            "restarting > connected because ",
            "connected > draining because idle_timeout",
            "draining > disconnected because idle_timeout",
        ];
        assert_eq!(changes_of(peer), expected, "and in their order, before the transport is closed");
        let params = &peer.got()[0].1.params;
        let now = Timestamp::now();
        let timestamp: Timestamp = params.get("timestamp").unwrap().to().unwrap();
        assert!(now.since(timestamp) < Duration::from_mins(1) && timestamp <= now);
    }
}

#[tokio::test(start_paused = true)]
async fn who_did_not_negotiate_lifecycle_is_told_nothing() {
    let (life, _, service) = started();
    let peer: Arc<Caller> = Arc::default();
    let outbox = peer.standalone();
    let mut unnegotiated = Session::new(Revision::V2025_11_25);
    unnegotiated.outbox = outbox.clone();
    let unnegotiated = Arc::new(unnegotiated);
    let audit = session_with(&[Extension::Audit], outbox);
    for session in [&unnegotiated, &audit] {
        open(&service, session).await;
        ask(&service, tool(session, "now")).await.unwrap();
    }
    life.shutdown(ShutdownReason::IdleTimeout, millis(100)).await;
    assert!(peer.got().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_session_is_told_once_and_forgotten_when_it_is_over() {
    let (life, _, service) = started();
    let (stays, goes): (Arc<Caller>, Arc<Caller>) = Default::default();
    let session = reaching(&stays);
    open(&service, &session).await;
    open(&service, &session).await;
    let over = reaching(&goes);
    open(&service, &over).await;
    drop(over);
    life.shutdown(ShutdownReason::OperatorRequest, millis(100)).await;
    assert_eq!(changes_of(&stays).len(), 2);
    assert!(changes_of(&goes).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stateless_peer_that_can_be_reached_is_told_from_its_first_request() {
    let (life, _, service) = started();
    let peer: Arc<Caller> = Arc::default();
    let mut session = Session::new(Revision::V2026_07_28);
    session.mgp = reaching(&peer).mgp.clone();
    session.outbox = peer.standalone();
    let session = Arc::new(session);
    for _ in 0..3 {
        ask(&service, tool(&session, "now")).await.unwrap();
    }
    life.shutdown(ShutdownReason::OperatorRequest, millis(100)).await;
    assert_eq!(changes_of(&peer).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn peers_that_do_not_read_hold_up_neither_the_others_nor_the_end() {
    let (life, _, service) = started();
    let stuck: Vec<_> = (0..50).map(|_| Arc::new(Caller::stuck())).collect();
    let reads: Arc<Caller> = Arc::default();
    let sessions: Vec<_> = stuck.iter().chain([&reads]).map(reaching).collect();
    for session in &sessions {
        open(&service, session).await;
    }
    let asked = Instant::now();
    assert_eq!(life.shutdown(ShutdownReason::OperatorRequest, millis(0)).await, DrainOutcome::Finished);
    assert!(asked.elapsed() <= millis(1000), "{:?}", asked.elapsed());
    assert_eq!(changes_of(&reads).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn more_sessions_than_there_is_room_for_are_not_told() {
    let (life, _, service) = started();
    let peer: Arc<Caller> = Arc::default();
    for _ in 0..5000 {
        open(&service, &reaching(&peer)).await;
    }
    let sessions: Vec<_> = (0..1100).map(|_| reaching(&peer)).collect();
    for session in &sessions {
        open(&service, session).await;
    }
    life.failed("x").unwrap();
    tokio::time::sleep(millis(1)).await;
    assert_eq!(changes_of(&peer).len(), 1024, "those that are over take no room");
}
