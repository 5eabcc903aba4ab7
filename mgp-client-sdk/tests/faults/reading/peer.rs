//! A server that streams as it likes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use mgp_types::Revision;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::plan::{Again, OnCancel, Plan, Planned, Step, Stray};
use super::stage::{Crash, Voice};
use crate::frames;

pub(super) struct Peer {
    era: Revision,
    calls: HashMap<u64, Planned>,
    record: Mutex<Record>,
    pub(super) crash: Crash,
}

/// The record of the server: the messages that it saw and sent.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The calls that came, by their ids.
    pub(super) calls: HashMap<i64, u64>,
    /// The number of times that each call came.
    pub(super) came: HashMap<u64, usize>,
    /// The messages about each call, in order.
    pub(super) said: HashMap<u64, Vec<(Instant, Step)>>,
    /// The calls that were taken back, and how often.
    pub(super) taken_back: HashMap<u64, usize>,
    /// The calls that were asked to be stopped, and how often.
    pub(super) stopped: HashMap<u64, usize>,
    /// The time at which the connection ended.
    pub(super) ended: Option<Instant>,
    /// The wrong messages of the client.
    pub(super) odd: Vec<String>,
    last_answered: Option<i64>,
}

impl Peer {
    pub(super) fn new(plan: &Plan) -> Arc<Self> {
        let calls = plan.calls.iter().map(|call| (call.nonce, call.clone())).collect();
        Arc::new(Self { era: plan.era, calls, record: Mutex::default(), crash: Crash::default() })
    }

