//! Calls that are stopped (§12.7): by the message for it, by dropping them, and with their connection.

use mgp_client_sdk::{StreamPart, StreamedCall};
use mgp_types::RpcService;
use serde_json::json;

use super::{builder, connect, plain_builder};
use crate::host::{Kind, say};
use crate::leg::{Leg, Transport};
use crate::runner::tests;
use crate::sections::streaming::{texts, value, whole};

tests![
    a_stopped_call_gives_what_there_was_and_is_answered if names_calls,
    a_call_of_a_request_of_its_own_is_stopped_by_dropping_it if |leg| !names_calls(leg),
    a_dropped_call_is_taken_back,
    closing_the_connection_ends_its_calls if |leg| leg.is_memory() || leg.transport == Transport::Http,
];

/// Returns whether requests know of each other: those over HTTP without a session are from anybody.
fn names_calls(leg: Leg) -> bool {
    !(leg.is_stateless() && leg.transport == Transport::Http)
}

/// Reads the two words that a call streams before it hangs.
async fn two_words<S: RpcService, T>(streamed: &mut StreamedCall<S, T>) {
    for (index, word) in ["one ", "two"].into_iter().enumerate() {
        let Some(StreamPart::Chunk(chunk)) = streamed.next().await else { panic!("no chunk") };
        assert_eq!((chunk.index, chunk.content.as_text()), (index as u64, Some(word)));
    }
}

// covers: MGP-12.7-01..06
async fn a_stopped_call_gives_what_there_was_and_is_answered(leg: Leg) {
    let (_host, client) = connect(leg).await;
    let mut streamed = whole(&client, "hang", &json!({})).stream().unwrap();
    two_words(&mut streamed).await;
    let answer = streamed.cancel(Some("user_cancelled")).await.unwrap();
    assert!(answer.cancelled);
    let partial = answer.partial_result.unwrap().content;
    assert_eq!((partial.len(), partial[0].as_text()), (1, Some("one two")));
    assert_eq!(say(&client, "stopped").await, "stopped");

    assert!(texts(&mut streamed).await.is_empty());
    let result = value(&streamed.finish().await.unwrap());
    assert_eq!(result["content"], json!([{"type": "text", "text": "one two"}]));
    let mgp = &result["_mgp"];
    assert_eq!(
        (&mgp["cancelled"], &mgp["chunks_sent"], &mgp["streamed"]),
        (&json!(true), &json!(2), &json!(true))
    );
}

async fn a_call_of_a_request_of_its_own_is_stopped_by_dropping_it(leg: Leg) {
    let (_host, client) = connect(leg).await;
    let mut streamed = client.call_tool("hang", ()).stream().unwrap();
    two_words(&mut streamed).await;
    let answer = streamed.cancel(None).await.unwrap();
    assert_eq!((answer.cancelled, answer.reason.as_deref()), (false, Some("not_active")));
    drop(streamed);
    assert_eq!(say(&client, "stopped").await, "stopped");
}

async fn a_dropped_call_is_taken_back(leg: Leg) {
    for builder in [builder(), plain_builder()] {
        let mut host = leg.host(Kind::Sections).await;
        let client = host.client(builder).await;
        let mut streamed = client.call_tool("hang", ()).stream().unwrap();
        if client.session().unwrap().mgp.is_some() {
            two_words(&mut streamed).await;
        } else {
            tokio::select! {
                part = streamed.next() => panic!("nothing streams: {part:?}"),
                begun = say(&client, "begun") => assert_eq!(begun, "begun"),
            }
        }
        drop(streamed);
        assert_eq!(say(&client, "stopped").await, "stopped");
    }
}

async fn closing_the_connection_ends_its_calls(leg: Leg) {
    if leg.is_memory() {
        // A server lets its calls go on for a moment.
        tokio::time::pause();
    }
    for gently in [true, false] {
        // A session over HTTP outlives the connections of its client, unless the client ends it.
        if !gently && !leg.is_stateless() && leg.transport == Transport::Http {
            continue;
        }
        let (host, client) = connect(leg).await;
        let mut streamed = client.call_tool("hang", ()).stream().unwrap();
        two_words(&mut streamed).await;
        let reading = tokio::spawn(async move { streamed.finish().await });
        if gently {
            client.close().await.unwrap();
        } else {
            // The call has a hold on the connection, as a client has.
            drop(client);
            reading.abort();
        }
        host.state.stopped.notified().await;
        match reading.await {
            Ok(outcome) => drop(outcome.unwrap_err()),
            Err(aborted) => assert!(aborted.is_cancelled()),
        }
    }
}
