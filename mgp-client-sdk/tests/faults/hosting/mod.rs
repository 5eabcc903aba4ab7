//! A server that streams, against a client that stops calls, sets their pace, and says odd things.

mod judge;
mod plan;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mgp_server_sdk::types::Object;
use mgp_server_sdk::types::mgp::EventSeverity;
use mgp_server_sdk::{Cx, Publisher, Server, ServerLifecycle, Tool, ToolError};
use mgp_transport::Accept;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::judge::violations;
use self::plan::{Move, Odd, Plan, Wanted};
use crate::caller::Caller;
use crate::frames;
use crate::peer::MAX_FRAME_BYTES;
use crate::runner::counted;
use crate::tally::Tally;

#[tokio::test(start_paused = true)]
async fn streams_to_a_client_that_has_its_own_way() {
    let least = [
        ("chunks", 10_000),
        ("sent again", 80),
        ("answered", 1000),
        ("stopped", 100),
        ("not active", 100),
        ("stalled", 5),
        ("events", 100),
    ];
    counted(Plan::from_seed, run, &least).await;
}

/// Returns all faults of one run.
async fn run(plan: Plan, tally: Tally) -> Vec<String> {
    let host = Host::default();
    let life = ServerLifecycle::new("host".into());
    let visit = visit(&host.accept(&life), &plan).await;
    let mut wrong = violations(&plan, &visit, &tally);
    // What is in work may be finished when nothing more comes, for a while.
    tokio::time::sleep(judge::DRAIN + Duration::from_millis(10)).await;
    let (running, pending) = (host.running.load(Ordering::Relaxed), life.pending());
    if running > 0 || pending > 0 {
        wrong.push(format!("{running} handlers still run, {pending} calls are in work"));
    }
    wrong
}

/// The state of the server beside its parts.
#[derive(Clone, Default)]
struct Host {
    /// The number of handlers that run.
    running: Arc<AtomicUsize>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Count {
    nonce: i64,
    to: u64,
    millis: u64,
}

impl Host {
    fn accept(&self, life: &ServerLifecycle) -> impl Accept<Service: Unpin> + use<> {
        let events = Publisher::new(["tool.counted"]).unwrap();
        let host = self.clone();
        let publisher = events.clone();
        Server::new("host", "1.0.0")
            .tool(Tool::new("count", "Streams numbers."), move |count: Count, cx: Cx| {
                let (host, publisher) = (host.clone(), publisher.clone());
                async move { host.count(count, cx, publisher).await }
            })
            .streaming()
            .lifecycle(life)
            .callbacks()
            .events(&events)
            .accept()
            .unwrap()
    }

    async fn count(
        &self,
        Count { nonce, to, millis }: Count,
        cx: Cx,
        events: Publisher,
    ) -> Result<(), ToolError> {
        self.running.fetch_add(1, Ordering::Relaxed);
        let _running = Running(self.running.clone());
        for number in 0..to {
            cx.stream(format!("{nonce}:{number};")).await?;
            if millis > 0 {
                tokio::time::sleep(Duration::from_millis(millis)).await;
            }
        }
        events.publish("tool.counted", EventSeverity::Info, &Object::new())?;
        Ok(())
    }
}

/// Counts a handler until it ends, in whatever way.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The record of the client.
#[derive(Debug)]
struct Visit {
    /// The time at which each move was made; those after the end of the connection are missing.
    made: Vec<Instant>,
    leaving: Instant,
    seen: Vec<(Instant, Value)>,
}

async fn visit<A: Accept<Service: Unpin>>(accept: &A, plan: &Plan) -> Visit {
    let extensions = &["streaming", "lifecycle", "callbacks", "events"];
    let mut caller = Caller::connect(accept, plan.era, extensions).await;
    let start = Instant::now();
    let mut made = Vec::new();
    for (at, what) in &plan.moves {
        tokio::time::sleep_until(start + *at).await;
        if !act(&mut caller, *what).await {
            break;
        }
        made.push(Instant::now());
    }
    let (at, how) = plan.leaving;
    tokio::time::sleep_until(start + at).await;
    let leaving = Instant::now();
    Visit { made, leaving, seen: caller.leave(how).await }
}

/// Returns whether the connection took the message.
async fn act(caller: &mut Caller, what: Move) -> bool {
    match what {
        Move::Count { id, to, millis, wanted } => {
            let mut params = json!({
                "name": "count", "arguments": {"nonce": id, "to": to, "millis": millis},
            });
            if wanted == Wanted::InParts {
                params["_mgp"] = json!({"stream": true});
            }
            caller.call(json!(id), "tools/call", params).await
        }
        Move::Stop { id, of } => {
            caller.call(json!(id), "mgp/stream/cancel", json!({"request_id": of, "reason": "enough"})).await
        }
        Move::TakeBack { of } => caller.tell("notifications/cancelled", json!({"requestId": of})).await,
        Move::Pace { of, per_second } => pace(caller, json!(of), json!(per_second)).await,
        Move::Miss { of, from, to } => {
            let missing: Vec<_> = (from..to).collect();
            miss(caller, json!(of), json!(missing)).await
        }
        Move::Ping { id } => {
            let params = json!({"timestamp": "2026-02-27T12:00:00.000Z"});
            caller.call(json!(id), "mgp/health/ping", params).await
        }
        Move::Subscribe { id } => {
            caller.call(json!(id), "mgp/events/subscribe", json!({"channels": ["tool.*"]})).await
        }
        Move::Odd { id, what } => odd(caller, id, what).await,
        Move::StopReading(time) => {
            caller.rest(time);
            true
        }
    }
}

async fn odd(caller: &mut Caller, id: i64, what: Odd) -> bool {
    let own = json!(id);
    match what {
        Odd::PaceIsText => pace(caller, json!(1), json!("fast")).await,
        Odd::PaceIsNegative => pace(caller, json!(1), json!(-3)).await,
        Odd::PaceOfNoCall => pace(caller, Value::Null, json!(0)).await,
        Odd::MissedIsText => miss(caller, json!(1), json!("all")).await,
        Odd::MissedOfNoCall => miss(caller, json!([1]), json!([0])).await,
        Odd::MissedIsEverything => {
            let all: Vec<_> = (0..1500_u64).rev().collect();
            miss(caller, json!(1_000_000), json!(all)).await
        }
        Odd::StopsNothing => caller.call(own, "mgp/stream/cancel", json!({})).await,
        Odd::StopsUnnamed => caller.call(own, "mgp/stream/cancel", json!({"request_id": {"a": 1}})).await,
        Odd::Responds => {
            let params = json!({"callback_id": "cb-1", "response": "yes"});
            caller.call(own, "mgp/callback/respond", params).await
        }
        Odd::Replays => {
            caller.call(own, "mgp/events/replay", json!({"subscription_id": "sub-1", "after_seq": 0})).await
        }
        Odd::Chunk => {
            let content = json!({"type": "text", "text": "part"});
            let params = json!({"request_id": 1, "index": 0, "content": content, "done": false});
            caller.tell("notifications/mgp.stream.chunk", params).await
        }
        Odd::Garbage(garbage) => caller.write(&frames::garbage(garbage, MAX_FRAME_BYTES)).await,
    }
}

async fn pace(caller: &mut Caller, of: Value, rate: Value) -> bool {
    let params = json!({"request_id": of, "max_chunks_per_second": rate});
    caller.tell("notifications/mgp.stream.pace", params).await
}

async fn miss(caller: &mut Caller, of: Value, indices: Value) -> bool {
    let params = json!({"request_id": of, "missing_indices": indices});
    caller.tell("notifications/mgp.stream.gap", params).await
}