    pub(super) fn record(&self) -> parking_lot::MutexGuard<'_, Record> {
        self.record.lock()
    }

    async fn serve(&self, id: i64, nonce: u64, voice: Voice) {
        for (after, step) in &self.calls[&nonce].steps {
            tokio::time::sleep(*after).await;
            if self.is_over(nonce) && matches!(step, Step::Answer(_) | Step::Refuse) {
                continue;
            }
            self.say(id, nonce, *step, &voice).await;
        }
    }

    /// Returns whether the call was answered.
    fn is_over(&self, nonce: u64) -> bool {
        let record = self.record();
        let said = record.said.get(&nonce);
        said.is_some_and(|said| said.iter().any(|(_, step)| matches!(step, Step::Answer(_) | Step::Refuse)))
    }

    async fn say(&self, id: i64, nonce: u64, step: Step, voice: &Voice) {
        let last_answered = self.record().last_answered;
        let id = json!(id);
        let bytes = match step {
            Step::Chunk(index) => chunk(&id, &json!(index), nonce, &index.to_string()),
            Step::Progress => {
                frames::note("notifications/mgp.stream.progress", &json!({"request_id": id, "progress": 0.5}))
            }
            Step::Lost(index) => lost(&id, &json!([index])),
            Step::Stray(stray) => stray_bytes(&id, nonce, stray, last_answered),
            Step::Answer(sent) => answer(&id, nonce, sent),
            Step::Refuse => frames::error(&id, frames::REFUSAL),
        };
        // Noted before it is written: whoever reads it may be faster than the writer.
        let at = Instant::now();
        let place = {
            let mut record = self.record();
            let said = record.said.entry(nonce).or_default();
            said.push((at, step));
            said.len() - 1
        };
        if !voice.say(&bytes).await {
            return;
        }
        let mut record = self.record();
        if let Some(said) = record.said.get_mut(&nonce).and_then(|said| said.get_mut(place)) {
            said.0 = Instant::now();
        }
        if matches!(step, Step::Answer(_) | Step::Refuse) {
            record.last_answered = id.as_i64();
        }
    }

    /// Sends the missing chunks again.
    async fn send_again(&self, id: i64, nonce: u64, missing: Vec<u64>, voice: &Voice) {
        let again = self.calls[&nonce].again;
        let first = missing.first().copied();
        let mut sends: Vec<_> = match again {
            Again::Silent | Again::Loses => Vec::new(),
            Again::Sends | Again::Twice => missing.clone(),
            Again::Half => first.into_iter().collect(),
        };
        if again == Again::Twice {
            sends.reverse();
            sends.extend(sends.clone());
        }
        // Of a number that is out of reach there may be very many.
        for index in sends.into_iter().take(300) {
            self.say(id, nonce, Step::Chunk(index), voice).await;
        }
        if matches!(again, Again::Loses | Again::Half) {
            for index in missing.into_iter().skip(usize::from(again == Again::Half)).take(300) {
                self.say(id, nonce, Step::Lost(index), voice).await;
            }
        }
    }

    async fn stop(&self, own: Value, call: Option<(i64, u64)>, voice: &Voice) {
        let Some((id, nonce)) = call else {
            voice.say(&frames::result(&own, &json!({"cancelled": false, "reason": "not_active"}))).await;
            return;
        };
        let content = json!([{"type": "text", "text": nonce.to_string()}]);
        let stopped = json!({"cancelled": true, "partial_result": {"content": content}});
        let not_active = json!({"cancelled": false, "reason": "not_active"});
        match self.calls[&nonce].on_cancel {
            _ if self.is_over(nonce) => {
                voice.say(&frames::result(&own, &not_active)).await;
            }
            OnCancel::Stops => {
                voice.say(&frames::result(&own, &stopped)).await;
                self.say(id, nonce, Step::Answer(None), voice).await;
            }
            OnCancel::AnswersFirst => {
                self.say(id, nonce, Step::Answer(None), voice).await;
                voice.say(&frames::result(&own, &not_active)).await;
            }
            OnCancel::NotActive => {
                voice.say(&frames::result(&own, &not_active)).await;
            }
            OnCancel::Unknown => {
                voice.say(&frames::error(&own, -32601)).await;
            }
            OnCancel::Silent => {}
            OnCancel::Crashes => voice.hang_up(),
        }
    }

    /// Notes a message. What is to be done about it.
    fn note(&self, message: &Value) -> Chore {
        let mut record = self.record();
        let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
        let about = params["request_id"].as_i64();
        let about = about.and_then(|id| Some((id, *record.calls.get(&id)?)));
        match method {
            "initialize" | "server/discover" => {
                let greeting = frames::handshake_with(&["streaming"], self.era, &message["id"], method);
                Chore::Greet(greeting)
            }
            "tools/call" => {
                let nonce = params["arguments"]["nonce"].as_u64().expect("each call has its number");
                let id = message["id"].as_i64().expect("our ids are numbers");
                if params["_mgp"]["stream"] != json!(true) {
                    record.odd.push(format!("call #{nonce} does not ask for a stream"));
                }
                record.calls.insert(id, nonce);
                *record.came.entry(nonce).or_default() += 1;
                Chore::Serve(id, nonce)
            }
            "mgp/stream/cancel" => {
                match about {
                    Some((_, nonce)) => *record.stopped.entry(nonce).or_default() += 1,
                    None => record.odd.push(format!("stops a call that never was: {message}")),
                }
                Chore::Stop(message["id"].clone(), about)
            }
            "notifications/mgp.stream.gap" => {
                let missing: BTreeSet<u64> = params["missing_indices"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_u64)
                    .collect();
                let Some((id, nonce)) = about.filter(|_| !missing.is_empty()) else {
                    record.odd.push(format!("misses nothing, or of no call: {message}"));
                    return Chore::Nothing;
                };
                let now = Instant::now();
                let said = record.said.get(&nonce).map_or(&[][..], Vec::as_slice);
                let long_since = |index: &&u64| {
                    let sent =
                        |(at, step): &(Instant, Step)| *step == Step::Chunk(**index) && *at + SOON < now;
                    **index < 1000 && said.iter().any(sent)
                };
                let known = missing.iter().find(long_since).copied();
                if let (Some(index), true) = (known, self.calls[&nonce].reader == super::plan::Reader::Eager)
                {
                    record.odd.push(format!("call #{nonce} misses {index}, which it had"));
                }
                Chore::SendAgain(id, nonce, missing.into_iter().collect())
            }
            "notifications/mgp.stream.pace" => {
                let rate = params["max_chunks_per_second"].as_f64();
                if about.is_none() || rate.is_none_or(|rate| rate <= 0.0) {
                    record.odd.push(format!("a pace that is none: {message}"));
                }
                Chore::Nothing
            }
            "notifications/cancelled" => {
                let id = params["requestId"].as_i64().expect("our ids are numbers");
                if let Some(nonce) = record.calls.get(&id).copied() {
                    *record.taken_back.entry(nonce).or_default() += 1;
                }
                Chore::Nothing
            }
            _ => Chore::Nothing,
        }
    }
}

