//! A server that fails as its plan says.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::Revision;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::plan::{Attempt, Failure, Plan, Planned};
use crate::frames;
use crate::stage::{Part, Voice, greeting};
use crate::turn::Shape;

/// A server that fails as it is told to.
pub(super) struct Peer {
    era: Revision,
    calls: HashMap<u64, Planned>,
    record: Mutex<Record>,
}

/// The record of the server: the messages that it saw and sent.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The attempts at each call, in order.
    pub(super) attempts: HashMap<u64, Vec<Made>>,
    ids: HashMap<i64, (u64, usize)>,
    pub(super) ended: Option<Instant>,
}

/// An attempt.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) at: Instant,
    pub(super) attempt: Attempt,
    /// The time at which it was answered, if it was.
    pub(super) answered: Option<Instant>,
    /// The time at which it was taken back, if it was.
    pub(super) taken_back: Option<Instant>,
}

impl Peer {
    pub(super) fn new(plan: &Plan) -> Arc<Self> {
        let calls = plan.calls.iter().map(|call| (call.nonce, call.clone())).collect();
        Arc::new(Self { era: plan.era, calls, record: Mutex::default() })
    }

    pub(super) fn record(&self) -> parking_lot::MutexGuard<'_, Record> {
        self.record.lock()
    }

    /// Notes a call, and which attempt at it this is.
    fn note(&self, message: &Value) -> Option<(u64, usize)> {
        let mut record = self.record.lock();
        match message["method"].as_str()? {
            "tools/call" => {
                let nonce = message["params"]["arguments"]["nonce"].as_u64()?;
                let attempts = record.attempts.entry(nonce).or_default();
                let number = attempts.len();
                let attempt =
                    self.calls[&nonce].attempts.get(number).map_or(Attempt::Answer, |(_, attempt)| *attempt);
                attempts.push(Made { at: Instant::now(), attempt, answered: None, taken_back: None });
                record.ids.insert(message["id"].as_i64()?, (nonce, number));
                Some((nonce, number))
            }
            "notifications/cancelled" => {
                let id = message["params"]["requestId"].as_i64()?;
                let (nonce, number) = *record.ids.get(&id)?;
                record.attempts.get_mut(&nonce)?.get_mut(number)?.taken_back = Some(Instant::now());
                None
            }
            _ => None,
        }
    }

    async fn serve(&self, id: &Value, nonce: u64, number: usize, voice: &Voice) {
        let (after, attempt) =
            self.calls[&nonce].attempts.get(number).copied().unwrap_or((Duration::ZERO, Attempt::Answer));
        tokio::time::sleep(after).await;
        let bytes = match attempt {
            Attempt::Answer => frames::result(id, &frames::echo(nonce, number)),
            Attempt::Fail(failure) => failed(id, failure),
            Attempt::Garbled => frames::wrong(id, Shape::ResultIsList),
            Attempt::Hang => return,
            Attempt::Crash => return voice.hang_up(),
        };
        if let Some(made) = self.record.lock().attempts.get_mut(&nonce).and_then(|made| made.get_mut(number))
        {
            made.answered = Some(Instant::now());
        }
        voice.say(&bytes).await;
    }
}

impl Made {
    /// Returns whether the attempt is in work at that moment, and is not about to end.
    pub(super) fn is_in_work(&self, at: Instant) -> bool {
        let ends = self.answered.into_iter().chain(self.taken_back).min();
        self.at <= at && ends.is_none_or(|end| end > at + SOON)
    }
}

/// The precision of timers.
pub(super) const SOON: Duration = Duration::from_millis(2);

impl Part for Peer {
    fn take(self: Arc<Self>, message: Value, voice: Voice) -> impl Future<Output = ()> + Send + 'static {
        let greeting = greeting(&["audit"], self.era, &message);
        let call = self.note(&message);
        async move {
            if let Some(bytes) = greeting {
                voice.say(&bytes).await;
            }
            if let Some((nonce, number)) = call {
                self.serve(&message["id"], nonce, number, &voice).await;
            }
        }
    }

    fn ended(&self, _: usize) {
        self.record.lock().ended.get_or_insert_with(Instant::now);
    }
}

fn failed(id: &Value, failure: Failure) -> Vec<u8> {
    let mut error = json!({"code": failure.code, "message": "no"});
    if let Some(retryable) = failure.retryable {
        let mut advice = json!({
            "category": "resource", "retryable": retryable, "retry_after_ms": failure.after_ms,
            "retry_strategy": failure.strategy,
        });
        if let Some(max) = failure.max_retries {
            advice["max_retries"] = json!(max);
        }
        error["data"] = json!({"_mgp": advice});
    }
    frames::line(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
}
