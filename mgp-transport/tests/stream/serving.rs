//! The side that serves the calls.

use mgp_transport::ConnectionLimits;
use mgp_types::mgp::method;
use mgp_types::{Method, Request, Response, StreamId};

use crate::support::*;

fn server() -> (Peer, Requests) {
    let (service, requests) = handed();
    (connected(service, ConnectionLimits::default()).1, requests)
}

fn call(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{}}}}"#)
}

fn cancel(id: &str, named: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"mgp/stream/cancel","params":{{{named}}}}}"#)
}

// covers: MGP-12.4-01, MGP-12.4-02, MGP-12.6-02, MGP-13.4-04
#[tokio::test(start_paused = true)]
async fn each_call_is_named_as_its_caller_wrote_it() {
    let (mut peer, mut requests) = server();
    let ids = ["20", r#""20""#, r#""a\"b\\""#, "-7"];
    let mut asked = Vec::new();
    for id in ids {
        peer.send(&call(id)).await;
        asked.push(requests.next().await);
    }
    for (method, name) in [
        (Method::STREAM_CHUNK, "stream.chunk"),
        (Method::STREAM_PROGRESS, "stream.progress"),
        (Method::new(method::CALLBACK_REQUEST), "callback.request"),
        (Method::new(method::STREAM_GAP_UNRECOVERABLE), "stream.gap_unrecoverable"),
    ] {
        for (call, id) in asked.iter().zip(ids) {
            call.say(method.clone(), r#"{"n":1}"#).await;
            assert_eq!(peer.next_notification().await, format!(r#"{name} {{"request_id":{id},"n":1}}"#));
        }
    }
    for (call, id) in asked.into_iter().zip(ids) {
        call.answer("{}");
        assert_eq!(peer.line().await, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
}

#[tokio::test(start_paused = true)]
async fn a_relayed_name_is_replaced() {
    let (mut peer, mut requests) = server();
    peer.send(&call("1")).await;
    let call = requests.next().await;
    call.say(Method::STREAM_CHUNK, r#"{"index":0,"request_id":99}"#).await;
    assert_eq!(peer.next_notification().await, r#"stream.chunk {"request_id":1,"index":0}"#);
}

#[tokio::test(start_paused = true)]
async fn other_notifications_are_not_named() {
    let (mut peer, mut requests) = server();
    peer.send(&call("1")).await;
    requests.next().await.say(Method::PROGRESS, r#"{"progress":1}"#).await;
    let line = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#;
    assert_eq!(peer.line().await, line);
}

/// However many there are, and whether or not the handler is done at its first look.
#[tokio::test(start_paused = true)]
async fn chunks_leave_before_the_answer_of_a_handler_that_does_not_wait() {
    for chunks in [1, 100, 256, 257, 1000] {
        let service = Does(move |request: Request| async move {
            for index in 0..chunks {
                let chunk = notification(Method::STREAM_CHUNK, &format!(r#"{{"index":{index}}}"#));
                request.context.outbox.notify(chunk).await?;
            }
            Ok(Response::empty())
        });
        let (_, mut peer) = connected(service, ConnectionLimits::default());
        peer.send(&call("1")).await;
        for index in 0..chunks {
            assert_eq!(
                peer.next_notification().await,
                format!(r#"stream.chunk {{"request_id":1,"index":{index}}}"#)
            );
        }
        assert_eq!(peer.line().await, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    }
}

/// The answer comes through another channel than the chunks, and overtakes none of them.
#[tokio::test(start_paused = true)]
async fn an_answer_waits_for_the_chunks_of_many_calls() {
    let service = Does(move |request: Request| async move {
        tokio::task::yield_now().await;
        for index in 0..20 {
            let chunk = notification(Method::STREAM_CHUNK, &format!(r#"{{"index":{index}}}"#));
            request.context.outbox.notify(chunk).await?;
        }
        Ok(Response::empty())
    });
    let (_, mut peer) = connected(service, ConnectionLimits::default());
    for id in 0..50 {
        peer.send(&call(&id.to_string())).await;
    }
    let mut next = [0; 50];
    let mut answered = 0;
    while answered < 50 {
        let line = peer.line().await;
        if let Some(rest) = line.strip_prefix(r#"{"jsonrpc":"2.0","id":"#) {
            let id: usize = rest.split(',').next().unwrap().parse().unwrap();
            assert_eq!(next[id], 20, "{line}");
            answered += 1;
        } else {
            let (_, rest) = line.split_once(r#""request_id":"#).unwrap();
            let (id, index) = rest.trim_end_matches('}').split_once(r#","index":"#).unwrap();
            let id: usize = id.parse().unwrap();
            assert_eq!(index, next[id].to_string());
            next[id] += 1;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_chunk_behind_the_answer_is_dropped_though_the_id_is_in_use_again() {
    let (mut peer, mut requests) = server();
    peer.send(&call("1")).await;
    let first = requests.next().await;
    first.say(Method::STREAM_CHUNK, "{}").await;
    assert_eq!(peer.next_notification().await, r#"stream.chunk {"request_id":1}"#);
    let late = first.request.clone();
    first.answer("{}");
    peer.line().await;

    peer.send(&call("1")).await;
    let second = requests.next().await;
    late.context.outbox.notify(notification(Method::STREAM_CHUNK, r#"{"late":1}"#)).await.unwrap();
    second.say(Method::STREAM_CHUNK, r#"{"late":0}"#).await;
    assert_eq!(peer.next_notification().await, r#"stream.chunk {"request_id":1,"late":0}"#);
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    settle().await;
    second.say(Method::STREAM_CHUNK, r#"{"late":1}"#).await;
    peer.is_quiet().await;
}

// covers: MGP-12.7-01, MGP-12.7-02
#[tokio::test(start_paused = true)]
async fn a_cancellation_finds_the_stream_of_the_call_it_names() {
    let (mut peer, mut requests) = server();
    let mut streams = Vec::new();
    let mut work = Vec::new();
    for id in ["20", r#""20""#] {
        peer.send(&call(id)).await;
        let call = requests.next().await;
        streams.push(call.stream());
        work.push(call);
    }
    assert_ne!(streams[0], streams[1]);
    for (named, stream) in [
        (r#""request_id":20,"reason":"r""#, streams[0]),
        (r#""reason":"r","request_id":"20""#, streams[1]),
        (r#""reason":"r","request_id":21"#, StreamId::STANDALONE),
        (r#""reason":"r","request_id":30"#, StreamId::STANDALONE),
    ] {
        peer.send(&cancel("30", named)).await;
        let cancellation = requests.next().await;
        assert_eq!(
            (cancellation.request.kind, cancellation.stream()),
            (mgp_types::RequestKind::Call, stream)
        );
        assert_eq!(text(&cancellation.request.params), r#"{"reason":"r"}"#);
        cancellation.answer(r#"{"cancelled":true}"#);
        assert_eq!(peer.line().await, r#"{"jsonrpc":"2.0","id":30,"result":{"cancelled":true}}"#);
    }
    work.remove(0).answer("{}");
    peer.line().await;
    peer.send(&cancel("31", r#""request_id":20"#)).await;
    assert_eq!(requests.next().await.stream(), StreamId::STANDALONE, "the call is over");
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_that_names_no_call_is_refused() {
    let (mut peer, mut requests) = server();
    for named in ["", r#""request_id":null"#, r#""request_id":1.5"#, r#""request_id":{"id":1}"#] {
        peer.send(&cancel("1", named)).await;
        let answer = peer.line().await;
        assert!(
            answer.contains(r#""id":1,"error":{"code":-32602,"message":"`request_id` must be"#),
            "{answer}"
        );
    }
    peer.tell("stream.pace", r#""max_chunks_per_second":1"#).await;
    peer.tell("stream.gap", r#""request_id":[],"missing_indices":[1]"#).await;
    settle().await;
    requests.none();
}

#[tokio::test(start_paused = true)]
async fn pace_and_gaps_find_the_stream_of_the_call_and_can_be_answered_on_it() {
    let (mut peer, mut requests) = server();
    peer.send(&call(r#""s""#)).await;
    let call = requests.next().await;
    for (method, members) in
        [("stream.pace", r#""max_chunks_per_second":2.5"#), ("stream.gap", r#""missing_indices":[0]"#)]
    {
        peer.tell(method, &format!(r#""request_id":"s",{members}"#)).await;
        let received = requests.next().await;
        assert_eq!(
            (received.request.kind, received.stream()),
            (mgp_types::RequestKind::Notify, call.stream())
        );
        assert_eq!(text(&received.request.params), format!("{{{members}}}"));
        received.say(Method::STREAM_CHUNK, r#"{"index":0}"#).await;
        assert_eq!(peer.next_notification().await, r#"stream.chunk {"request_id":"s","index":0}"#);
    }
    peer.tell("stream.pace", r#""request_id":"other","max_chunks_per_second":1"#).await;
    assert_eq!(requests.next().await.stream(), StreamId::STANDALONE);
}

#[tokio::test(start_paused = true)]
async fn messages_reach_the_service_in_the_order_they_came() {
    let (mut peer, mut requests) = server();
    peer.send(&call("1")).await;
    peer.tell("stream.pace", r#""request_id":1,"max_chunks_per_second":1"#).await;
    peer.send(&cancel("2", r#""request_id":1"#)).await;
    let mut seen = Vec::new();
    let mut held = Vec::new();
    for _ in 0..3 {
        let asked = requests.next().await;
        seen.push(asked.request.method.to_string());
        held.push(asked);
    }
    assert_eq!(seen, ["tools/call", method::STREAM_PACE, method::STREAM_CANCEL]);
    assert!(held.iter().all(|asked| asked.stream() == held[0].stream()));
}
