//! The order of messages: an earlier one leaves first, even though the runtime lets a task take only so much at once.

use std::collections::HashSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use mgp_transport::ConnectionLimits;
use mgp_types::{Method, Object, Params, RawJson, Request, Response};
use tokio::sync::Semaphore;
use tower_service::Service;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn what_a_handler_says_leaves_before_its_answer() {
    let gate = Arc::new(Semaphore::new(0));
    let passing = Arc::clone(&gate);
    let service = Does(move |request: Request| {
        let gate = Arc::clone(&passing);
        async move {
            gate.acquire().await.unwrap().forget();
            let own = request.params.get("n").unwrap();
            for _ in 0..3 {
                let mut params = Object::new();
                params.set("n", own.clone());
                request.context.outbox.notify(Request::notify(Method::PROGRESS, params)).await?;
            }
            Ok(Response::plain(RawJson::parse("{}").unwrap()))
        }
    });
    let (_wire, mut peer) = connected(service, ConnectionLimits::default());
    for n in 0..200 {
        peer.send(&format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"n":{n}}}}}"#))
            .await;
    }
    settle().await;
    gate.add_permits(200);
    let mut said = vec![0; 200];
    for _ in 0..200 * 4 {
        let line = Object::parse(peer.line().await).unwrap();
        if let Some(params) = line.get("params") {
            let n: usize = Object::from_raw(&params).unwrap().get("n").unwrap().to().unwrap();
            said[n] += 1;
        } else {
            let n: usize = line.get("id").unwrap().to().unwrap();
            assert_eq!(said[n], 3, "the answer to {n} came before what was said");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn all_of_many_calls_that_are_dropped_at_once_are_taken_back() {
    let (wire, mut peer) = client(ConnectionLimits::default());
    let mut calls: Vec<_> =
        (0..200).map(|_| Service::call(&mut wire.clone(), Request::call("ping", Params::new()))).collect();
    let each_once = poll_fn(|cx| {
        let pending = calls.iter_mut().filter_map(|call| call.as_mut().poll(cx).is_pending().then_some(()));
        Poll::Ready(pending.count())
    });
    assert_eq!(tokio::task::unconstrained(each_once).await, 200);
    drop(calls);
    let mut open = HashSet::new();
    for _ in 0..400 {
        let line = Object::parse(peer.line().await).unwrap();
        if let Some(id) = line.get("id") {
            assert!(open.insert(id.to::<i64>().unwrap()));
        } else {
            let params = Object::from_raw(&line.get("params").unwrap()).unwrap();
            assert!(open.remove(&params.get("requestId").unwrap().to().unwrap()), "it was sent before");
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[tokio::test(start_paused = true)]
async fn without_any_room_messages_go_one_at_a_time() {
    let mut limits = ConnectionLimits::default();
    limits.max_queued = 0;
    limits.max_unwritten_bytes = 0;
    limits.max_undelivered = 0;
    limits.max_undelivered_bytes = 0;
    let (wire, mut peer) = client(limits);
    let reader = reader();
    let calls: Vec<_> = (0..10).map(|_| start(&wire, followed(&reader))).collect();
    for call in calls {
        let id = peer.asked("tools/call").await;
        for index in 0..3 {
            peer.tell("stream.chunk", &format!(r#""request_id":{id},"index":{index}"#)).await;
        }
        peer.answer(id).await;
        call.await.unwrap().unwrap();
    }
    assert_eq!(reader.noted().len(), 30);
}
