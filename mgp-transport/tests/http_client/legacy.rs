//! HTTP+SSE, the transport up to 2024-11-05.

use std::time::Duration;

use mgp_transport::http::{HttpClient, HttpStatus};
use mgp_types::{Error, Origin, Params, Request, Revision};
use tokio::time::Instant;

use crate::server::*;

async fn connect(endpoint: &str) -> (Result<HttpClient<Recorder>, Error>, Server, Stream, Recorder) {
    let (builder, mut server) = server_of("http://server.example/api/sse");
    let recorder = Recorder::default();
    let connecting = tokio::spawn(builder.connect_sse_with(recorder.clone()));
    let asked = server.next_is("GET").await;
    assert_eq!(asked.head.uri.path(), "/api/sse");
    assert_eq!(asked.header("accept"), Some("text/event-stream"));
    let stream = asked.events();
    stream.send(format!(": hi\n\nevent: endpoint\ndata: {endpoint}\n\n"));
    (connecting.await.unwrap(), server, stream, recorder)
}

async fn connected() -> (HttpClient<Recorder>, Server, Stream, Recorder) {
    let (client, server, stream, recorder) = connect("/messages?sessionId=1").await;
    (client.unwrap(), server, stream, recorder)
}

fn list() -> Request {
    within(Revision::V2024_11_05, Request::call("tools/list", Params::new()))
}

#[tokio::test(start_paused = true)]
async fn calls_are_posted_to_the_endpoint_and_answered_on_the_stream() {
    for (endpoint, path) in [
        ("/messages?sessionId=1", "/messages?sessionId=1"),
        ("messages", "/api/messages"),
        ("?session=1", "/api/sse?session=1"),
        ("http://server.example/m", "/m"),
    ] {
        let (client, mut server, stream, _) = connect(endpoint).await;
        let call = start(&client.unwrap(), list());
        let asked = server.next_is("POST").await;
        assert_eq!(asked.head.uri, path);
        assert_eq!(asked.body, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        asked.respond(202, &[], "Accepted");
        stream.event(&reply(1));
        is_ok(call.await);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_come_before_its_post_is_acknowledged() {
    let (client, mut server, stream, _) = connected().await;
    let call = start(&client, list());
    let _asked = server.next().await;
    stream.event(&reply(1));
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn answers_may_come_in_any_order_and_those_to_nobody_are_passed_over() {
    let (client, mut server, stream, _) = connected().await;
    let first = start(&client, list());
    let second = start(&client, list());
    server.next().await.status(202);
    server.next().await.status(200);
    stream.event(&reply(9));
    stream.event(&reply(2));
    is_ok(second.await);
    stream.event(&reply(2));
    stream.event(&reply(1));
    is_ok(first.await);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_of_another_origin_is_refused() {
    for endpoint in
        ["http://other.example/m", "//other.example/m", "https://server.example/m", "ftp://x/", "http://"]
    {
        let (client, ..) = connect(endpoint).await;
        assert_eq!(client.unwrap_err().origin(), Origin::Misbehaved, "{endpoint}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_names_no_endpoint_is_given_up() {
    let (builder, mut server) = server();
    let connecting = tokio::spawn(builder.connect_sse_with(Recorder::default()));
    let begin = Instant::now();
    let stream = server.next().await.events();
    stream.send("event: message\ndata: {}\n\n");
    assert_eq!(connecting.await.unwrap().unwrap_err().origin(), Origin::Timeout);
    assert_eq!(begin.elapsed().as_secs(), 10);
    stream.is_closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_without_the_transport_says_so_by_its_status() {
    let (builder, mut server) = server();
    let connecting = tokio::spawn(builder.connect_sse_with(Recorder::default()));
    server.next().await.status(405);
    assert_eq!(HttpStatus::of(&connecting.await.unwrap().unwrap_err()).unwrap().code(), 405);

    let (builder, mut server) = crate::server::server();
    let connecting = tokio::spawn(builder.connect_sse_with(Recorder::default()));
    server.next().await.json(200, "{}");
    assert_eq!(connecting.await.unwrap().unwrap_err().origin(), Origin::Misbehaved);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_stream_fails_the_calls_that_wait_and_those_that_follow() {
    for broken in [false, true] {
        let (client, mut server, stream, _) = connected().await;
        let call = start(&client, list());
        server.next().await.status(202);
        if broken {
            stream.break_off();
        } else {
            drop(stream);
        }
        assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Connection);
        assert_eq!(start(&client, list()).await.unwrap().unwrap_err().origin(), Origin::Connection);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_post_is_an_error_of_its_call_only() {
    let (client, mut server, stream, _) = connected().await;
    let call = start(&client, list());
    server.next().await.status(404);
    assert_eq!(HttpStatus::of(&call.await.unwrap().unwrap_err()).unwrap().code(), 404);
    let call = start(&client, list());
    server.next().await.status(202);
    stream.event(&reply(2));
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn a_request_of_the_server_is_answered_by_a_post_2024() {
    let (_client, mut server, stream, recorder) = connected().await;
    stream.event(r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#);
    assert_eq!(server.next_is("POST").await.body, r#"{"jsonrpc":"2.0","id":5,"result":{"done":true}}"#);
    assert_eq!(recorder.seen(), ["call roots/list"]);
}

#[tokio::test(start_paused = true)]
async fn taking_in_a_notification_may_wait_for_an_answer_on_the_same_stream() {
    let (_client, mut server, stream, recorder) = connected().await;
    stream.event(&notification("notifications/echo/x"));
    let asked = server.next().await;
    assert_eq!(asked.method(), "back");
    let id = asked.id();
    asked.status(202);
    stream.event(&reply(id));
    assert_eq!(recorder.saw(2).await, ["notifications/echo/x", r#"answer {"ok":true}"#]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_floods_loses_what_finds_no_room() {
    let (builder, mut server) = server();
    let mut limits = mgp_transport::ConnectionLimits::default();
    limits.max_in_flight = 2;
    let recorder = Recorder::default();
    let connecting = tokio::spawn(builder.limits(limits).connect_sse_with(recorder.clone()));
    let stream = server.next().await.events();
    stream.send("event: endpoint\ndata: /m\n\n");
    let client = connecting.await.unwrap().unwrap();
    for _ in 0..3 {
        stream.event(&notification("notifications/never"));
    }
    let call = start(&client, list());
    server.next().await.status(202);
    let begin = Instant::now();
    stream.event(&reply(1));
    is_ok(call.await);
    assert_eq!(begin.elapsed().as_secs(), 60);
    assert_eq!(recorder.seen().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_takes_it_back_2024() {
    let (client, mut server, _stream, _) = connected().await;
    let call = start(&client, list());
    server.next().await.status(202);
    tokio::time::sleep(Duration::from_millis(10)).await;
    call.abort();
    server.has_a_call_taken_back().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_or_closing_the_client_closes_the_stream() {
    let (client, _server, stream, _) = connected().await;
    drop(client);
    stream.is_closed().await;

    let (client, mut server, stream, _) = connected().await;
    let call = start(&client, list());
    server.next().await.status(202);
    tokio::time::sleep(Duration::from_millis(10)).await;
    client.close(None).await;
    assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Connection);
    stream.is_closed().await;
}
