//! Streams that end before the answer, in a session: the server may want to be asked again later.

use std::time::Duration;

use mgp_transport::http::{HttpClient, SessionLost};
use mgp_types::{Origin, Params, Request, Response, Revision};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::server::*;

type Call = JoinHandle<Result<Response, mgp_types::Error>>;

/// Returns a call whose stream has begun as `first` says.
async fn begun(first: &str) -> (HttpClient<Recorder>, Server, Call, Stream) {
    let (client, mut server, _) = connected();
    initialize(&client, &mut server, "s1").await;
    let call = start(&client, within(Revision::V2025_11_25, Request::call("tools/list", Params::new())));
    let stream = server.next().await.events();
    stream.send(first.to_owned());
    tokio::time::sleep(Duration::from_millis(50)).await;
    (client, server, call, stream)
}

// As `sse-retry` of the conformance suite.
#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_early_is_resumed_after_the_time_the_server_names() {
    let (_client, mut server, call, stream) = begun("id: event-1\nretry: 500\ndata: \n\n").await;
    let closed = Instant::now();
    drop(stream);
    let asked = server.next_is("GET").await;
    assert!((500..550).contains(&closed.elapsed().as_millis()), "{:?}", closed.elapsed());
    assert_eq!(asked.header("last-event-id"), Some("event-1"));
    assert_eq!(asked.header("mcp-session-id"), Some("s1"));
    assert_eq!(asked.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(asked.header("accept"), Some("text/event-stream"));
    let stream = asked.events();
    stream.send("id: event-2\nretry: 500\ndata: \n\n");
    stream.event(&reply(2));
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn a_server_may_be_polled_for_as_long_as_it_likes() {
    // Each answer brings a new id, or nothing at all.
    for step in [1, 0] {
        let (_client, mut server, call, stream) = begun("id: 0\nretry: 100\ndata:\n\n").await;
        drop(stream);
        for poll in 0..20 {
            let asked = server.next_is("GET").await;
            assert_eq!(asked.header("last-event-id"), Some(&*(poll * step).to_string()));
            let events = asked.events();
            if step > 0 {
                events.send(format!("id: {}\ndata:\n\n", poll + 1));
            }
        }
        server.next_is("GET").await.events().event(&reply(2));
        is_ok(call.await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_is_resumed_too() {
    let (_client, mut server, call, stream) = begun("id: 1\ndata:\n\nid: 2\ndata: {").await;
    stream.break_off();
    let asked = server.next_is("GET").await;
    assert_eq!(asked.header("last-event-id"), Some("1"));
    asked.events().event(&reply(2));
    is_ok(call.await);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_that_waits_to_be_resumed_takes_it_back() {
    let (_client, mut server, call, stream) = begun("id: 1\nretry: 5000\ndata:\n\n").await;
    drop(stream);
    tokio::time::sleep(Duration::from_millis(10)).await;
    call.abort();
    server.has_a_call_taken_back().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_resumed_fails_once_and_its_server_is_left_alone() {
    let ends = 200;
    for (case, first, answer, times, origin) in [
        ("a stream without ids cannot be resumed", "retry: 5\ndata:\n\n", ends, 0, Origin::Connection),
        ("the session is gone", "id: 1\nretry: 5\ndata:\n\n", 404, 1, Origin::Connection),
        ("nothing comes of it", "id: 1\nretry: 5\ndata:\n\n", 503, 5, Origin::Connection),
        ("nothing comes of it, and nobody asked for it", "id: 1\ndata:\n\n", ends, 5, Origin::Connection),
        ("the server does not resume", "id: 1\nretry: 5\ndata:\n\n", 405, 1, Origin::Misbehaved),
    ] {
        let (_client, mut server, call, stream) = begun(first).await;
        drop(stream);
        for _ in 0..times {
            let asked = server.next_is("GET").await;
            if answer == ends { drop(asked.events()) } else { asked.status(answer) }
        }
        let error = call.await.unwrap().unwrap_err();
        assert!(error.origin() == origin && !SessionLost::is_behind(&error), "{case}: {error:?}");
        server.is_left_alone().await;
    }
}
