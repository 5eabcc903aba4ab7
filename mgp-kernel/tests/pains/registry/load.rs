//! Many calls at once for a while: how long they take, and what is left of them.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::host::{Host, listed, quiet, say};
use crate::runner::tests;
use crate::scripted::Script;

tests![calls_of_many_clients_are_answered_in_time_and_leave_nothing_behind,];

const CLIENTS: usize = 8;
const CALLS_OF_CLIENT: usize = 250;

// covers: GGEN-8.5-04
async fn calls_of_many_clients_are_answered_in_time_and_leave_nothing_behind() {
    let script = Script::named(&["works"]);
    let host = Host::ready_with(quiet([script.server("files")])).await;
    // The first round fills caches and pools, whose size is no leak.
    round(&host).await;
    let before = Held::now();
    let mut took = Vec::new();
    for _ in 0..3 {
        took.extend(round(&host).await);
    }
    assert_eq!(script.calls().len(), 4 * CLIENTS * CALLS_OF_CLIENT, "each call was made once");
    took.sort_unstable();
    let share = |percent: usize| took[(took.len() - 1) * percent / 100];
    let (p50, p99) = (share(50), share(99));
    println!("{} calls of {CLIENTS} clients: p50 {p50:?}, p99 {p99:?}", took.len());
    assert!(p50 <= p99 && p50 < Duration::from_secs(2), "p50 {p50:?}");
    assert!(p99 < Duration::from_secs(10), "p99 {p99:?}");
    // What a round leaves behind, three rounds leave three times.
    let after = Held::now();
    assert!(after.files <= before.files + 8, "{before:?} {after:?}");
    assert!(after.memory <= before.memory + (64 << 20), "{before:?} {after:?}");
}

/// Has clients that come for this round make their calls at once, and returns how long each call took.
async fn round(host: &Host) -> Vec<Duration> {
    let mut running = JoinSet::new();
    for number in 0..CLIENTS {
        let client = host.plain(&format!("agent.{number}")).await;
        listed(&client, "files__works").await;
        running.spawn(async move {
            let mut took = Vec::with_capacity(CALLS_OF_CLIENT);
            for call in 0..CALLS_OF_CLIENT {
                let began = Instant::now();
                let reply = say(&client, "files__works", json!({"a": format!("{number} {call}")})).await;
                took.push(began.elapsed());
                assert_eq!(reply, json!({"a": format!("{number} {call}")}).to_string());
            }
            took
        });
    }
    running.join_all().await.concat()
}

/// What this process holds of the system: open files, and bytes of memory. Zero where the system does not tell.
#[derive(Debug)]
struct Held {
    files: usize,
    memory: usize,
}

impl Held {
    fn now() -> Self {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages: usize = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
        Self {
            files: std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
            memory: pages * PAGE_BYTES,
        }
    }
}

const PAGE_BYTES: usize = 4096;
