//! The side that makes the calls.

use std::sync::Arc;

use mgp_transport::ConnectionLimits;
use mgp_types::mgp::{StreamCancelled, method};
use mgp_types::{Method, Origin, Outbox, Params, Request, RequestKind, StreamId};

use crate::support::*;

fn cancel(stream: StreamId) -> Request {
    about(stream, Request::call(Method::STREAM_CANCEL, Params::parse(r#"{"reason":"user"}"#).unwrap()))
}

// covers: MGP-12.4-01, MGP-12.4-02, MGP-12.6-02
#[tokio::test(start_paused = true)]
async fn what_is_said_about_a_call_comes_to_its_outbox_before_the_answer() {
    let (wire, mut peer) = client(ConnectionLimits::default());
    let readers = [reader(), reader()];
    let requests = [followed(&readers[0]), followed(&readers[1])];
    let streams = requests.clone().map(|request| request.context.outbox.stream());
    let calls = requests.map(|request| start(&wire, request));
    let ids = [peer.asked("tools/call").await, peer.asked("tools/call").await];
    // All of it is there before the callers look.
    for index in 0..3 {
        for id in ids {
            peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":{index}"#)).await;
        }
    }
    peer.tell("stream.progress", &format!(r#""progress":1,"request_id":{}"#, ids[0])).await;
    // A string is never the number that it spells.
    peer.tell("stream.unmeant", &format!(r#""request_id":"{}""#, ids[0])).await;
    peer.tell("stream.later", &format!(r#""request_id":{}"#, ids[0])).await;
    peer.tell("stream.gap_unrecoverable", &format!(r#""request_id":{}"#, ids[1])).await;
    peer.answer(ids[1]).await;
    peer.answer(ids[0]).await;
    for call in calls {
        call.await.unwrap().unwrap();
    }
    let chunks = ["stream.chunk {\"index\":0}", "stream.chunk {\"index\":1}", "stream.chunk {\"index\":2}"];
    assert_eq!(readers[0].noted()[..3], chunks);
    assert_eq!(readers[0].noted()[3..], ["stream.progress {\"progress\":1}", "stream.later {}"]);
    assert_eq!(readers[1].noted()[..3], chunks);
    assert_eq!(readers[1].noted()[3..], ["stream.gap_unrecoverable {}"]);
    for (reader, stream) in readers.iter().zip(streams) {
        assert!(reader.streams().iter().all(|seen| *seen == stream));
    }
}

#[tokio::test(start_paused = true)]
async fn what_names_no_call_that_waits_is_dropped() {
    let (service, mut requests) = handed();
    let (wire, mut peer) = connected(service, ConnectionLimits::default());
    let reader = reader();
    let call = start(&wire, followed(&reader));
    let id = peer.asked("tools/call").await;
    // A call of the peer's own, which is not ours though it has an id.
    peer.send(r#"{"jsonrpc":"2.0","id":77,"method":"sampling/createMessage","params":{}}"#).await;
    let theirs = requests.next().await;
    for named in
        ["", r#""request_id":null,"#, r#""request_id":999,"#, r#""request_id":"x","#, r#""request_id":77,"#]
    {
        peer.tell("stream.chunk", &format!(r#"{named}"index":0"#)).await;
    }
    let (long, digits) = ("x".repeat(1 << 20), "1".repeat(1 << 20));
    let nested = format!(r#"{{"request_id":{id}}}"#);
    for named in [&format!("\"{long}\""), &format!("\"{digits}\""), &digits, &nested, &format!("[{id}]")] {
        peer.tell("stream.chunk", &format!(r#""request_id":{named},"index":0"#)).await;
    }
    for unknown in 1000..10_000 {
        peer.tell("stream.chunk", &format!(r#""request_id":{unknown},"index":0"#)).await;
    }
    theirs.answer("{}");
    assert!(peer.line().await.starts_with(r#"{"jsonrpc":"2.0","id":77,"result""#));
    peer.answer(id).await;
    peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":1"#)).await;
    call.await.unwrap().unwrap();
    settle().await;
    assert_eq!(reader.noted(), Vec::<String>::new());
    requests.none();
}

#[tokio::test(start_paused = true)]
async fn what_is_told_to_a_call_that_listens_comes_to_its_outbox() {
    let (service, mut requests) = handed();
    let (wire, mut peer) = connected(service, ConnectionLimits::default());
    let readers = [reader(), reader()];
    let [mut listening, calling] = [followed(&readers[0]), followed(&readers[1])];
    listening.method = Method::LISTEN;
    let _calls = [listening, calling].map(|request| start(&wire, request));
    let (id, other) = (peer.asked("subscriptions/listen").await, peer.asked("tools/call").await);
    let mut send = async |members: String, id: i64| {
        let tag = format!(r#""io.modelcontextprotocol/subscriptionId":{id}"#);
        let params = format!(r#"{{{members}"_meta":{{"a":1,{tag}}}}}"#);
        peer.send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{params}}}"#)).await;
    };
    send(String::new(), id).await;
    send(r#""uri":"a","#.into(), id).await;
    // No other call is told anything by this name.
    send(String::new(), other).await;
    send(String::new(), 99).await;
    for _ in 0..2 {
        assert_eq!(requests.next().await.request.method.as_str(), "notifications/x");
    }
    let heard = [r#"notifications/x {"_meta":{"a":1}}"#, r#"notifications/x {"uri":"a","_meta":{"a":1}}"#];
    assert_eq!(readers[0].noted(), heard);
    assert!(readers[1].noted().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_outbox_leaves_it_to_the_service() {
    let (service, mut requests) = handed();
    let (wire, mut peer) = connected(service, ConnectionLimits::default());
    let _call = start(&wire, Request::call("tools/call", Params::new()));
    let id = peer.asked("tools/call").await;
    peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":0"#)).await;
    let received = requests.next().await;
    assert_eq!((received.request.kind, received.stream()), (RequestKind::Notify, StreamId::STANDALONE));
    assert_eq!(text(&received.request.params), r#"{"index":0}"#);

    let stream = StreamId::fresh();
    let _call = start(&wire, about(stream, Request::call("tools/call", Params::new())));
    let id = peer.asked("tools/call").await;
    peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":0"#)).await;
    assert_eq!(requests.next().await.stream(), stream);
}

// covers: MGP-13.4-02, MGP-13.4-04
#[tokio::test(start_paused = true)]
async fn a_callback_goes_to_the_service_with_the_outbox_of_its_call() {
    let (service, mut requests) = handed();
    let (wire, mut peer) = connected(service, ConnectionLimits::default());
    let reader = reader();
    let request = followed(&reader);
    let stream = request.context.outbox.stream();
    let _call = start(&wire, request);
    let id = peer.asked("tools/call").await;
    peer.tell("callback.request", &format!(r#""callback_id":"cb","request_id":{id}"#)).await;
    let asked = requests.next().await;
    assert_eq!(asked.stream(), stream);
    assert_eq!(text(&asked.request.params), r#"{"callback_id":"cb"}"#);
    asked.say(Method::new(method::CALLBACK_REQUEST), r#"{"callback_id":"cb"}"#).await;
    assert_eq!(reader.noted(), [r#"callback.request {"callback_id":"cb"}"#]);

    for named in ["", r#","request_id":999"#, r#","request_id":[]"#] {
        peer.tell("callback.request", &format!(r#""callback_id":"cb"{named}"#)).await;
        let asked = requests.next().await;
        assert_eq!(asked.stream(), StreamId::STANDALONE);
        assert_eq!(text(&asked.request.params), r#"{"callback_id":"cb"}"#);
    }
}

// covers: MGP-12.7-01, MGP-12.7-02, MGP-12.7-03
#[tokio::test(start_paused = true)]
async fn a_call_of_ours_is_named_by_its_id() {
    let (wire, mut peer) = client(ConnectionLimits::default());
    let reader = reader();
    let request = followed(&reader);
    let stream = request.context.outbox.stream();
    let _other = start(&wire, followed(&reader));
    peer.asked("tools/call").await;
    let call = start(&wire, request.clone());
    let id = peer.asked("tools/call").await;

    // As a gateway has it: the message is on the stream, and its outbox leads somewhere.
    let mut relayed = cancel(stream);
    relayed.context.outbox = request.context.outbox;
    for cancellation in [cancel(stream), relayed] {
        let cancelled = start(&wire, cancellation);
        let line = peer.line().await;
        assert!(line.ends_with(&format!(r#""params":{{"reason":"user","request_id":{id}}}}}"#)), "{line}");
        let own = Params::parse(line).unwrap().get("id").unwrap().to::<i64>().unwrap();
        peer.answer(own).await;
        cancelled.await.unwrap().unwrap();
    }
    for (method, members) in [
        (method::STREAM_PACE, r#""max_chunks_per_second":1"#),
        (method::STREAM_GAP, r#""missing_indices":[0]"#),
    ] {
        let message = about(stream, notification(method, &format!("{{{members}}}")));
        wire_call(&wire, message).await;
        let name = method.trim_start_matches("notifications/mgp.");
        assert_eq!(peer.next_notification().await, format!(r#"{name} {{"request_id":{id},{members}}}"#));
    }

    peer.answer(id).await;
    call.await.unwrap().unwrap();
    wire_call(&wire, about(stream, notification(method::STREAM_PACE, "{}"))).await;
    let answer = start(&wire, cancel(stream)).await.unwrap().unwrap();
    assert_eq!(answer.body::<StreamCancelled>().unwrap(), StreamCancelled::not_active());
    peer.is_quiet().await;
}

async fn wire_call(wire: &mgp_transport::Wire, request: Request) {
    start(wire, request).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_taken_back_and_frees_everything() {
    let (wire, mut peer) = client(ConnectionLimits::default());
    let reader = reader_of(1);
    let call = start(&wire, followed(&reader));
    let id = peer.asked("tools/call").await;
    for index in 0..3 {
        peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":{index}"#)).await;
    }
    settle().await;
    assert_eq!(reader.noted().len(), 1);
    assert!(Arc::strong_count(&reader) > 1);
    call.abort();
    let line = peer.line().await;
    assert_eq!(
        line,
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
    );
    assert_eq!(Arc::strong_count(&reader), 1);
    peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":3"#)).await;
    settle().await;
    assert_eq!(reader.noted().len(), 1);

    let call = start(&wire, followed(&reader));
    let id = peer.asked("tools/call").await;
    peer.answer(id).await;
    call.await.unwrap().unwrap();
    assert_eq!(Arc::strong_count(&reader), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_ends_the_call_behind_what_came() {
    let (wire, mut peer) = client(ConnectionLimits::default());
    let reader = reader();
    let call = start(&wire, followed(&reader));
    let id = peer.asked("tools/call").await;
    peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":0"#)).await;
    drop(peer);
    assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Connection);
    assert_eq!(reader.noted(), [r#"stream.chunk {"index":0}"#]);
    let error = start(&wire, followed(&reader)).await.unwrap().unwrap_err();
    assert_eq!(error.origin(), Origin::Connection);
    assert_eq!(Arc::strong_count(&reader), 1);
}

#[tokio::test(start_paused = true)]
async fn an_outbox_that_fails_does_not_fail_the_call() {
    let (wire, mut peer) = client(ConnectionLimits::default());
    let (gone, _) = client(ConnectionLimits::default());
    settle().await;
    let mut request = Request::call("tools/call", Params::new());
    request.context.outbox = Outbox::new(Arc::new(gone), StreamId::fresh());
    let call = start(&wire, request);
    let id = peer.asked("tools/call").await;
    peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":0"#)).await;
    peer.answer(id).await;
    call.await.unwrap().unwrap();
}
