//! Callers that do not take what is streamed to them.

use std::time::Duration;

use mgp_client_sdk::StreamPart;
use serde_json::json;
use tokio::time::Instant;

use crate::host::say;
use crate::leg::{Leg, Transport};
use crate::raw::{CHUNK, Raw, STREAMING};
use crate::runner::tests;
use crate::server::Kind;

tests![
    a_reader_that_stops_holds_up_its_own_stream_only if has_own_stream,
    a_reader_that_stops_lets_others_on_its_connection_go_on if Leg::is_memory,
    a_slow_reader_slows_the_server_down_and_misses_nothing if Leg::is_memory,
    a_slow_reader_of_a_fast_server_keeps_its_call if Leg::is_memory,
    a_caller_who_pauses_for_too_long_loses_its_call_and_no_other if Leg::is_memory,
    a_caller_who_reads_nothing_loses_its_call if Leg::is_memory,
];

/// Returns whether each call has a way back of its own.
fn has_own_stream(leg: Leg) -> bool {
    leg.transport == Transport::Http
}

/// A number above that of the messages on their way between a server and a reader that has stopped.
const IN_BETWEEN: u64 = 8000;

/// Waits until nothing more has been streamed for a while, and says how much was.
async fn stalled(state: &crate::server::State) -> u64 {
    let (mut last, mut equal) = (0, 0);
    for _ in 0..1000 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = state.poured.lock().chunks;
        equal = if now == last && now > 0 { equal + 1 } else { 0 };
        if equal == 10 {
            return now;
        }
        last = now;
    }
    panic!("it never stopped: {last}");
}

async fn a_reader_that_stops_holds_up_its_own_stream_only(leg: Leg) {
    let (host, client) = leg.connect().await;
    let mut streamed = client.call_tool("pour", ()).stream().unwrap();
    assert!(matches!(streamed.next().await, Some(StreamPart::Chunk(_))));
    let poured = stalled(&host.state).await;
    assert!(poured < IN_BETWEEN, "{poured}");
    let began = Instant::now();
    assert_eq!(say(&client, "poured").await, poured.to_string());
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    drop(streamed);
    host.state.stopped.notified().await;
}

// covers: MGP-14.3-11
async fn a_reader_that_stops_lets_others_on_its_connection_go_on(leg: Leg) {
    tokio::time::pause();
    let (host, client) = leg.connect().await;
    let mut streamed = client.call_tool("pour", ()).stream().unwrap();
    assert!(matches!(streamed.next().await, Some(StreamPart::Chunk(_))));
    let poured = stalled(&host.state).await;
    assert!(poured < IN_BETWEEN, "{poured}");
    // They wait for the reader as long as others may be kept waiting, and not each time again.
    let began = Instant::now();
    for _ in 0..3 {
        say(&client, "poured").await;
    }
    assert_eq!(began.elapsed().as_secs(), 4, "{:?}", began.elapsed());
    host.state.stopped.notified().await;
    while let Some(part) = streamed.next().await {
        assert!(matches!(part, StreamPart::Chunk(_)), "{part:?}");
    }
    assert_eq!(streamed.finish().await.unwrap_err().code(), 3001);
}

async fn a_slow_reader_slows_the_server_down_and_misses_nothing(leg: Leg) {
    tokio::time::pause();
    let (host, client) = leg.connect().await;
    let mut streamed = client.call_tool("tick", ()).stream().unwrap();
    for index in 0..4000 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let Some(StreamPart::Chunk(chunk)) = streamed.next().await else { panic!("no chunk {index}") };
        assert_eq!(chunk.index, index);
        let ahead = host.state.poured.lock().chunks - index;
        assert!(ahead < 500, "{ahead} at {index}");
    }
    // The server does not send faster than it is read, so others wait for nothing.
    let began = Instant::now();
    say(&client, "poured").await;
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
}

async fn a_slow_reader_of_a_fast_server_keeps_its_call(leg: Leg) {
    tokio::time::pause();
    let (_host, client) = leg.connect().await;
    let mut streamed = client.call_tool("gush", ()).stream().unwrap();
    for index in 0..4000 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let Some(StreamPart::Chunk(chunk)) = streamed.next().await else { panic!("no chunk {index}") };
        assert_eq!(chunk.index, index);
    }
}

// covers: MGP-14.3-11
async fn a_caller_who_pauses_for_too_long_loses_its_call_and_no_other(leg: Leg) {
    tokio::time::pause();
    let mut raw = Raw::open(leg, Kind::Mgp, STREAMING).await;
    raw.call(1, "pour", json!({}), json!({"stream": true})).await;
    raw.told(CHUNK).await;
    raw.tell("notifications/mgp.stream.pace", json!({"request_id": 1, "max_chunks_per_second": 0})).await;
    raw.call(2, "add", json!({}), json!(null)).await;
    assert_eq!(raw.answer(2).await["result"]["content"][0]["text"], "0");
    let began = Instant::now();
    let error = raw.answer(1).await["error"].clone();
    assert_eq!((&error["code"], began.elapsed().as_secs()), (&json!(3001), 10), "{error}");
    assert_eq!(error["data"]["_mgp"]["retryable"], false);
    raw.state.stopped.notified().await;
    assert_eq!(raw.state.poured.lock().ended, Some(3001));
    raw.call(3, "add", json!({}), json!(null)).await;
    assert_eq!(raw.answer(3).await["result"]["content"][0]["text"], "0");
}

// covers: MGP-14.3-11
async fn a_caller_who_reads_nothing_loses_its_call(leg: Leg) {
    tokio::time::pause();
    let mut raw = Raw::open(leg, Kind::Mgp, STREAMING).await;
    raw.call(1, "pour", json!({}), json!({"stream": true})).await;
    let poured = stalled(&raw.state).await;
    assert!(poured < IN_BETWEEN, "{poured}");
    tokio::time::sleep(Duration::from_secs(12)).await;
    assert_eq!(raw.state.poured.lock().ended, Some(3001));
    raw.state.stopped.notified().await;
    assert_eq!(raw.answer(1).await["error"]["code"], 3001);
    let chunks = raw.params(CHUNK);
    assert!(chunks.iter().enumerate().all(|(index, chunk)| chunk["index"] == index));
    assert_eq!(chunks.len() as u64, raw.state.poured.lock().chunks);
}
