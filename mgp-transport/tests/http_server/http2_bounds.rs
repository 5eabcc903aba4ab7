//! The bounds of connections with HTTP/2.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use mgp_transport::http::HttpConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::peer::Ask;
use crate::secure::{Secured, in_time, secured, secured_with, until};
use crate::stack::chunk;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const END_STREAM_AND_HEADERS: u8 = 5;
/// `GET https://localhost/`, compressed.
const GET: &[u8] = b"\x82\x87\x84\x41\x09localhost";

const END_HEADERS: u8 = 4;

/// Returns the head of a POST to the endpoint, compressed.
fn post() -> Vec<u8> {
    let literal = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("content-length", "100"),
    ];
    let headers = headers.iter().flat_map(|(name, value)| [vec![0], literal(name), literal(value)].concat());
    let url = [&b"\x83\x87\x04"[..], &literal("/mcp"), b"\x41", &literal("localhost")].concat();
    url.into_iter().chain(headers).collect()
}

/// A client that writes and reads frames.
struct Raw(TlsStream<TcpStream>);

struct Frame {
    kind: u8,
    flags: u8,
    payload: Vec<u8>,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

impl Raw {
    async fn open(server: &Secured) -> Self {
        let mut raw = Self(server.client().open(&["h2"]).await.unwrap());
        raw.write(&[PREFACE, &frame(SETTINGS, 0, 0, b"")].concat()).await.unwrap();
        raw
    }

    async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_all(bytes).await?;
        self.0.flush().await
    }

    /// Reads the next frame; `None` at the end of the connection.
    async fn read(&mut self) -> Option<Frame> {
        in_time(async {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).await.ok()?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            self.0.read_exact(&mut payload).await.ok()?;
            Some(Frame { kind: head[3], flags: head[4], payload })
        })
        .await
    }

    /// Pings the server until it ends the connection.
    async fn ping_to_the_end(&mut self) {
        in_time(async {
            while self.write(&frame(PING, 0, 0, b"are you?")).await.is_ok() {
                loop {
                    match self.read().await {
                        None => return,
                        Some(Frame { kind: PING, flags: 1, .. }) => break,
                        Some(_) => {}
                    }
                }
            }
        })
        .await;
    }
}

