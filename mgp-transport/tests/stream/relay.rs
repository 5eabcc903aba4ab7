//! A gateway: a service that passes requests on with their outbox, and messages about calls with theirs.

use mgp_transport::{ConnectionLimits, Wire};
use mgp_types::Request;
use tower_service::Service;

use crate::support::*;

/// Returns a client, a gateway between, and the server behind it.
fn gateway() -> (Peer, Peer) {
    let (inbound, mut unasked) = handed();
    let (wire, server) = connected(inbound, ConnectionLimits::default());
    // What the server asks during a call goes to the client whose call it is.
    tokio::spawn(async move {
        loop {
            let request = unasked.next().await.request;
            request.context.outbox.clone().notify(request).await.unwrap();
        }
    });
    let service = Does(move |request: Request| {
        let mut wire: Wire = wire.clone();
        async move { Service::call(&mut wire, request).await }
    });
    (connected(service, ConnectionLimits::default()).1, server)
}

fn call(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{}}}}"#)
}

// covers: MGP-12.4-02, MGP-12.6-02, MGP-13.4-04
#[tokio::test(start_paused = true)]
async fn each_side_sees_its_own_ids_in_the_right_order() {
    let (mut client, mut server) = gateway();
    let theirs = [r#""one""#, "7"];
    let mut ours = Vec::new();
    for id in theirs {
        client.send(&call(id)).await;
        ours.push(server.asked("tools/call").await);
    }
    for index in 0..100 {
        for id in &ours {
            server.tell("stream.chunk", &format!(r#""request_id":{id},"index":{index}"#)).await;
        }
    }
    for id in &ours {
        server.answer(*id).await;
    }
    let mut seen = [0; 2];
    let mut answers = 0;
    while answers < 2 {
        let line = client.line().await;
        let Some((_, rest)) = line.split_once(r#""request_id":"#) else {
            let side = usize::from(line == r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
            assert_eq!(seen[side], 100, "{line}");
            answers += 1;
            continue;
        };
        let side = usize::from(rest.starts_with('7'));
        assert_eq!(rest, format!(r#"{},"index":{}}}}}"#, theirs[side], seen[side]));
        seen[side] += 1;
    }

    client.send(&call(r#""two""#)).await;
    let id = server.asked("tools/call").await;
    server.tell("callback.request", &format!(r#""callback_id":"cb","request_id":{id}"#)).await;
    assert_eq!(
        client.next_notification().await,
        r#"callback.request {"request_id":"two","callback_id":"cb"}"#
    );
}

// covers: MGP-12.7-02
#[tokio::test(start_paused = true)]
async fn messages_about_a_call_are_passed_on_under_its_other_id() {
    let (mut client, mut server) = gateway();
    for _ in 0..3 {
        client.send(&call(r#""spare""#)).await;
        let id = server.asked("tools/call").await;
        server.answer(id).await;
        client.line().await;
    }
    client.send(&call(r#""x""#)).await;
    let id = server.asked("tools/call").await;
    client.tell("stream.pace", r#""request_id":"x","max_chunks_per_second":1"#).await;
    let paced = format!(r#"stream.pace {{"request_id":{id},"max_chunks_per_second":1}}"#);
    assert_eq!(server.next_notification().await, paced);
    let line = r#"{"jsonrpc":"2.0","id":"c","method":"mgp/stream/cancel","params":{"request_id":"x"}}"#;
    client.send(line).await;
    let line = server.line().await;
    assert!(line.contains(&format!(r#""params":{{"request_id":{id}}}"#)), "{line}");
    server.answer(id + 1).await;
    assert_eq!(client.line().await, r#"{"jsonrpc":"2.0","id":"c","result":{}}"#);

    client.tell("stream.pace", r#""request_id":"unknown","max_chunks_per_second":1"#).await;
    let line = r#"{"jsonrpc":"2.0","id":"d","method":"mgp/stream/cancel","params":{"request_id":"spare"}}"#;
    client.send(line).await;
    let over = r#"{"jsonrpc":"2.0","id":"d","result":{"cancelled":false,"reason":"not_active"}}"#;
    assert_eq!(client.line().await, over);
    server.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_its_call_back_takes_it_back_at_the_server() {
    let (mut client, mut server) = gateway();
    client.send(&call("1")).await;
    let id = server.asked("tools/call").await;
    server.tell("stream.chunk", &format!(r#""request_id":{id},"index":0"#)).await;
    client.next_notification().await;
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    assert!(server.line().await.contains(&format!(r#""requestId":{id}"#)));
    server.tell("stream.chunk", &format!(r#""request_id":{id},"index":1"#)).await;
    client.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_slows_the_server_behind_the_gateway() {
    let (mut client, mut server) = gateway();
    client.send(&call("1")).await;
    let id = server.asked("tools/call").await;
    let text = "x".repeat(10_000);
    let mut sent = 0;
    while sent < 10_000 {
        let chunk = format!(r#""request_id":{id},"text":"{text}""#);
        let sending = server.tell("stream.chunk", &chunk);
        if tokio::time::timeout(std::time::Duration::from_millis(10), sending).await.is_err() {
            break;
        }
        sent += 1;
    }
    assert!(sent < 1500, "{sent} chunks of 10 kB were taken in");
    for _ in 0..sent {
        client.next_notification().await;
    }
}
