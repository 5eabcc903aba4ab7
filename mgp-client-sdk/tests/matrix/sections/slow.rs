//! Callers that do not take what is streamed to them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mgp_client_sdk::StreamPart;
use tokio::time::Instant;

use super::connect;
use crate::host::say;
use crate::leg::{Leg, Transport};
use crate::runner::tests;

tests![
    a_reader_that_stops_holds_up_its_own_stream_only if has_own_stream,
    a_reader_that_stops_lets_others_on_its_connection_go_on if Leg::is_memory,
];

/// Returns whether each call has a way back of its own.
fn has_own_stream(leg: Leg) -> bool {
    leg.transport == Transport::Http
}

/// A number above that of the messages on their way between a server and a reader that has stopped.
const IN_BETWEEN: u64 = 8000;

/// Waits until nothing more has been streamed for a while, and says how much was.
async fn stalled(state: &crate::sections::server::State) -> u64 {
    let (mut last, mut equal) = (0, 0);
    for _ in 0..1000 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = state.poured.load(Ordering::Relaxed);
        equal = if now == last && now > 0 { equal + 1 } else { 0 };
        if equal == 10 {
            return now;
        }
        last = now;
    }
    panic!("it never stopped: {last}");
}

async fn a_reader_that_stops_holds_up_its_own_stream_only(leg: Leg) {
    let (host, client) = connect(leg).await;
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
    let (host, client) = connect(leg).await;
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