#[tokio::test]
async fn requests_beyond_the_streams_of_a_connection_wait() {
    let server = secured_with(HttpConfig::default().max_streams(2), |tls| tls).await;
    let client = server.client().http2().await;
    // The settings of the server have come.
    assert_eq!(client.json(Ask::tool("x")).await["result"]["done"], true);
    let calls: Vec<_> = (0..5).map(|_| client.begin(Ask::tool("wait"))).collect();
    until(|| server.world.started.load(Ordering::SeqCst) >= 3).await;
    let other = server.client().http2().await;
    assert_eq!(other.json(Ask::tool("x")).await["result"]["done"], true);
    assert_eq!(server.world.started.load(Ordering::SeqCst), 4, "two of the calls, and two others");
    server.world.gate.add_permits(5);
    for call in calls {
        call.ends_well().await;
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused_and_the_connection_lives_on() {
    let server = secured_with(HttpConfig::default().max_header_bytes(8 << 10), |tls| tls).await;
    let client = server.client().http2().await;
    let long = Ask::tool("x").with("x-long", &"x".repeat(9 << 10));
    match client.send(long).await {
        Ok(answer) => assert_eq!(answer.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
        // The client knows the bound from the server's settings.
        Err(error) => assert!(error.is_user(), "{error:?}"),
    }
    assert_eq!(client.json(Ask::tool("x")).await["result"]["done"], true);
    assert_eq!(server.world.started.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_flood_of_streams_that_are_taken_back_ends_the_connection() {
    let server = secured().await;
    let mut raw = Raw::open(&server).await;
    let streams = (0..100u32).map(|number| 2 * number + 1);
    let flood: Vec<u8> = streams
        .flat_map(|stream| {
            let head = frame(HEADERS, END_STREAM_AND_HEADERS, stream, GET);
            let cancel = 8u32.to_be_bytes();
            [head, frame(RST_STREAM, 0, stream, &cancel)].concat()
        })
        .collect();
    raw.write(&flood).await.unwrap();
    let mut reason = None;
    while let Some(frame) = raw.read().await {
        if frame.kind == GOAWAY {
            reason = Some(frame.payload[7]);
        }
    }
    assert_eq!(reason, Some(11), "ENHANCE_YOUR_CALM");
}

#[tokio::test]
async fn pings_do_not_keep_a_connection_that_has_asked_nothing() {
    let config = HttpConfig::default().header_timeout(Duration::from_millis(100));
    let server = secured_with(config, |tls| tls).await;
    Raw::open(&server).await.ping_to_the_end().await;
}

#[tokio::test]
async fn pings_do_not_keep_a_connection_whose_requests_are_answered() {
    let config = HttpConfig::default()
        .header_timeout(Duration::from_millis(100))
        .idle_timeout(Duration::from_millis(100));
    let server = secured_with(config, |tls| tls).await;
    let mut raw = Raw::open(&server).await;
    raw.write(&frame(HEADERS, END_STREAM_AND_HEADERS, 1, GET)).await.unwrap();
    while raw.read().await.expect("the request is answered").kind != HEADERS {}
    raw.ping_to_the_end().await;
}

#[tokio::test]
async fn a_connection_with_a_call_in_work_is_not_idle() {
    let config =
        HttpConfig::default().header_timeout(Duration::from_secs(2)).idle_timeout(Duration::from_secs(2));
    let server = secured_with(config, |tls| tls).await;
    let client = server.client().http2().await;
    let call = client.begin(Ask::tool("wait"));
    until(|| server.world.started.load(Ordering::SeqCst) == 1).await;
    // Another connection outlives none of these times.
    let mut silent = server.tcp().await;
    let _ = in_time(silent.read(&mut [0])).await;
    server.world.gate.add_permits(1);
    call.ends_well().await;
}

#[tokio::test]
async fn an_idle_connection_makes_room_and_a_busy_one_does_not() {
    let server = secured_with(HttpConfig::default().max_connections(2), |tls| tls).await;
    let busy = server.client().http2().await;
    let call = busy.begin(Ask::tool("wait"));
    until(|| server.world.started.load(Ordering::SeqCst) == 1).await;
    let idle = server.client().http2().await;
    assert_eq!(idle.json(Ask::tool("x")).await["result"]["done"], true);
    let next = server.client().http2().await;
    assert_eq!(next.json(Ask::tool("x")).await["result"]["done"], true);
    let _ = in_time(idle.connection).await;
    server.world.gate.add_permits(1);
    call.ends_well().await;
}

#[tokio::test]
async fn a_connection_that_owes_the_body_of_its_request_makes_room() {
    let config = HttpConfig::default().max_connections(1).body_timeout(Duration::from_hours(1));
    let server = secured_with(config, |tls| tls).await;
    let mut raw = Raw::open(&server).await;
    raw.write(&[frame(HEADERS, END_HEADERS, 1, &post()), frame(PING, 0, 0, b"are you?")].concat())
        .await
        .unwrap();
    // The answer to the ping tells that the head has been read.
    while !matches!(raw.read().await.unwrap(), Frame { kind: PING, flags: 1, .. }) {}
    in_time(async {
        // Until the server has looked for the body, the request may be a whole one.
        loop {
            let next = server.client().http2().await;
            if next.send(Ask::tool("x")).await.is_ok_and(|answer| answer.status() == StatusCode::OK) {
                break;
            }
        }
    })
    .await;
    while let Some(frame) = raw.read().await {
        assert_ne!(frame.kind, HEADERS, "the request is answered: {:?}", frame.payload);
    }
}

#[tokio::test]
async fn a_reader_who_does_not_read_holds_up_the_writer_and_no_other_stream() {
    let mut limits = mgp_transport::ConnectionLimits::default();
    limits.write_timeout = Duration::from_hours(1);
    let server = secured_with(HttpConfig::default().limits(limits), |tls| tls).await;
    let client = server.client().http2().await;
    let unread = client.send(Ask::tool("stream")).await.unwrap();
    let call = server.world.call.lock().clone();
    let writing = tokio::spawn(async move {
        for _ in 0..64 {
            chunk(&call, &"x".repeat(1 << 20)).await?;
        }
        Ok::<_, mgp_types::Error>(())
    });
    for _ in 0..20 {
        assert_eq!(client.json(Ask::tool("x")).await["result"]["done"], true);
    }
    assert!(!writing.is_finished(), "64 MiB wait nowhere");
    drop(unread);
    // Without a reader there is nothing to wait for.
    let _ = in_time(writing).await.unwrap();
}

#[tokio::test]
async fn where_all_are_at_work_a_connection_is_for_health_alone_and_ends() {
    let server = secured_with(HttpConfig::default().max_connections(1), |tls| tls).await;
    let busy = server.client().http2().await;
    let call = busy.begin(Ask::tool("wait"));
    until(|| server.world.started.load(Ordering::SeqCst) == 1).await;
    let refused = server.client().http2().await;
    let answer = refused.send(Ask::tool("x")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    drop(answer);
    in_time(refused.connection).await.unwrap().unwrap();
    server.world.gate.add_permits(1);
    call.ends_well().await;
}
