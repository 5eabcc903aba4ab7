//! The limits on the cost of a peer.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use mgp_transport::http::HttpConfig;
use mgp_transport::{Accept, ConnectionLimits};

use crate::peer::{Ask, Peer, initialize, peer, peer_with, settle};
use crate::stack::chunk;

/// A body in chunks that says nothing about its length, and may never end.
struct Chunks {
    chunks: VecDeque<Bytes>,
    ends: bool,
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.chunks.pop_front() {
            Some(chunk) => Poll::Ready(Some(Ok(Frame::data(chunk)))),
            None if self.ends => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

fn chunked(bytes: &Bytes, size: usize, ends: bool) -> Chunks {
    Chunks { chunks: bytes.chunks(size).map(Bytes::copy_from_slice).collect(), ends }
}

fn limits() -> ConnectionLimits {
    ConnectionLimits::default()
}

#[tokio::test(start_paused = true)]
async fn a_body_may_come_in_pieces_and_neither_be_too_long_nor_too_slow() {
    let whole = Ask::tool("x").0.into_body();
    let endless = Bytes::from(vec![b' '; 2000]);
    for (case, max_bytes, body, ends, expected) in [
        ("in pieces", 1000, &whole, true, StatusCode::OK),
        ("too long", 100, &whole, true, StatusCode::PAYLOAD_TOO_LARGE),
        ("without end, read no further than the limit", 100, &endless, false, StatusCode::PAYLOAD_TOO_LARGE),
        ("slow", 1000, &whole, false, StatusCode::REQUEST_TIMEOUT),
    ] {
        let mut limits = limits();
        (limits.max_frame_bytes, limits.max_skipped_bytes) = (max_bytes, 1000);
        let peer = peer_with(HttpConfig::default().limits(limits));
        let request = Ask::tool("x").0.map(|_| chunked(body, 7, ends));
        assert_eq!(peer.routes.handle(request).await.unwrap().status(), expected, "{case}");
        if ends {
            assert_eq!(peer.send(Ask::tool("x")).await.status, expected, "{case}, as a whole");
        }
    }
}

#[tokio::test]
async fn too_many_sessions_are_refused() {
    let peer = peer_with(HttpConfig::default().max_sessions(2));
    let first = peer.open("2025-11-25").await;
    peer.open("2025-11-25").await;
    assert_eq!(peer.refusal(initialize("2025-11-25")).await, (503, 3001));
    peer.send(Ask::delete(&first)).await;
    peer.open("2025-11-25").await;
}

#[tokio::test]
async fn one_client_takes_no_session_from_others() {
    let config = HttpConfig::default().max_sessions(5).max_sessions_per_principal(2);
    let counted = config.clone();
    let peer = peer_with(config);
    let by = |agent: &str, ask: Ask| ask.by(agent);
    let opened = peer.send(by("agent.bad", initialize("2025-11-25"))).await;
    let first = opened.headers["mcp-session-id"].to_str().unwrap().to_owned();
    assert_eq!(peer.send(by("agent.bad", initialize("2025-11-25"))).await.status, 200);
    assert_eq!(peer.refusal(by("agent.bad", initialize("2025-11-25"))).await, (503, 3001));
    assert_eq!(peer.send(by("agent.good", initialize("2025-11-25"))).await.status, 200);
    assert_eq!(counted.open_sessions(), 3);
    peer.send(by("agent.bad", Ask::delete(&first))).await;
    assert_eq!(peer.send(by("agent.bad", initialize("2025-11-25"))).await.status, 200);
    assert_eq!(counted.open_sessions(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_beside_one_in_work_is_refused_if_it_is_too_many_or_takes_its_id() {
    for (max_in_flight, id, expected) in [(1, 2, (429, 3001)), (9, 1, (400, -32600))] {
        let mut limits = limits();
        limits.max_in_flight = max_in_flight;
        let peer = peer_with(HttpConfig::default().limits(limits));
        let session = peer.open("2025-11-25").await;
        let call = peer.send(Ask::call(&session, 1, "tools/call", r#"{"name":"wait"}"#));
        let second = async {
            settle().await;
            let second = peer.refusal(Ask::call(&session, id, "tools/list", "{}")).await;
            peer.world.gate.add_permits(1);
            second
        };
        let (first, second) = tokio::join!(call, second);
        assert_eq!((first.status, second), (StatusCode::OK, expected), "{id}");
    }
}

/// Returns the peer of a server that keeps eight messages for it, for a minute.
fn short_of_room() -> Peer<impl Accept> {
    let mut limits = limits();
    (limits.max_queued, limits.write_timeout) = (8, Duration::from_mins(1));
    peer_with(HttpConfig::default().limits(limits))
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_slows_the_writer_down() {
    let peer = short_of_room();
    let session = peer.open("2025-06-18").await;
    for ask in [Ask::tool("flood"), Ask::call(&session, 1, "tools/call", r#"{"name":"flood"}"#)] {
        peer.world.written.store(0, Ordering::SeqCst);
        let mut answer = peer.send(ask).await;
        settle().await;
        assert_eq!(peer.world.written.load(Ordering::SeqCst), 8);
        for step in 0..1000 {
            assert_eq!(answer.data().await["params"]["progress"], step);
        }
        assert_eq!(answer.data().await["result"]["done"], true);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_never_reads_is_sent_away() {
    let peer = short_of_room();
    let session = peer.open("2025-06-18").await;
    let mut answer = peer.send(Ask::call(&session, 1, "tools/call", r#"{"name":"flood"}"#)).await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(peer.world.written.load(Ordering::SeqCst), 1000);
    assert_eq!(answer.event().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_a_reader_forgets_its_oldest_events() {
    let peer = peer_with(HttpConfig::default().replay(4, 1 << 20));
    let session = peer.open("2025-06-18").await;
    let mut answer = peer.send(Ask::call(&session, 1, "tools/call", r#"{"name":"notify then wait"}"#)).await;
    let first = answer.event().await.unwrap().id;
    drop(answer);
    peer.world.gate.add_permits(1);
    settle().await;
    let mut again = peer.send(Ask::get(&session).with("last-event-id", &first)).await;
    assert_eq!(again.data().await["params"]["progress"], 2);
    assert_eq!(again.data().await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_is_slow_is_waited_for() {
    let peer = peer();
    for session in [None, Some(peer.open("2025-11-25").await)] {
        let ask = match &session {
            None => Ask::tool("stream"),
            Some(session) => Ask::call(session, 1, "tools/call", r#"{"name":"stream"}"#),
        };
        let mut answer = peer.send(ask).await;
        let call = peer.world.call.lock().clone();
        let telling = tokio::spawn(async move {
            for _ in 0..5 {
                chunk(&call, &"x".repeat(1 << 20)).await?;
            }
            Ok::<_, mgp_types::Error>(())
        });
        let began = tokio::time::Instant::now();
        let mut read = 0;
        while read < 5 << 20 {
            tokio::time::sleep(Duration::from_secs(8)).await;
            let piece = answer.body.frame().await.expect("more comes").unwrap().into_data().unwrap();
            assert!(piece.len() <= 64 << 10, "{}", piece.len());
            read += piece.len();
        }
        telling.await.unwrap().unwrap();
        assert!(began.elapsed() > 10 * limits().write_timeout);
    }
}
