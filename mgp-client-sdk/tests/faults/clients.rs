//! Clients against a server that misbehaves.

use std::time::Duration;

use futures_util::FutureExt;
use mgp_client_sdk::Change;
use mgp_types::Revision;
use mgp_types::mcp::SubscriptionFilter;
use serde_json::json;
use tokio::time::Instant;

use crate::invariants::violations;
use crate::peer::Process;
use crate::play::{connect, connect_all, play};
use crate::runner::seeds;
use crate::schedule::{Family, Schedule};
use crate::turn::{Act, Noise};

#[tokio::test(start_paused = true)]
async fn odd_late_and_unasked_messages() {
    family(Family::Answers).await;
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_messages() {
    family(Family::Garbage).await;
}

#[tokio::test(start_paused = true)]
async fn streams_that_break() {
    family(Family::Breaks).await;
}

#[tokio::test(start_paused = true)]
async fn several_clients_of_one_server() {
    family(Family::Sessions).await;
}

async fn family(family: Family) {
    let plan = |seed| Schedule::from_seed(family, seed);
    let run = |schedule| async move {
        let process = Process::new(&schedule);
        let clients = connect_all(&schedule, &process).await;
        let played = play(&schedule, clients).await;
        process.clients_are_gone();
        violations(&schedule, &process.record(), &played)
    };
    seeds(plan, run).await;
}

// covers: BASE-26
#[tokio::test(start_paused = true)]
async fn handshakes_that_go_wrong() {
    let plan = |seed| Schedule::from_seed(Family::Openings, seed);
    let run = |schedule| async move {
        let process = Process::new(&schedule);
        let started = Instant::now();
        let connected = connect(process.open(0)).await;
        let mut wrong = Vec::new();
        if started.elapsed() > LONGEST_HANDSHAKE {
            wrong.push(format!("the handshake took {:?}", started.elapsed()));
        }
        // Whoever is connected at last has calls like everybody else.
        if let Ok(client) = connected {
            let played = play(&schedule, vec![client]).await;
            wrong.extend(violations(&schedule, &process.record(), &played));
        }
        process.clients_are_gone();
        wrong
    };
    seeds(plan, run).await;
}

/// Each question may be asked twice, `server/discover` once more at the end; each may take ten seconds.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(61);

#[tokio::test(start_paused = true)]
async fn of_ten_thousand_changes_that_nobody_takes_a_few_are_kept() {
    for era in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let process = Process::acting(era, &[Act::After(Noise::Storm(10_000))]);
        let client = connect(process.open(0)).await.unwrap();
        let filter = SubscriptionFilter::new().with_tools_list_changed(true).with_prompts_list_changed(true);
        let mut changes = client.subscribe(filter).await.unwrap();
        client.call_tool("echo", json!({"nonce": 0})).await.unwrap();
        let mut kept = Vec::new();
        while let Some(change) = changes.next().now_or_never() {
            kept.push(change.unwrap().unwrap());
        }
        assert!(kept.contains(&Change::Missed) && kept.len() <= 256, "{}", kept.len());
    }
}
