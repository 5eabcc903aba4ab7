//! A server of events that keeps the last ones, and loses others on the way.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::code;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::plan::{Answer, Connection, Plan, Push};
use crate::frames;
use crate::stage::{Part, Voice, greeting};

pub(super) struct Peer {
    plan: Plan,
    start: Instant,
    /// The number of events of the current subscription.
    last: watch::Sender<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of subscriptions so far, which is part of the current one's name.
    subscription: usize,
    /// The number of events that had happened when it was opened.
    opened_at: u64,
    /// The number of connections.
    connections: usize,
    /// The number of answered questions of the current connection.
    answered: usize,
}

impl Peer {
    pub(super) fn new(plan: Plan) -> Arc<Self> {
        let (start, state) = (Instant::now(), State::default());
        Arc::new(Self { plan, start, last: watch::Sender::new(0), state: Mutex::new(state) })
    }

    /// Has the events happen, and one more when everything else is over.
    pub(super) async fn happen(self: Arc<Self>, last: watch::Receiver<bool>) {
        for at in &self.plan.events {
            tokio::time::sleep_until(self.start + *at).await;
            self.last.send_modify(|last| *last += 1);
        }
        let mut ready = last;
        if ready.wait_for(|ready| *ready).await.is_ok() {
            self.last.send_modify(|last| *last += 1);
        }
        std::future::pending::<()>().await;
    }

    /// Returns how many events there are.
    pub(super) fn count(&self) -> u64 {
        *self.last.borrow()
    }

    /// Returns how many events there are in the end.
    pub(super) fn all(&self) -> u64 {
        self.plan.events.len() as u64 + 1
    }

    /// Returns the time to rest after each event.
    pub(super) fn rest(&self) -> Duration {
        self.plan.rest
    }

    /// Returns the number of the first event of the current subscription that is kept.
    pub(super) fn first_kept(&self) -> u64 {
        let (_, opened_at) = self.subscription();
        self.first_kept_of(self.count() - opened_at)
    }

    /// Returns the name of the current subscription, and how many events there were before it.
    pub(super) fn subscription(&self) -> (String, u64) {
        let state = self.state.lock();
        (name(state.subscription), state.opened_at)
    }

    /// Returns the connection that is open; `None` for one on which nothing goes wrong.
    fn connection(&self, number: usize) -> Option<&Connection> {
        self.plan.connections.get(number)
    }

    /// Takes a wish to subscribe. The answer, and the number after which events are pushed; or it is refused.
    fn subscribe(&self, wish: &Value) -> Result<(Value, u64), i64> {
        let mut state = self.state.lock();
        let count = self.count();
        let resumed = wish["subscription_id"].as_str();
        let after = match resumed {
            Some(id) if state.subscription > 0 && *id == name(state.subscription) => {
                wish["after_seq"].as_u64().unwrap_or(0)
            }
            Some(_) => return Err(code::RESOURCE_NOT_FOUND),
            None => {
                state.subscription += 1;
                state.opened_at = count;
                0
            }
        };
        let last = count - state.opened_at;
        let mut answer = json!({
            "subscribed": wish["channels"], "unsupported": [], "subscription_id": name(state.subscription),
            "last_seq": last,
        });
        let first_kept = self.first_kept_of(last);
        if after + 1 < first_kept {
            answer["gap"] = json!({"from": after + 1, "to": first_kept - 1});
        }
        Ok((answer, after.max(first_kept - 1).min(last)))
    }

    /// Returns the number of the first event that is kept, if there are so many.
    fn first_kept_of(&self, last: u64) -> u64 {
        last.saturating_sub(self.plan.kept) + 1
    }

    /// Pushes what happens from now on, as the plan has it.
    async fn push(&self, mut after: u64, voice: &Voice) {
        let mut last = self.last.subscribe();
        let (id, opened_at) = self.subscription();
        let pushes = self.connection(voice.number).map_or(&[][..], |connection| &connection.pushes);
        let mut later = None;
        let mut count = 0;
        loop {
            while opened_at + after < self.count() {
                after += 1;
                let push = pushes.get(count).copied().unwrap_or(Push::AsIs);
                count += 1;
                let bytes = match push {
                    Push::AsIs => event(&id, after),
                    Push::Lost => Vec::new(),
                    Push::Twice => event(&id, after).repeat(2),
                    Push::Later => {
                        later = Some(after);
                        continue;
                    }
                    Push::WithOlder => [event(&id, after), event(&id, 1)].concat(),
                    Push::AfterForeign => [event("sub-other", after), event(&id, after)].concat(),
                    Push::AfterOdd => [odd(&id), event(&id, after)].concat(),
                };
                let held = later.take().map(|later| event(&id, later));
                if !voice.say(&[bytes, held.unwrap_or_default()].concat()).await {
                    return;
                }
            }
            if last.changed().await.is_err() {
                return;
            }
        }
    }

