//! HTTP/2 over TLS: everything that HTTP/1.1 carries, on one connection.

use std::sync::atomic::Ordering;

use http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mgp_transport::http::HttpConfig;

use crate::peer::{Ask, initialize};
use crate::secure::{Http2, Secured, in_time, json, on_http2, over_http2, secured_with, until};

/// Reads the next piece of a stream of events that is no comment.
async fn event(stream: &mut http::Response<Incoming>) -> String {
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    loop {
        let frame = in_time(stream.frame()).await.expect("an event comes").unwrap();
        let text = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
        if !text.starts_with(':') {
            return text;
        }
    }
}

/// Opens a session and returns its id.
async fn open(client: &Http2, revision: &str) -> String {
    let answer = client.send(initialize(revision)).await.unwrap();
    let session = answer.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    assert_eq!(json(answer).await["result"]["protocolVersion"], revision);
    let ready = Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let accepted = client.send(ready.with("mcp-session-id", &session)).await.unwrap();
    assert_eq!(accepted.status(), StatusCode::ACCEPTED);
    session
}

async fn started(server: &Secured, calls: usize) {
    until(|| server.world.started.load(Ordering::SeqCst) >= calls).await;
}

async fn dropped(server: &Secured, calls: usize) {
    until(|| server.world.dropped.load(Ordering::SeqCst) >= calls).await;
}

#[tokio::test]
async fn calls_of_both_eras_are_answered_on_one_connection() {
    let (_server, client) = over_http2().await;
    assert_eq!(client.json(Ask::tool("x")).await["result"]["done"], true);
    for revision in ["2025-03-26", "2025-11-25"] {
        let session = open(&client, revision).await;
        let answer = client.json(Ask::call(&session, 1, "tools/call", r#"{"name":"x"}"#)).await;
        assert_eq!(answer["result"]["done"], true);
        let ended = client.send(Ask::delete(&session)).await.unwrap();
        assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    }
    let refused = client.send(Ask::tool("scope")).await.unwrap();
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    assert_eq!(refused.headers()["www-authenticate"], crate::stack::SCOPE_CHALLENGE);
}

#[tokio::test]
async fn a_panic_ends_one_call_and_the_connection_goes_on() {
    let (server, client) = over_http2().await;
    let waiting = client.begin(Ask::tool("wait"));
    started(&server, 1).await;
    assert_eq!(client.json(Ask::tool("panic")).await["error"]["code"], -32603);
    let mut streamed = client.send(Ask::tool("notify then panic")).await.unwrap();
    assert!(event(&mut streamed).await.contains("notifications/progress"));
    assert!(event(&mut streamed).await.contains("-32603"));
    server.world.gate.add_permits(1);
    waiting.ends_well().await;
}

#[tokio::test]
async fn slow_calls_hold_up_no_others_on_their_connection() {
    let (server, client) = over_http2().await;
    let slow: Vec<_> = (0..50).map(|_| client.begin(Ask::tool("wait"))).collect();
    started(&server, 50).await;
    assert_eq!(client.json(Ask::tool("x")).await["result"]["done"], true);
    server.world.gate.add_permits(50);
    for call in slow {
        call.ends_well().await;
    }
}

#[tokio::test]
async fn a_stream_of_events_comes_event_by_event() {
    let (server, client) = over_http2().await;
    let mut stream = client.send(Ask::tool("notify then wait")).await.unwrap();
    assert!(event(&mut stream).await.contains(r#""progress":1"#));
    server.world.gate.add_permits(1);
    assert!(event(&mut stream).await.contains(r#""progress":2"#));
    assert!(event(&mut stream).await.contains(r#""done":true"#));
    assert_eq!(in_time(stream.into_body().collect()).await.unwrap().to_bytes(), "");
}

#[tokio::test]
async fn http_sse_works_beside() {
    let (_server, client) = over_http2().await;
    let ask = Ask::new(http::Method::GET, "/sse").with("accept", "text/event-stream");
    let mut stream = client.send(ask).await.unwrap();
    let endpoint = event(&mut stream).await;
    let path = endpoint.lines().find_map(|line| line.strip_prefix("data: ")).unwrap().to_owned();
    let Ask(message) = initialize("2024-11-05");
    let mut ask = Ask(message);
    *ask.0.uri_mut() = path.parse().unwrap();
    assert_eq!(client.send(ask).await.unwrap().status(), StatusCode::ACCEPTED);
    assert!(event(&mut stream).await.contains("2024-11-05"));
}

#[tokio::test]
async fn a_stream_that_the_client_takes_back_cancels_its_call_alone_2026() {
    let (server, client) = over_http2().await;
    let other = client.begin(Ask::tool("wait"));
    started(&server, 1).await;

    let waiting = client.begin(Ask::tool("wait"));
    started(&server, 2).await;
    waiting.0.abort();
    dropped(&server, 1).await;

    let mut streaming = client.send(Ask::tool("notify then wait")).await.unwrap();
    event(&mut streaming).await;
    drop(streaming);
    dropped(&server, 2).await;

    server.world.gate.add_permits(1);
    other.ends_well().await;
}

#[tokio::test]
async fn a_client_that_hangs_up_cancels_all_its_calls_2026() {
    let (server, client) = over_http2().await;
    for _ in 0..3 {
        client.begin(Ask::tool("wait"));
    }
    started(&server, 3).await;
    client.hang_up();
    dropped(&server, 3).await;
}

#[tokio::test]
async fn the_host_in_the_url_is_judged_as_a_header_is() {
    let (_server, client) = over_http2().await;
    let mut request = on_http2(Ask::tool("x"));
    *request.uri_mut() = "https://evil.example/mcp".parse().unwrap();
    let answer = in_time(client.sender.clone().send_request(request)).await.unwrap();
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    let answer = client.send(Ask::tool("x").with("origin", "https://evil.example")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_end_of_the_server_waits_for_calls_and_takes_no_more() {
    let config = HttpConfig::default().shutdown_grace(std::time::Duration::from_hours(1));
    let mut server = secured_with(config, |tls| tls).await;
    let client = server.client().http2().await;
    let call = client.begin(Ask::tool("wait"));
    started(&server, 1).await;
    server.stop();
    in_time(async {
        // The client hears that the connection ends, and sends nothing more on it.
        while client.send(Ask::tool("x")).await.is_ok() {}
    })
    .await;
    server.world.gate.add_permits(1);
    call.ends_well().await;
    in_time(client.connection).await.unwrap().unwrap();
    server.ended().await;
}

#[tokio::test]
async fn work_that_does_not_end_ends_with_the_server() {
    let config = HttpConfig::default().shutdown_grace(std::time::Duration::from_millis(10));
    let mut server = secured_with(config, |tls| tls).await;
    let client = server.client().http2().await;
    let call = client.begin(Ask::tool("wait"));
    started(&server, 1).await;
    let world = std::sync::Arc::clone(&server.world);
    server.stop();
    server.ended().await;
    until(|| world.dropped.load(Ordering::SeqCst) == 1).await;
    assert!(in_time(call.0).await.unwrap().is_err());
}
