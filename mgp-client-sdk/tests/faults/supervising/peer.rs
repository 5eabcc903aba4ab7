//! A server whose connections go as its plan says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::plan::{Death, Life, Plan, Reception};
use crate::frames;
use crate::peer::MAX_FRAME_BYTES;
use crate::pipe::Breakable;
use crate::stage::{self, Part, Voice};

/// A server whose connections go as they are told to.
pub(super) struct Peer {
    plan: Plan,
    record: Mutex<Record>,
}

/// The record of the server.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The time at which each connection was made.
    pub(super) opened: Vec<Instant>,
    /// The time at which each ended connection ended.
    pub(super) ended: BTreeMap<usize, Instant>,
    /// The connections whose tools were listed.
    pub(super) listed: BTreeSet<usize>,
    /// The connections that answer nothing any more.
    hung: BTreeSet<usize>,
    /// On which connection each call came.
    pub(super) calls: BTreeMap<u64, Vec<usize>>,
    /// The wrong acts of the client.
    pub(super) odd: Vec<String>,
}

impl Record {
    /// Returns the connections that are open.
    pub(super) fn open(&self) -> Vec<usize> {
        (0..self.opened.len()).filter(|number| !self.ended.contains_key(number)).collect()
    }
}

impl Peer {
    pub(super) fn new(plan: &Plan) -> Arc<Self> {
        Arc::new(Self { plan: plan.clone(), record: Mutex::default() })
    }

    pub(super) fn record(&self) -> parking_lot::MutexGuard<'_, Record> {
        self.record.lock()
    }

    /// Returns a connection to the server.
    pub(super) fn open(self: &Arc<Self>) -> (Breakable, Breakable) {
        let mut record = self.record.lock();
        let number = record.opened.len();
        record.opened.push(Instant::now());
        drop(record);
        stage::open(self, number)
    }

    fn life(&self, number: usize) -> Life {
        self.plan.lives.get(number).copied().unwrap_or(Life::long())
    }

    /// Treats one of the first requests. Whether it was answered well.
    async fn receive(&self, reception: Reception, good: Vec<u8>, id: &Value, voice: &Voice) -> bool {
        match reception {
            Reception::Well(after) => {
                tokio::time::sleep(after).await;
                return voice.say(&good).await;
            }
            Reception::Hangs => {}
            Reception::Refuses => _ = voice.say(&frames::error(id, frames::REFUSAL)).await,
            Reception::Garbage => _ = voice.say(&vec![b'x'; MAX_FRAME_BYTES * 6]).await,
            Reception::Crash => voice.hang_up(),
        }
        false
    }

    async fn die(&self, voice: &Voice) {
        let Some((after, death)) = self.life(voice.number).death else { return };
        tokio::time::sleep(after).await;
        match death {
            Death::Crash => voice.hang_up(),
            Death::CloseWrites => voice.fall_silent().await,
            Death::Hangs => _ = self.record.lock().hung.insert(voice.number),
            Death::Garbles => _ = voice.say(&vec![b'x'; MAX_FRAME_BYTES * 6]).await,
        }
    }

    async fn answer(&self, message: &Value, voice: &Voice) {
        let (id, number) = (&message["id"], voice.number);
        if id.is_null() || self.record.lock().hung.contains(&number) {
            return;
        }
        let life = self.life(number);
        let is_listed = self.record.lock().listed.contains(&number);
        match message["method"].as_str().unwrap_or_default() {
            method @ ("initialize" | "server/discover") => {
                let good = frames::handshake(self.plan.era, id, method);
                let reception = if is_listed { Life::long().greeting } else { life.greeting };
                self.receive(reception, good, id, voice).await;
            }
            "tools/list" => {
                let tool = json!({"name": "work", "inputSchema": {"type": "object"}});
                let good = frames::result(id, &json!({"resultType": "complete", "tools": [tool]}));
                if self.receive(life.listing, good, id, voice).await {
                    self.record.lock().listed.insert(number);
                    self.die(voice).await;
                }
            }
            "tools/call" => {
                let nonce =
                    message["params"]["arguments"]["nonce"].as_u64().expect("each call has its number");
                {
                    let mut record = self.record.lock();
                    if !is_listed {
                        record.odd.push(format!("call #{nonce} came before the tools were listed"));
                    }
                    record.calls.entry(nonce).or_default().push(number);
                }
                let Some(time) = life.calls else { return };
                tokio::time::sleep(time).await;
                if !self.record.lock().hung.contains(&number) {
                    voice.say(&frames::result(id, &frames::echo(nonce, number))).await;
                }
            }
            _ => _ = voice.say(&frames::result(id, &json!({"resultType": "complete"}))).await,
        }
    }
}

impl Part for Peer {
    async fn take(self: Arc<Self>, message: Value, voice: Voice) {
        self.answer(&message, &voice).await;
    }

    fn ended(&self, number: usize) {
        self.record.lock().ended.insert(number, Instant::now());
    }
}
