//! Servers that are kept alive over connections that crash, hang and garble.

mod judge;
mod peer;
mod plan;

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_types::Error;
use mgp_types::mgp::{LifecycleChange, ServerState, ShutdownReason};
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::judge::violations;
use self::peer::Peer;
use self::plan::{Plan, Step};
use crate::play::{PlainSupervised, connect, text};
use crate::runner::counted;
use crate::tally::Tally;

#[tokio::test(start_paused = true)]
async fn connections_that_crash_hang_and_garble() {
    let least = [
        ("restarted", 1000),
        ("given up", 100),
        ("answered", 1000),
        ("refused", 1000),
        ("lost", 100),
        ("timed out", 100),
    ];
    counted(Plan::from_seed, run, &least).await;
}

/// Returns all faults of one run.
async fn run(plan: Plan, tally: Tally) -> Vec<String> {
    let peer = Peer::new(&plan);
    let seen = play(&plan, &peer).await;
    violations(&plan, &peer.record(), &seen, &tally)
}

/// The record of the run.
struct Seen {
    calls: Vec<Call>,
    /// Each change of the server's state, with how many connections there had been.
    changes: Vec<(Instant, LifecycleChange, usize)>,
    /// The times of the orders.
    orders: Vec<Instant>,
    wrong: Vec<String>,
}

#[derive(Debug)]
struct Call {
    nonce: u64,
    timeout: Duration,
    started: Instant,
    ended: Instant,
    /// The state of the server when the call began.
    state: ServerState,
    /// The text of the answer.
    outcome: Result<String, Error>,
}

async fn play(plan: &Plan, peer: &Arc<Peer>) -> Seen {
    let connecting = peer.clone();
    let supervisor = Client::supervise("scripted", move || connect(connecting.open()));
    let server = supervisor.with_restarts(plan.restarts.clone()).spawn();
    let changes = Arc::<Mutex<Vec<_>>>::default();
    let listening = tokio::spawn(listen(server.changes(), peer.clone(), changes.clone()));
    let start = Instant::now();
    let (mut calls, mut ordered) = (JoinSet::new(), JoinSet::new());
    let mut orders = Vec::new();
    for (at, step) in &plan.steps {
        tokio::time::sleep_until(start + *at).await;
        let server = server.clone();
        let reason = ShutdownReason::OperatorRequest;
        match *step {
            Step::Call { nonce, timeout } => _ = calls.spawn(call(server, nonce, timeout)),
            Step::Start => server.start(),
            Step::Restart => _ = ordered.spawn(async move { drop(server.restart(reason).await) }),
            Step::Stop(patience) => _ = ordered.spawn(async move { server.stop(reason, patience).await }),
        }
        if !matches!(step, Step::Call { .. }) {
            orders.push(Instant::now());
        }
    }
    let mut wrong = Vec::new();
    if tokio::time::timeout(LONGEST, ordered.join_all()).await.is_err() {
        wrong.push("an order was not carried out".to_owned());
    }
    let calls = calls.join_all().await;
    if plan.ends_well {
        wrong.extend(ends_well(&server, plan, &mut orders).await);
    }
    drop(server);
    if tokio::time::timeout(LONGEST, listening).await.is_err() {
        wrong.push("the supervisor did not end".to_owned());
    }
    tokio::time::sleep(SOON).await;
    let open = peer.record().open();
    if !open.is_empty() {
        wrong.push(format!("connections are left: {open:?}"));
    }
    let changes = std::mem::take(&mut *changes.lock());
    Seen { calls, changes, orders, wrong }
}

async fn listen(
    mut changes: mgp_lifecycle::LifecycleChanges,
    peer: Arc<Peer>,
    seen: Arc<Mutex<Vec<(Instant, LifecycleChange, usize)>>>,
) {
    while let Some(change) = changes.next().await {
        let opened = peer.record().opened.len();
        seen.lock().push((Instant::now(), change, opened));
    }
}

/// Restarts the server until it goes well, which it must when its troubles are over.
async fn ends_well(server: &PlainSupervised, plan: &Plan, orders: &mut Vec<Instant>) -> Option<String> {
    for _ in 0..=plan.lives.len() {
        orders.push(Instant::now());
        let restarting = server.restart(ShutdownReason::ConfigurationChange);
        let Ok(restarted) = tokio::time::timeout(LONGEST, restarting).await else {
            return Some("a restart does not end".to_owned());
        };
        if restarted.is_ok() && call(server.clone(), 1000, LONGEST).await.outcome.is_ok() {
            return None;
        }
    }
    Some("the server is well, and was not restarted".to_owned())
}

async fn call(server: PlainSupervised, nonce: u64, timeout: Duration) -> Call {
    let (started, state) = (Instant::now(), server.state());
    let outcome = match server.current() {
        Ok(client) => client.call_tool("work", json!({"nonce": nonce})).timeout(timeout).await,
        Err(error) => Err(error),
    };
    let outcome = outcome.map(|result| text(&result));
    Call { nonce, timeout, started, ended: Instant::now(), state, outcome }
}

/// Every attempt at anything ends by then.
const LONGEST: Duration = Duration::from_mins(30);
/// The precision of timers.
const SOON: Duration = Duration::from_millis(2);
