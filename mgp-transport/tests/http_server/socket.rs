//! A server on a socket.

use std::sync::Arc;

use mgp_transport::http::{HttpConfig, serve_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::peer::{Ask, initialize};
use crate::stack::{World, accept, world};

struct Running {
    world: Arc<World>,
    stop: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<std::io::Result<()>>,
    stream: TcpStream,
}

async fn start() -> Running {
    let world = world();
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let config = HttpConfig::default();
    let accept = accept(&world);
    let ended = tokio::spawn(serve_until(socket, accept, config, async {
        let _ = stopped.await;
    }));
    Running { world, stop, ended, stream: TcpStream::connect(address).await.unwrap() }
}

fn raw(ask: &Ask) -> Vec<u8> {
    let mut text =
        format!("{} {} HTTP/1.1\r\ncontent-length: {}\r\n", ask.0.method(), ask.0.uri(), ask.0.body().len());
    for (name, value) in ask.0.headers() {
        text.extend([name.as_str(), ": ", value.to_str().unwrap(), "\r\n"]);
    }
    text += "\r\n";
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(ask.0.body());
    bytes
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(end) {
        assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0, "{}", String::from_utf8_lossy(&read));
    }
    String::from_utf8(read).unwrap()
}

#[tokio::test]
async fn a_connection_serves_call_after_call() {
    let mut running = start().await;
    for _ in 0..3 {
        running.stream.write_all(&raw(&Ask::tool("echo"))).await.unwrap();
        let answer = read_until(&mut running.stream, r#""done":true}}"#).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("content-length: "), "{answer}");
    }
    running.stop.send(()).unwrap();
    running.ended.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_calls_and_ends_streams() {
    let mut running = start().await;
    running.stream.write_all(&raw(&Ask::modern("subscriptions/listen", "{}"))).await.unwrap();
    read_until(&mut running.stream, "acknowledged").await;
    running.stop.send(()).unwrap();
    running.ended.await.unwrap().unwrap();
    assert_eq!(running.world.dropped.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_client_that_hangs_up_cancels_its_call_2026() {
    let mut running = start().await;
    running.stream.write_all(&raw(&Ask::tool("wait"))).await.unwrap();
    while running.world.started.load(std::sync::atomic::Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    drop(running.stream);
    while running.world.dropped.load(std::sync::atomic::Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_ends() {
    for begun in [&b""[..], b"POST /mcp HTTP/1.1\r\nhost: local"] {
        let mut running = start().await;
        running.stream.write_all(begun).await.unwrap();
        let start = tokio::time::Instant::now();
        let mut rest = Vec::new();
        let _ = running.stream.read_to_end(&mut rest).await;
        assert!((10..=15).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_a_call_in_work_is_not_silent() {
    let mut running = start().await;
    running.stream.write_all(&raw(&Ask::tool("wait"))).await.unwrap();
    let early =
        tokio::time::timeout(std::time::Duration::from_mins(10), read_until(&mut running.stream, "done"));
    assert!(early.await.is_err());
    running.world.gate.add_permits(1);
    read_until(&mut running.stream, r#""done":true}}"#).await;
}

/// Waits until the runtime has nothing to do: the clock goes on only then.
async fn settled() {
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn the_first_request_of_a_connection_is_answered_though_the_server_ends() {
    let mut running = start().await;
    settled().await;
    running.stop.send(()).unwrap();
    settled().await;
    running.stream.write_all(&raw(&Ask::tool("echo"))).await.unwrap();
    read_until(&mut running.stream, r#""done":true}}"#).await;
    assert_eq!(running.stream.read(&mut [0]).await.unwrap(), 0, "the connection ends with the answer");
    running.ended.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_belongs_to_no_call_does_not_hold_the_end_up() {
    let mut running = start().await;
    running.stream.write_all(&raw(&initialize("2025-11-25"))).await.unwrap();
    let answer = read_until(&mut running.stream, "protocolVersion").await;
    let session = answer.split_once("mcp-session-id: ").unwrap().1.split_once("\r\n").unwrap().0;
    let mut listening = TcpStream::connect(running.stream.peer_addr().unwrap()).await.unwrap();
    listening.write_all(&raw(&Ask::get(session))).await.unwrap();
    read_until(&mut listening, "200 OK").await;
    running.stop.send(()).unwrap();
    let began = tokio::time::Instant::now();
    running.ended.await.unwrap().unwrap();
    // Calls would have two seconds.
    assert!(began.elapsed() < std::time::Duration::from_secs(1), "{:?}", began.elapsed());
}