enum Chore {
    Nothing,
    Greet(Vec<u8>),
    Serve(i64, u64),
    SendAgain(i64, u64, Vec<u64>),
    Stop(Value, Option<(i64, u64)>),
}

impl Peer {
    /// Takes a message in, and returns what is done about it, which ends with the connection.
    pub(super) fn take(
        self: Arc<Self>,
        message: &Value,
        voice: Voice,
    ) -> impl Future<Output = ()> + Send + use<> {
        let chore = self.note(message);
        async move {
            match chore {
                Chore::Nothing => {}
                Chore::Greet(greeting) => self.crash.greet(&greeting, &voice).await,
                Chore::Serve(id, nonce) => self.serve(id, nonce, voice).await,
                Chore::SendAgain(id, nonce, missing) => self.send_again(id, nonce, missing, &voice).await,
                Chore::Stop(own, call) => self.stop(own, call, &voice).await,
            }
        }
    }

    pub(super) fn ended(&self) {
        self.record().ended.get_or_insert_with(Instant::now);
    }
}

/// Returns the chunk number `index` of the call with this number. Whoever reads it can tell both by its text.
fn chunk(id: &Value, index: &Value, nonce: u64, text: &str) -> Vec<u8> {
    let content = json!({"type": "text", "text": format!("{nonce}:{text}")});
    let params = json!({"request_id": id, "index": index, "content": content, "done": false});
    frames::note("notifications/mgp.stream.chunk", &params)
}

fn lost(id: &Value, indices: &Value) -> Vec<u8> {
    let params = json!({"request_id": id, "missing_indices": indices});
    frames::note("notifications/mgp.stream.gap_unrecoverable", &params)
}

fn answer(id: &Value, nonce: u64, sent: Option<u64>) -> Vec<u8> {
    let mut result =
        json!({"resultType": "complete", "content": [{"type": "text", "text": nonce.to_string()}]});
    if let Some(sent) = sent {
        result["_mgp"] = json!({"streamed": true, "chunks_sent": sent, "duration_ms": 1});
    }
    frames::result(id, &result)
}

fn stray_bytes(id: &Value, nonce: u64, stray: Stray, last_answered: Option<i64>) -> Vec<u8> {
    let stray_chunk = |id: &Value, index: Value| chunk(id, &index, nonce, "stray");
    match stray {
        Stray::UnknownCall => stray_chunk(&json!(987_654), json!(0)),
        Stray::FinishedCall => stray_chunk(&json!(last_answered.unwrap_or(-1)), json!(0)),
        Stray::FutureCall => stray_chunk(&json!(id.as_i64().unwrap_or(0) + 100), json!(0)),
        Stray::NoCall => stray_chunk(&Value::Null, json!(0)),
        Stray::OddCall => stray_chunk(&json!([id]), json!(0)),
        Stray::TextIndex => stray_chunk(id, json!("0")),
        Stray::NegativeIndex => stray_chunk(id, json!(-1)),
        Stray::NoContent => {
            frames::note("notifications/mgp.stream.chunk", &json!({"request_id": id, "index": 0}))
        }
        Stray::OddLoss => lost(id, &json!("all")),
        Stray::OddProgress => {
            frames::note("notifications/mgp.stream.progress", &json!({"request_id": id, "progress": "half"}))
        }
    }
}

/// The precision of timers.
pub(super) const SOON: Duration = Duration::from_millis(2);
