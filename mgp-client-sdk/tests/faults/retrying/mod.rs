//! Calls through the layers that try again, of a server that fails in all ways.

mod judge;
mod peer;
mod plan;

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use mgp_lifecycle::call::{
    BreakerLayer, BreakerSettings, BreakerState, RetryBudget, RetryPolicy, SendingLayer,
};
use mgp_types::mgp::{EffectiveSecurity, ResolvedTool, RiskLevel};
use mgp_types::{Error, Object, Request};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::judge::violations;
use self::peer::Peer;
use self::plan::{Plan, Planned, Tool};
use crate::play::{builder, text};
use crate::runner::counted;
use crate::stage;
use crate::tally::Tally;

#[tokio::test(start_paused = true)]
async fn attempts_that_fail_in_all_ways() {
    let least = [
        ("answered", 2000),
        ("sent again", 500),
        ("unsafe sent again", 100),
        ("timed out", 100),
        ("broken off", 100),
    ];
    counted(Plan::from_seed, run, &least).await;
}

/// Returns all faults of one run.
async fn run(plan: Plan, tally: Tally) -> Vec<String> {
    let peer = Peer::new(&plan);
    let seen = play(&plan, &peer).await;
    // What was given up may still be on its way to the server.
    tokio::time::sleep(Duration::from_millis(2)).await;
    violations(&plan, &peer.record(), &seen, &tally)
}

/// The outcome of one call.
#[derive(Debug)]
struct Seen {
    nonce: u64,
    started: Instant,
    ended: Instant,
    /// The text of the answer; `None` if the call was dropped.
    outcome: Option<Result<String, Error>>,
    /// The state of the breaker in the end.
    breaker: BreakerState,
}

async fn play(plan: &Plan, peer: &std::sync::Arc<Peer>) -> Vec<Seen> {
    let mut policy = RetryPolicy::default();
    policy.max_retries = plan.max_retries;
    let mut settings = BreakerSettings::default();
    settings.min_calls = NonZeroU32::new(plan.breaker.0).unwrap();
    settings.open_for = plan.breaker.1;
    let breaker = BreakerLayer::new(settings);
    let (reader, writer) = stage::open(peer, 0);
    let sending = SendingLayer::new()
        .deadline(plan.deadline)
        .retry(policy)
        .retry_budget(RetryBudget::new(100, 100))
        .places(NonZeroUsize::new(plan.places).unwrap())
        .breaker(breaker.clone())
        .attempt_timeout(plan.attempt_timeout, plan.attempt_timeout);
    let client = builder().layer(sending).connect_io(reader, writer).await.unwrap();
    let start = Instant::now();
    let mut calls = JoinSet::new();
    for planned in plan.calls.clone() {
        let (client, breaker) = (client.clone(), breaker.clone());
        calls.spawn(async move {
            tokio::time::sleep_until(start + planned.at).await;
            let started = Instant::now();
            let call = client.call_tool("work", json!({"nonce": planned.nonce}));
            // The layers have the say.
            let call = call.timeout(Duration::MAX).max_timeout(Duration::MAX);
            let call = call.request_with(|request| resolve(request, &planned));
            let patience = planned.dropped_after.unwrap_or(Duration::from_hours(1));
            let outcome = tokio::time::timeout(patience, call.into_future()).await.ok();
            let outcome = outcome.map(|outcome| outcome.map(|result| text(&result)));
            Seen { nonce: planned.nonce, started, ended: Instant::now(), outcome, breaker: breaker.state() }
        });
    }
    calls.join_all().await
}

/// Says what is known of the tool.
fn resolve(request: &mut Request, planned: &Planned) {
    let definition = match planned.tool {
        Tool::Safe => r#"{"annotations":{"readOnlyHint":true}}"#,
        Tool::Unsafe => r#"{"annotations":{"readOnlyHint":false,"destructiveHint":true}}"#,
        Tool::Nothing => return,
    };
    let security = EffectiveSecurity::new(RiskLevel::Moderate);
    let definition = Object::parse(definition).unwrap();
    request.context.tool = Some(ResolvedTool::new("scripted".into(), "work".into(), definition, security));
}
