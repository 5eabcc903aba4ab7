//! Messages about a call: their receivers, and the ids under which ours leave.

use std::sync::Arc;
use std::time::Duration;

use mgp_transport::http::HttpClient;
use mgp_transport::{ConnectionLimits, OriginatingCall};
use mgp_types::mgp::StreamCancelled;
use mgp_types::{Method, Outbox, Request, Response, Revision, StreamId, code};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::server::*;
use crate::support::{Does, Reader, followed, reader, reader_of, settle};

fn chunk(id: i64, index: usize) -> String {
    about(id, "stream.chunk", &format!(r#""index":{index}"#))
}

fn about(id: i64, method: &str, members: &str) -> String {
    let method = format!("notifications/mgp.{method}");
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"request_id":{id},{members}}}}}"#)
}

fn indices(reader: &Reader) -> Vec<usize> {
    let index = |noted: &String| noted.split(r#""index":"#).nth(1)?.trim_end_matches('}').parse().ok();
    reader.noted().iter().filter_map(index).collect()
}

/// Returns a client, and its server, which answers in a session or without.
fn client(limits: ConnectionLimits) -> (HttpClient<Recorder>, Server, Recorder) {
    let (builder, server) = server();
    let recorder = Recorder::default();
    (builder.limits(limits).connect_with(recorder.clone()).unwrap(), server, recorder)
}

fn of(revision: Revision, reader: &Arc<Reader>) -> Request {
    within(revision, followed(reader))
}

fn on(stream: StreamId, revision: Revision, mut request: Request) -> Request {
    request.context.outbox = Outbox::on(stream);
    within(revision, request)
}

const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

// covers: MGP-12.4-01, MGP-12.4-02, MGP-12.6-02
#[tokio::test(start_paused = true)]
async fn what_is_said_about_a_call_comes_to_its_outbox_before_the_answer() {
    for revision in ERAS {
        let (client, mut server, recorder) = client(ConnectionLimits::default());
        let reader = reader();
        let request = of(revision, &reader);
        let stream = request.context.outbox.stream();
        let call = start(&client, request);
        let (id, events) = server.streams().await;
        for index in 0..50 {
            events.event(&chunk(id, index));
        }
        events.event(&chunk(id + 7, 50));
        events.event(r#"{"jsonrpc":"2.0","method":"notifications/mgp.stream.chunk","params":{"index":51}}"#);
        events.event(&about(id, "stream.progress", r#""progress":1"#));
        events.event(&reply(id));
        drop(events);
        is_ok(call.await);
        assert_eq!(indices(&reader), (0..50).collect::<Vec<_>>());
        assert_eq!(reader.noted()[50..], [r#"stream.progress {"progress":1}"#]);
        assert!(reader.streams().iter().all(|seen| *seen == stream));
        assert_eq!(recorder.seen(), Vec::<String>::new());
        assert_eq!(Arc::strong_count(&reader), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_own_stream_of_a_call_waits_for_its_reader_as_long_as_it_takes() {
    let (client, mut server, _) = client(ConnectionLimits::default());
    let reader = reader_of(0);
    let call = start(&client, of(Revision::V2026_07_28, &reader));
    let (id, events) = server.streams().await;
    let text = "x".repeat(10_000);
    for _ in 0..100 {
        events.event(&about(id, "stream.chunk", &format!(r#""text":"{text}""#)));
    }
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(!call.is_finished());
    // What is sent meanwhile stays where it is.
    assert!(events.waiting() > 50, "{}", events.waiting());
    reader.permits.add_permits(100);
    events.event(&reply(id));
    is_ok(call.await);
    assert_eq!(reader.noted().len(), 100);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_to_a_call_that_listens_comes_to_its_outbox() {
    let (client, mut server, recorder) = client(ConnectionLimits::default());
    let reader = reader();
    let mut request = of(Revision::V2026_07_28, &reader);
    request.method = Method::LISTEN;
    let _call = start(&client, request);
    let (id, stream) = server.streams().await;
    let notification = |id: i64| {
        let meta = format!(r#"{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"_meta":{meta}}}}}"#)
    };
    stream.event(&notification(id));
    stream.event(&notification(id + 1));
    assert_eq!(recorder.saw(1).await, ["notifications/x"]);
    assert_eq!(reader.noted(), ["notifications/x {}"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_outbox_leaves_it_to_the_service() {
    for revision in ERAS {
        let (client, mut server, recorder) = client(ConnectionLimits::default());
        let call = start(&client, within(revision, Request::call("tools/list", params("{}"))));
        let (id, events) = server.streams().await;
        events.event(&chunk(id, 0));
        events.event(&chunk(id + 1, 0));
        events.event(&reply(id));
        is_ok(call.await);
        assert_eq!(recorder.seen(), ["notifications/mgp.stream.chunk"]);
    }
}

// covers: MGP-13.4-02, MGP-13.4-04
#[tokio::test(start_paused = true)]
async fn a_callback_goes_to_the_service_with_the_outbox_of_its_call() {
    let (builder, mut server) = server();
    let passing_on = Does(|request: Request| async move {
        request.context.outbox.clone().notify(request).await?;
        Ok(Response::empty())
    });
    let client = builder.connect_with(passing_on).unwrap();
    let reader = reader();
    let call = start(&client, of(Revision::V2026_07_28, &reader));
    let (id, events) = server.streams().await;
    events.event(&about(id, "callback.request", r#""callback_id":"cb""#));
    events.event(&reply(id));
    is_ok(call.await);
    settle().await;
    assert_eq!(reader.noted(), [r#"callback.request {"callback_id":"cb"}"#]);
}

#[tokio::test(start_paused = true)]
async fn a_question_says_on_the_stream_of_which_call_it_came() {
    let during = Arc::<Mutex<Vec<Option<OriginatingCall>>>>::default();
    let (builder, mut server) = server();
    let noted = Arc::clone(&during);
    let service = Does(move |request: Request| {
        noted.lock().push(request.extensions.get().copied());
        async { Ok(Response::empty()) }
    });
    let client = builder.connect_with(service).unwrap();
    let mut streams = Vec::new();
    for followed_by in [Some(reader()), Some(reader()), None] {
        let request = match &followed_by {
            Some(reader) => of(Revision::V2025_11_25, reader),
            None => within(Revision::V2025_11_25, Request::call("tools/list", params("{}"))),
        };
        let stream = request.context.outbox.stream();
        let call = start(&client, request);
        let (id, events) = server.streams().await;
        events.event(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#);
        server.next_is("POST").await.status(202);
        events.event(&reply(id));
        is_ok(call.await);
        streams.push(followed_by.map(|_| OriginatingCall::new(stream)));
    }
    assert_eq!(*during.lock(), streams);
}

// covers: MGP-12.7-01, MGP-12.7-02, MGP-12.7-03
#[tokio::test(start_paused = true)]
async fn a_call_of_ours_is_named_by_its_id() {
    for revision in ERAS {
        let (client, mut server, _) = client(ConnectionLimits::default());
        let reader = reader();
        let request = of(revision, &reader);
        let stream = request.context.outbox.stream();
        let call = start(&client, request);
        let asked = server.next_is("POST").await;
        let id = asked.id();

        let cancel =
            || on(stream, revision, Request::call(Method::STREAM_CANCEL, params(r#"{"reason":"r"}"#)));
        let pace = || on(stream, revision, Request::notify("notifications/mgp.stream.pace", params("{}")));
        let cancelled = start(&client, cancel());
        let posted = server.next_is("POST").await;
        let sent = posted.message().get("params").unwrap();
        assert_eq!(sent.as_bytes(), format!(r#"{{"reason":"r","request_id":{id}}}"#).as_bytes());
        posted.ok();
        is_ok(cancelled.await);
        let paced = start(&client, pace());
        let posted = server.next_is("POST").await;
        assert_eq!(
            posted.message().get("params").unwrap().as_bytes(),
            format!(r#"{{"request_id":{id}}}"#).as_bytes()
        );
        posted.status(202);
        paced.await.unwrap().unwrap();

        asked.ok();
        is_ok(call.await);
        let answer = start(&client, cancel()).await.unwrap().unwrap();
        assert_eq!(answer.body::<StreamCancelled>().unwrap(), StreamCancelled::not_active());
        start(&client, pace()).await.unwrap().unwrap();
        server.is_left_alone().await;
    }
}

/// A client with a session and the stream of what comes unasked.
async fn listening(limits: ConnectionLimits) -> (HttpClient<Recorder>, Server, Recorder, Stream) {
    let (client, mut server, recorder) = client(limits);
    let initialized =
        within(Revision::V2025_11_25, Request::notify("notifications/initialized", params("{}")));
    let sent = start(&client, initialized);
    server.next_is("POST").await.status(202);
    let unasked = server.next_is("GET").await.events();
    sent.await.unwrap().unwrap();
    (client, server, recorder, unasked)
}

/// Servers that know no better send everything where a stream is open.
#[tokio::test(start_paused = true)]
async fn what_comes_on_the_stream_of_all_finds_its_call() {
    let (client, mut server, recorder, unasked) = listening(ConnectionLimits::default()).await;
    let reader = reader();
    let call = start(&client, of(Revision::V2025_11_25, &reader));
    let asked = server.next_is("POST").await;
    let id = asked.id();
    for index in 0..10 {
        unasked.event(&chunk(id, index));
    }
    unasked.event(&notification("notifications/later"));
    recorder.saw(1).await;
    asked.ok();
    is_ok(call.await);
    assert_eq!(indices(&reader), (0..10).collect::<Vec<_>>());
    unasked.event(&chunk(id, 10));
    settle().await;
    assert_eq!((recorder.seen().len(), indices(&reader).len()), (1, 10));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_holds_the_stream_of_all_up_for_a_while() {
    let mut limits = ConnectionLimits::default();
    limits.max_undelivered = 4;
    let (client, mut server, recorder, unasked) = listening(limits).await;
    let stuck = reader_of(0);
    let call = start(&client, of(Revision::V2025_11_25, &stuck));
    let asked = server.next_is("POST").await;
    let id = asked.id();
    let began = Instant::now();
    for index in 0..6 {
        unasked.event(&chunk(id, index));
        settle().await;
    }
    unasked.event(&notification("notifications/later"));
    let error = call.await.unwrap().unwrap_err();
    assert_eq!((error.code(), began.elapsed().as_secs()), (code::RESOURCE_EXHAUSTED, 5));
    let posted = server.next_is("POST").await;
    assert_eq!(posted.method(), "notifications/cancelled");
    assert_eq!(posted.message().get("params").unwrap().to::<serde_json::Value>().unwrap()["requestId"], id);
    recorder.saw(1).await;
    assert_eq!(began.elapsed().as_secs(), 5);
    assert_eq!(Arc::strong_count(&stuck), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_frees_its_outbox() {
    for revision in ERAS {
        let (client, mut server, _) = client(ConnectionLimits::default());
        let reader = reader_of(0);
        let call = start(&client, of(revision, &reader));
        let (id, events) = server.streams().await;
        events.event(&chunk(id, 0));
        settle().await;
        assert!(Arc::strong_count(&reader) > 1);
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        assert_eq!(Arc::strong_count(&reader), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_over_http_and_sse_are_followed_too() {
    let (builder, mut server) = server();
    let connecting = tokio::spawn(builder.connect_sse_with(Recorder::default()));
    let events = server.next_is("GET").await.events();
    events.send("event: endpoint\ndata: /messages\n\n");
    let client = connecting.await.unwrap().unwrap();
    let readers = [reader(), reader()];
    let requests = [0, 1].map(|at| of(Revision::V2024_11_05, &readers[at]));
    let stream = requests[0].context.outbox.stream();
    let calls = requests.map(|request| start(&client, request));
    let mut ids = Vec::new();
    for _ in 0..2 {
        let asked = server.next_is("POST").await;
        ids.push(asked.id());
        asked.status(202);
    }
    ids.sort_unstable();
    let cancelled =
        start(&client, on(stream, Revision::V2024_11_05, Request::call(Method::STREAM_CANCEL, params("{}"))));
    let posted = server.next_is("POST").await;
    assert_eq!(
        posted.message().get("params").unwrap().as_bytes(),
        format!(r#"{{"request_id":{}}}"#, ids[0]).as_bytes()
    );
    events.event(&reply(posted.id()));
    posted.status(202);
    is_ok(cancelled.await);
    for index in 0..20 {
        for id in &ids {
            events.event(&chunk(*id, index));
        }
    }
    for id in &ids {
        events.event(&reply(*id));
    }
    for (call, reader) in calls.into_iter().zip(&readers) {
        is_ok(call.await);
        assert_eq!(indices(reader), (0..20).collect::<Vec<_>>());
    }
}
