//! Messages about a call: their ids and their streams.

use mgp_transport::Accept;
use serde_json::{Value, json};

use crate::peer::*;
use crate::stack::chunk;

fn stream(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"stream"}}}}"#)
}

fn cancel(id: &str, named: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"mgp/stream/cancel","params":{{{named}"reason":"r"}}}}"#)
}

fn pace(named: &str) -> Ask {
    Ask::post(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/mgp.stream.pace","params":{{{named}"max_chunks_per_second":1}}}}"#
    ))
}

fn said(text: &str, id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/mgp.stream.chunk", "params": {"request_id": id, "text": text}})
}

async fn within<A: Accept>(peer: &Peer<A>, session: &str, body: String) -> Answer {
    peer.send(Ask::post(body).with("mcp-session-id", session)).await
}

/// Returns the next event that has a message.
async fn message(answer: &mut Answer) -> Value {
    loop {
        let event = answer.event().await.expect("an event comes");
        if !event.data.is_empty() {
            return serde_json::from_str(&event.data).unwrap();
        }
    }
}

// covers: MGP-12.4-01, MGP-12.4-02, MGP-12.7-02
#[tokio::test(start_paused = true)]
async fn each_call_of_a_session_is_named_as_its_caller_wrote_it() {
    for revision in ["2025-03-26", "2025-11-25"] {
        let peer = peer();
        let session = peer.open(revision).await;
        let ids = [json!(20), json!("20"), json!("a\"b")];
        let mut answers = Vec::new();
        for id in &ids {
            let mut answer = within(&peer, &session, stream(&id.to_string())).await;
            assert_eq!(message(&mut answer).await, said("first", id));
            answers.push(answer);
        }
        for (id, answer) in ids.iter().zip(&mut answers) {
            let own = cancel("30", &format!(r#""request_id":{id},"#));
            let cancelled = within(&peer, &session, own).await.json().await;
            assert_eq!(cancelled["result"], json!({"cancelled": true, "reason": "r", "named": false}));
            assert_eq!(message(answer).await, said("last", id));
            let paced = pace(&format!(r#""request_id":{id},"#)).with("mcp-session-id", &session);
            assert_eq!(peer.send(paced).await.status, 202);
            assert_eq!(message(answer).await, said("paced", id));
        }
        peer.world.gate.add_permits(3);
        for (id, answer) in ids.iter().zip(&mut answers) {
            assert_eq!(message(answer).await, json!({"jsonrpc": "2.0", "id": id, "result": {"done": true}}));
            let late = cancel("31", &format!(r#""request_id":{id},"#));
            let answer = within(&peer, &session, late).await.json().await;
            assert_eq!(answer["result"]["cancelled"], false);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_other_sessions_and_without_sessions_cannot_be_named() {
    let peer = peer();
    let one = peer.open("2025-11-25").await;
    let other = peer.open("2025-11-25").await;
    let mut streaming = within(&peer, &one, stream("1")).await;
    message(&mut streaming).await;
    let foreign = within(&peer, &other, cancel("2", r#""request_id":1,"#)).await.json().await;
    assert_eq!(foreign["result"]["cancelled"], false);
    let modern = peer.send(Ask::modern("mgp/stream/cancel", r#"{"request_id":1}"#)).await.json().await;
    assert_eq!((&modern["result"]["cancelled"], &modern["result"]["named"]), (&json!(false), &json!(false)));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_names_no_call_is_refused_or_dropped() {
    let peer = peer();
    let session = peer.open("2025-11-25").await;
    let seen = peer.world.seen.lock().len();
    for named in ["", r#""request_id":null,"#, r#""request_id":[1],"#] {
        let refused = within(&peer, &session, cancel("2", named)).await;
        assert_eq!(refused.status, 200);
        let refused = refused.json().await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(2), &json!(-32602)));
        assert!(refused["error"]["message"].as_str().unwrap().contains("`request_id` must be"));
        assert_eq!(peer.send(pace(named).with("mcp-session-id", &session)).await.status, 202);
    }
    assert_eq!(peer.refusal(Ask::modern("mgp/stream/cancel", r#"{"reason":"r"}"#)).await, (200, -32602));
    assert_eq!(peer.world.seen.lock().len(), seen);
}

// covers: MGP-12.4-02
#[tokio::test(start_paused = true)]
async fn chunks_ride_the_answer_of_a_call_without_a_session() {
    let peer = peer();
    let mut answer = peer.send(Ask::tool("stream")).await;
    assert_eq!(answer.data().await, said("first", &json!(1)));
    peer.world.gate.add_permits(1);
    assert_eq!(answer.data().await["result"]["done"], true);
    let call = peer.world.call.lock().clone();
    assert!(chunk(&call, "late").await.is_err(), "the stream has ended");
}

/// A handler may leave something behind that goes on talking.
#[tokio::test(start_paused = true)]
async fn what_is_said_about_a_call_that_is_over_is_lost_and_harms_nothing() {
    let peer = peer();
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = peer.open(revision).await;
        for id in 1..4 {
            let mut answer = within(&peer, &session, stream(&id.to_string())).await;
            assert_eq!(message(&mut answer).await, said("first", &json!(id)));
            peer.world.gate.add_permits(1);
            assert_eq!(message(&mut answer).await["result"]["done"], true);
            let call = peer.world.call.lock().clone();
            assert!(chunk(&call, "late").await.is_err());
            assert!(answer.event().await.is_none());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_a_batch_are_named_each() {
    let peer = peer();
    let session = peer.open("2025-03-26").await;
    let body = format!("[{},{}]", stream("1"), stream(r#""two""#));
    let mut answer = within(&peer, &session, body).await;
    assert_eq!(message(&mut answer).await, said("first", &json!(1)));
    assert_eq!(message(&mut answer).await, said("first", &json!("two")));
    let batch = format!("[{},{}]", cancel("3", r#""request_id":"two","#), cancel("4", ""));
    let cancelled = within(&peer, &session, batch).await.json().await;
    assert_eq!(
        (&cancelled[0]["result"]["cancelled"], &cancelled[1]["error"]["code"]),
        (&json!(true), &json!(-32602))
    );
    assert_eq!(message(&mut answer).await, said("last", &json!("two")));
    let two = peer.world.call.lock().clone();
    let stop = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"two"}}"#;
    within(&peer, &session, stop.to_owned()).await;
    settle().await;
    chunk(&two, "late").await.unwrap();
    peer.world.gate.add_permits(1);
    assert_eq!(message(&mut answer).await, json!([{"jsonrpc": "2.0", "id": 1, "result": {"done": true}}]));
}