    async fn replay(&self, message: &Value, voice: &Voice) {
        let own = &message["id"];
        let answer = {
            let mut state = self.state.lock();
            state.answered += 1;
            let connection = self.connection(voice.number);
            connection.and_then(|connection| connection.answers.get(state.answered - 1)).copied()
        };
        let (id, opened_at) = self.subscription();
        if message["params"]["subscription_id"] != json!(id) {
            voice.say(&frames::error(own, code::RESOURCE_NOT_FOUND)).await;
            return;
        }
        let last = self.count() - opened_at;
        let after = message["params"]["after_seq"].as_u64().expect("our questions are complete");
        let limit = message["params"]["limit"].as_u64().expect("our questions are complete");
        let first = self.first_kept_of(last).max(after + 1);
        let mut numbers: Vec<_> = (first..=last).take(usize::try_from(limit).unwrap()).collect();
        match answer.unwrap_or(Answer::AsAsked) {
            Answer::AsAsked => {}
            Answer::One => numbers.truncate(1),
            Answer::Shuffled => {
                numbers.reverse();
                numbers.extend(numbers.clone());
            }
            Answer::Busy => {
                voice.say(&frames::error(own, code::RATE_LIMITED)).await;
                return;
            }
            Answer::Odd => {
                voice.say(&frames::result(own, &json!({"events": 7}))).await;
                return;
            }
            Answer::After(time) => tokio::time::sleep(time).await,
            Answer::Break => return voice.hang_up(),
        }
        let events: Vec<_> = numbers.iter().map(|number| body(&id, *number)).collect();
        let mut result = json!({"resultType": "complete", "events": events, "last_seq": last});
        if after + 1 < first {
            result["gap"] = json!({"from": after + 1, "to": first - 1});
        }
        voice.say(&frames::result(own, &result)).await;
    }
}

impl Part for Peer {
    fn take(self: Arc<Self>, message: Value, voice: Voice) -> impl Future<Output = ()> + Send + 'static {
        let greeting = greeting(&["events"], self.plan.era, &message);
        async move {
            if let Some(bytes) = greeting {
                voice.say(&bytes).await;
                let connection = self.connection(voice.number).filter(|connection| connection.hangs_up);
                if let Some(connection) = connection {
                    tokio::time::sleep(connection.breaks).await;
                    voice.hang_up();
                }
                return;
            }
            let own = &message["id"];
            match message["method"].as_str().unwrap_or_default() {
                "mgp/events/subscribe" => match self.subscribe(&message["params"]) {
                    Ok((answer, after)) => {
                        voice.say(&frames::result(own, &answer)).await;
                        self.push(after, &voice).await;
                    }
                    Err(code) => {
                        voice.say(&frames::error(own, code)).await;
                    }
                },
                "subscriptions/listen" => {
                    let wish = &message["params"]["notifications"][LISTEN];
                    match self.subscribe(wish) {
                        Ok((answer, after)) => {
                            let honoured = json!({"notifications": {LISTEN: answer}});
                            voice.say(&frames::acknowledged(own, &honoured)).await;
                            self.push(after, &voice).await;
                        }
                        Err(code) => {
                            voice.say(&frames::error(own, code)).await;
                        }
                    }
                }
                "mgp/events/replay" => self.replay(&message, &voice).await,
                _ => {}
            }
        }
    }
}

/// For the driver of a run: what happens between connections.
impl Peer {
    /// A connection is about to be made: how it goes, if anything is to go wrong with it.
    pub(super) fn next_connection(&self) -> (usize, Option<(Duration, Duration)>) {
        let mut state = self.state.lock();
        let number = state.connections;
        state.connections += 1;
        state.answered = 0;
        let connection = self.connection(number);
        if connection.is_some_and(|connection| connection.forgets) {
            // Another process, which knows nothing of subscriptions.
            state.subscription += 1;
            state.opened_at = self.count();
        }
        (number, connection.map(|connection| (connection.breaks, connection.pause)))
    }
}

fn name(subscription: usize) -> String {
    format!("sub-{subscription}")
}

/// Returns the data of an event, which name its subscription and number.
fn body(subscription: &str, number: u64) -> Value {
    json!({
        "subscription_id": subscription, "channel": "system.test", "timestamp": "2026-02-27T12:05:00.000Z",
        "data": {"of": subscription, "number": number}, "_mgp.seq": number,
    })
}

fn event(subscription: &str, number: u64) -> Vec<u8> {
    frames::note("notifications/mgp.event", &body(subscription, number))
}

fn odd(subscription: &str) -> Vec<u8> {
    let bodies = [json!({"subscription_id": subscription}), json!({"_mgp.seq": 3}), json!([1])];
    bodies.iter().flat_map(|body| frames::note("notifications/mgp.event", body)).collect()
}

const LISTEN: &str = "dev.cloto/mgp/events";
