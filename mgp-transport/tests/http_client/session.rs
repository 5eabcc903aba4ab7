//! Revisions up to 2025-11-25: messages belong to a session.

use std::sync::Arc;
use std::time::Duration;

use mgp_transport::ConnectionLimits;
use mgp_transport::http::{HttpClient, HttpStatus, SessionLost};
use mgp_types::{Origin, Params, Request, Revision, Session};

use crate::server::*;
use crate::support::{handed, settle};

const REVISION: Revision = Revision::V2025_11_25;

fn list() -> Request {
    within(REVISION, Request::call("tools/list", Params::new()))
}

fn initialized() -> Request {
    within(REVISION, Request::notify("notifications/initialized", Params::new()))
}

/// Returns a client whose session is open; the server has no stream of its own.
async fn opened(limits: ConnectionLimits) -> (HttpClient<Recorder>, Server, Recorder) {
    let (builder, mut server) = server();
    let recorder = Recorder::default();
    let client = builder.limits(limits).connect_with(recorder.clone()).unwrap();
    initialize(&client, &mut server, "s1").await;
    (client, server, recorder)
}

/// Says that the session is open, and lets the server send on its own stream.
async fn listening(client: &HttpClient<Recorder>, server: &mut Server) -> Stream {
    let sent = start(client, initialized());
    server.next_is("POST").await.status(202);
    sent.await.unwrap().unwrap();
    let asked = server.next_is("GET").await;
    assert_eq!(asked.header("accept"), Some("text/event-stream"));
    assert_eq!(asked.header("mcp-session-id"), Some("s1"));
    assert_eq!(asked.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(asked.header("last-event-id"), None);
    asked.events()
}

/// Returns a client whose session is open, and the server's own stream.
async fn heard(limits: ConnectionLimits) -> (HttpClient<Recorder>, Server, Recorder, Stream) {
    let (client, mut server, recorder) = opened(limits).await;
    let stream = listening(&client, &mut server).await;
    (client, server, recorder, stream)
}

#[tokio::test(start_paused = true)]
async fn a_session_is_named_from_its_opening_on() {
    let (client, mut server, _) = opened(ConnectionLimits::default()).await;
    let call = start(&client, list());
    let asked = server.next().await;
    assert_eq!(asked.header("mcp-session-id"), Some("s1"));
    assert_eq!(asked.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(asked.header("mcp-method"), None);
    asked.ok();
    is_ok(call.await);

    initialize(&client, &mut server, "s2").await;
    let call = start(&client, list());
    let asked = server.next().await;
    assert_eq!(asked.header("mcp-session-id"), Some("s2"));
    asked.ok();
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn a_session_id_that_is_not_visible_ascii_is_refused() {
    for id in ["", "a b", "\u{e9}"] {
        let (client, mut server, _) = connected();
        let call = start(&client, Request::call("initialize", Params::new()));
        server.next().await.respond(
            200,
            &[("content-type", "application/json"), ("mcp-session-id", id)],
            reply(1),
        );
        assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Misbehaved, "{id:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_the_server_forgot_is_lost() {
    let (client, mut server, _) = opened(ConnectionLimits::default()).await;
    let body = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"Session not found"}}"#;
    let call = start(&client, list());
    server.next().await.json(404, body);
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.origin(), Origin::Connection);
    assert!(SessionLost::is_behind(&error));

    let sent = start(&client, initialized());
    server.next().await.status(404);
    assert!(SessionLost::is_behind(&sent.await.unwrap().unwrap_err()));
}

#[tokio::test(start_paused = true)]
async fn a_404_without_a_session_is_no_lost_session() {
    let (client, mut server, _) = connected();
    let call = start(&client, list());
    server.next().await.status(404);
    let error = call.await.unwrap().unwrap_err();
    assert!(!SessionLost::is_behind(&error));
    assert_eq!(HttpStatus::of(&error).unwrap().code(), 404);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_takes_it_back() {
    let (client, mut server, _) = opened(ConnectionLimits::default()).await;
    let call = start(&client, list());
    let asked = server.next().await;
    let id = asked.id();
    call.abort();
    let cancelled = server.next_is("POST").await;
    assert_eq!(cancelled.method(), "notifications/cancelled");
    assert_eq!(cancelled.header("mcp-session-id"), Some("s1"));
    let params = Params::from_raw(&cancelled.message().get("params").unwrap()).unwrap();
    assert_eq!(params.bytes("requestId").unwrap(), id.to_string().as_bytes());
    cancelled.status(202);
    server.is_left_alone().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_an_answered_call_or_the_opening_takes_nothing_back() {
    let (client, mut server, _) = opened(ConnectionLimits::default()).await;
    let call = start(&client, list());
    server.next().await.ok();
    is_ok(call.await);

    let call = start(&client, Request::call("initialize", Params::new()));
    let _asked = server.next().await;
    call.abort();
    server.is_left_alone().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_server_sends_unasked_is_taken_in() {
    let (_client, _server, recorder, stream) = heard(ConnectionLimits::default()).await;
    stream.event(&notification("notifications/a"));
    stream.event(&notification("notifications/b"));
    assert_eq!(recorder.saw(2).await, ["notifications/a", "notifications/b"]);
}

#[tokio::test(start_paused = true)]
async fn what_comes_behind_a_message_that_is_too_long_is_taken_in() {
    let mut limits = ConnectionLimits::default();
    limits.max_frame_bytes = 1000;
    let (_client, mut server, recorder, stream) = heard(limits).await;
    stream.send(format!("id: 7\ndata: {}\n\n", "x".repeat(2000)));
    let asked = server.next_is("GET").await;
    assert_eq!(asked.header("last-event-id"), None, "it would come again");
    asked.events().event(&notification("notifications/a"));
    assert_eq!(recorder.saw(1).await, ["notifications/a"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_a_stream_of_its_own_is_not_asked_again() {
    let (client, mut server, _) = opened(ConnectionLimits::default()).await;
    let sent = start(&client, initialized());
    server.next_is("POST").await.status(202);
    sent.await.unwrap().unwrap();
    server.next_is("GET").await.status(405);
    server.is_left_alone().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_of_the_server_is_answered_by_a_post() {
    let (_client, mut server, recorder, stream) = heard(ConnectionLimits::default()).await;
    stream.event(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#);
    let answer = server.next_is("POST").await;
    assert_eq!(answer.body, r#"{"jsonrpc":"2.0","id":"q","result":{"done":true}}"#);
    assert_eq!(answer.header("mcp-session-id"), Some("s1"));
    assert_eq!(answer.header("mcp-protocol-version"), Some("2025-11-25"));
    answer.status(202);
    // Its id may be used again.
    stream.event(r#"{"jsonrpc":"2.0","id":"q","method":"ping"}"#);
    assert!(server.next_is("POST").await.message().contains("result"));
    assert_eq!(recorder.seen(), ["call roots/list", "call ping"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_on_the_stream_of_a_call_is_answered_while_the_call_waits() {
    let (client, mut server, _) = opened(ConnectionLimits::default()).await;
    let call = start(&client, list());
    let stream = server.next().await.events();
    stream.event(r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#);
    let answer = server.next_is("POST").await;
    assert_eq!(answer.body, r#"{"jsonrpc":"2.0","id":1,"result":{"done":true}}"#);
    answer.status(202);
    stream.event(&reply(2));
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_server_takes_back_is_not_answered() {
    let (_client, mut server, recorder, stream) = heard(ConnectionLimits::default()).await;
    stream.event(r#"{"jsonrpc":"2.0","id":7,"method":"never"}"#);
    recorder.saw(1).await;
    stream.event(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#);
    stream.event(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}"#);
    assert_eq!(recorder.saw(2).await, ["call never", "notifications/cancelled"]);
    // The id is free again.
    stream.event(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    assert_eq!(server.next().await.body, r#"{"jsonrpc":"2.0","id":7,"result":{"done":true}}"#);
}

#[tokio::test(start_paused = true)]
async fn requests_that_cannot_be_taken_in_are_refused() {
    let mut limits = ConnectionLimits::default();
    limits.max_in_flight = 2;
    let (_client, mut server, _, stream) = heard(limits).await;
    for (before, id, params) in [(Some(1), 1, "{}"), (Some(2), 3, "{}"), (None, 4, "7")] {
        if let Some(before) = before {
            stream.event(&format!(r#"{{"jsonrpc":"2.0","id":{before},"method":"never"}}"#));
        }
        stream.event(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{params}}}"#));
        let refused = server.next().await;
        assert!(refused.message().contains("error") && refused.id() == id, "{:?}", refused.body);
        refused.status(202);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_answers_the_server_can_ask_it_back() {
    let (_client, mut server, recorder, stream) = heard(ConnectionLimits::default()).await;
    stream.event(r#"{"jsonrpc":"2.0","id":1,"method":"echo/x"}"#);
    let asked = server.next_is("POST").await;
    assert_eq!(asked.method(), "back");
    assert_eq!(asked.header("mcp-session-id"), Some("s1"));
    asked.ok();
    assert!(server.next().await.message().contains("result"));
    assert_eq!(recorder.seen(), ["call echo/x", r#"answer {"ok":true}"#]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_on_the_servers_own_stream_is_found() {
    let (client, mut server, _, unasked) = heard(ConnectionLimits::default()).await;
    let call = start(&client, list());
    let asked = server.next().await;
    let id = asked.id();
    let own = asked.events();
    own.send(": nothing here\n\n");
    tokio::time::sleep(Duration::from_millis(10)).await;
    unasked.event(&reply(99));
    unasked.event(&reply(id));
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn the_servers_own_stream_is_resumed_behind_its_last_event() {
    let (_client, mut server, recorder, stream) = heard(ConnectionLimits::default()).await;
    stream.send(format!("id: e1\nretry: 700\ndata: {}\n\n", notification("notifications/a")));
    recorder.saw(1).await;
    let start = tokio::time::Instant::now();
    drop(stream);
    let asked = server.next_is("GET").await;
    assert_eq!(asked.header("last-event-id"), Some("e1"));
    assert!((700..900).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    // A server that is away for a while is asked again and again, ever more slowly.
    asked.status(503);
    for _ in 0..10 {
        server.next_is("GET").await.status(503);
    }
    let waited = tokio::time::Instant::now();
    let asked = server.next_is("GET").await;
    assert!(waited.elapsed() >= Duration::from_secs(30));
    let stream = asked.events();
    stream.event(&notification("notifications/b"));
    recorder.saw(2).await;
    // A stream that brought something is opened again as fast as at first.
    let waited = tokio::time::Instant::now();
    drop(stream);
    server.next_is("GET").await;
    assert!(waited.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_ends_the_reading_of_its_stream() {
    let (client, mut server, _) = opened(ConnectionLimits::default()).await;
    drop(listening(&client, &mut server).await);
    server.next_is("GET").await.status(404);
    server.is_left_alone().await;
}

#[tokio::test(start_paused = true)]
async fn opening_again_replaces_the_stream() {
    let (client, mut server, _, stream) = heard(ConnectionLimits::default()).await;
    initialize(&client, &mut server, "s1").await;
    stream.is_closed().await;
    let _stream = listening(&client, &mut server).await;
    server.is_left_alone().await;
}

#[tokio::test(start_paused = true)]
async fn closing_ends_the_session_and_everything_it_started() {
    let (client, mut server, _, stream) = heard(ConnectionLimits::default()).await;
    let closing = client.clone();
    let session = Arc::new(Session::new(REVISION));
    let closing = tokio::spawn(async move { closing.close(Some(&session)).await });
    let asked = server.next_is("DELETE").await;
    assert_eq!(asked.header("mcp-session-id"), Some("s1"));
    assert_eq!(asked.header("mcp-protocol-version"), Some("2025-11-25"));
    asked.status(204);
    closing.await.unwrap();
    stream.is_closed().await;
    assert_eq!(start(&client, list()).await.unwrap().unwrap_err().origin(), Origin::Connection);
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_a_server_that_hangs() {
    let (client, mut server, _) = opened(ConnectionLimits::default()).await;
    let closing = tokio::spawn(async move { client.close(None).await });
    let asked = server.next_is("DELETE").await;
    closing.await.unwrap();
    asked.given_up().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_client_ends_everything_it_started() {
    let (client, mut server, _, stream) = heard(ConnectionLimits::default()).await;
    let clone = client.clone();
    drop(client);
    let call = start(&clone, list());
    server.next().await.ok();
    is_ok(call.await);
    drop(clone);
    stream.is_closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_notification_that_nobody_accepts_ends_in_time() {
    let (client, mut server, _) = opened(ConnectionLimits::default()).await;
    let sent = start(&client, initialized());
    let asked = server.next().await;
    assert_eq!(sent.await.unwrap().unwrap_err().origin(), Origin::Timeout);
    asked.given_up().await;
}

#[tokio::test(start_paused = true)]
async fn the_answer_that_opens_a_session_may_come_by_a_stream_and_be_resumed() {
    let (client, mut server, _) = connected();
    let call = start(&client, Request::call("initialize", Params::new()));
    let headers = [("content-type", "text/event-stream"), ("mcp-session-id", "s1")];
    let stream = server.next().await.start(200, &headers);
    stream.event(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let answer = server.next().await;
    assert_eq!(answer.header("mcp-session-id"), Some("s1"));
    answer.status(202);
    stream.send("id: 1\ndata:\n\n");
    drop(stream);
    let asked = server.next_is("GET").await;
    assert_eq!(asked.header("mcp-session-id"), Some("s1"));
    asked.events().event(&reply(1));
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn an_id_that_the_server_uses_again_is_that_of_its_new_request() {
    let (builder, mut server) = server();
    let (service, mut requests) = handed();
    let client = builder.connect_with(service).unwrap();
    let sent = tokio::spawn(tower_service::Service::call(&mut client.clone(), initialized()));
    server.next_is("POST").await.status(202);
    let unasked = server.next_is("GET").await.events();
    sent.await.unwrap().unwrap();
    let ask = r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    // All at once, so that the old request is told to end but has had no time to.
    unasked.send([ask, cancel, ask].map(|message| format!("data: {message}\n\n")).concat());
    let [old, new] = [requests.next().await, requests.next().await];
    settle().await;
    assert!(old.is_dropped() && !new.is_dropped());
    unasked.event(cancel);
    settle().await;
    assert!(new.is_dropped());
    requests.none();
}
