//! A client that reads results while they are made, from a server that streams as it likes.

mod judge;
mod peer;
mod plan;
mod stage;

use std::sync::Arc;

use mgp_client_sdk::{StreamPart, StreamedCall};
use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::{ExtensionSet, Offer, StreamCancelled};
use mgp_types::{Error, Origin, RpcService};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::judge::violations;
use self::peer::Peer;
use self::plan::{Plan, Planned, Reader};
use crate::play::{PlainClient, builder, text};
use crate::runner::counted;
use crate::tally::Tally;

#[tokio::test(start_paused = true)]
async fn streams_of_a_server_that_has_its_own_way() {
    let least = [
        ("chunks", 10_000),
        ("gaps", 500),
        ("answered", 1000),
        ("timed out", 300),
        ("lost", 100),
        ("dropped", 50),
        ("stopped", 20),
        ("refused to stop", 20),
    ];
    counted(Plan::from_seed, run, &least).await;
}

/// Returns all faults of one run.
async fn run(plan: Plan, tally: Tally) -> Vec<String> {
    let peer = Peer::new(&plan);
    let offer = Offer::new(ExtensionSet::from_names(["streaming"]));
    let (reader, writer) = stage::open(&peer);
    let client = builder().mgp(offer).connect_io(reader, writer).await.unwrap();
    let start = Instant::now();
    let mut reading = JoinSet::new();
    for planned in plan.calls.clone() {
        reading.spawn(make(client.clone(), start, planned));
    }
    if let Some(crash) = plan.crash {
        let peer = Arc::clone(&peer);
        reading.spawn(async move {
            tokio::time::sleep_until(start + crash).await;
            peer.crash.happen();
            None
        });
    }
    let seen: Vec<_> = reading.join_all().await.into_iter().flatten().collect();
    // What was said last may still be on its way to the server.
    tokio::time::sleep(peer::SOON).await;
    for seen in &seen {
        seen.count(&tally);
    }
    violations(&plan, &peer.record(), &seen)
}

/// The outcome of one call.
#[derive(Debug)]
struct Seen {
    nonce: u64,
    started: Instant,
    parts: Vec<StreamPart>,
    /// True if all parts were read.
    to_the_end: bool,
    ended: Instant,
    /// The text of the answer; `None` if the call was dropped.
    outcome: Option<Result<String, Error>>,
    cancel: Option<Cancelled>,
}

impl Seen {
    fn count(&self, tally: &Tally) {
        let gaps = self.parts.iter().filter(|part| matches!(part, StreamPart::Gap { .. })).count();
        tally.add("gaps", gaps);
        tally.add("chunks", self.parts.iter().filter(|part| matches!(part, StreamPart::Chunk(_))).count());
        tally.count(match &self.outcome {
            None => "dropped",
            Some(Ok(_)) => "answered",
            Some(Err(error)) => match error.origin() {
                Origin::Timeout => "timed out",
                Origin::Connection => "lost",
                _ => "refused",
            },
        });
        match &self.cancel {
            Some(Cancelled { answer: Ok(answer), .. }) if answer.cancelled => tally.count("stopped"),
            Some(_) => tally.count("refused to stop"),
            None => {}
        }
    }
}

/// The outcome of stopping a call.
#[derive(Debug)]
struct Cancelled {
    asked: Instant,
    answered: Instant,
    answer: Result<StreamCancelled, Error>,
}

async fn make(client: PlainClient, start: Instant, planned: Planned) -> Option<Seen> {
    tokio::time::sleep_until(start + planned.at).await;
    let started = Instant::now();
    let call = client.call_tool("count", json!({"nonce": planned.nonce}));
    let mut stream = call.timeout(planned.timeout).max_timeout(planned.max_timeout).stream().unwrap();
    let mut parts = Vec::new();
    let mut cancel = None;
    let mut to_the_end = false;
    let mut is_dropped = false;
    match planned.reader {
        Reader::Eager => to_the_end = read(&mut stream, &mut parts, usize::MAX).await,
        Reader::Slow(pause) => {
            while !to_the_end {
                to_the_end = read(&mut stream, &mut parts, 1).await;
                tokio::time::sleep(pause).await;
            }
        }
        Reader::Stops(after, time) => {
            to_the_end = read(&mut stream, &mut parts, after).await;
            tokio::time::sleep(time).await;
            to_the_end = to_the_end || read(&mut stream, &mut parts, usize::MAX).await;
        }
        Reader::Finishes(after) => to_the_end = read(&mut stream, &mut parts, after).await,
        Reader::DropsAfter(time) => {
            let reading = read(&mut stream, &mut parts, usize::MAX);
            is_dropped = tokio::time::timeout(time, reading).await.is_err();
        }
        Reader::CancelsAfter(time) => {
            let reading = read(&mut stream, &mut parts, usize::MAX);
            if tokio::time::timeout(time, reading).await.is_err() {
                let asked = Instant::now();
                let answer = stream.cancel(Some("enough")).await;
                cancel = Some(Cancelled { asked, answered: Instant::now(), answer });
            }
            to_the_end = read(&mut stream, &mut parts, usize::MAX).await;
        }
    }
    let outcome = if is_dropped {
        drop(stream);
        None
    } else {
        Some(stream.finish().await.map(|result| text(&result)))
    };
    Some(Seen { nonce: planned.nonce, started, parts, to_the_end, ended: Instant::now(), outcome, cancel })
}

/// Reads so many parts at most. Whether that was all.
async fn read<S: RpcService>(
    stream: &mut StreamedCall<S, CallToolResult>,
    parts: &mut Vec<StreamPart>,
    most: usize,
) -> bool {
    for _ in 0..most {
        match stream.next().await {
            Some(part) => parts.push(part),
            None => return true,
        }
    }
    false
}
