//! Tools that ask their client; answers are lost, doubled, late, or come from another client.

mod judge;
mod plan;

use std::time::Duration;

use mgp_server_sdk::{Callback, CallbackReply, Cx, Server, Tool, ToolError};
use mgp_transport::Accept;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::judge::violations;
use self::plan::{Answer, Plan, Planned, What};
use crate::caller::Caller;
use crate::guest::Leaving;
use crate::runner::counted;
use crate::tally::Tally;

#[tokio::test(start_paused = true)]
async fn answers_that_are_lost_doubled_late_or_of_others() {
    let least = [
        ("asked", 2000),
        ("given", 500),
        ("cancelled", 50),
        ("late", 500),
        ("accepted", 500),
        ("refused", 500),
        ("superseded", 20),
    ];
    counted(Plan::from_seed, run, &least).await;
}

/// Returns all faults of one run.
async fn run(plan: Plan, tally: Tally) -> Vec<String> {
    let visit = Visit::make(&accept(), &plan).await;
    violations(&plan, &visit, &tally)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Ask {
    nonce: u64,
    millis: u64,
}

fn accept() -> impl Accept<Service: Unpin> + use<> {
    Server::new("host", "1.0.0")
        .tool(
            Tool::new("ask", "Asks."),
            async |Ask { nonce, millis }: Ask, cx: Cx| -> Result<String, ToolError> {
                let question = Callback::selection(nonce.to_string(), options(nonce));
                let question = question.timeout(Duration::from_millis(millis));
                Ok(match cx.callback("ask", question).await? {
                    CallbackReply::Given(choice) => choice.option,
                    _ => "nothing".to_owned(),
                })
            },
        )
        .callbacks()
        .accept()
        .unwrap()
}

/// Returns the options of a question; no other question has them.
fn options(nonce: u64) -> [String; 2] {
    [format!("{nonce}-a"), format!("{nonce}-b")]
}

/// The record of both clients.
struct Visit {
    /// The time at which each call was made, by its number.
    made: Vec<(u64, Instant)>,
    taken_back: Vec<(u64, Instant)>,
    /// The answers that were sent, each under an id of its own.
    answers: Vec<Sent>,
    leaving: Instant,
    seen: Vec<(Instant, Value)>,
    seen_by_other: Vec<(Instant, Value)>,
}

#[derive(Debug)]
struct Sent {
    at: Instant,
    id: i64,
    nonce: u64,
    what: What,
}

/// The next thing to do.
enum Chore {
    Call(Planned),
    TakeBack(u64),
    /// The question with this name is answered.
    Answer(u64, Value, What),
}

impl Visit {
    async fn make<A: Accept<Service: Unpin>>(accept: &A, plan: &Plan) -> Self {
        let mut caller = Caller::connect(accept, plan.era, &["callbacks"]).await;
        let mut other = Caller::connect(accept, plan.era, &["callbacks"]).await;
        let start = Instant::now();
        let (chore, mut chores) = mpsc::channel(16);
        let mut later = JoinSet::new();
        for call in plan.calls.clone() {
            let (at, taken_back, nonce) = (call.at, call.taken_back, call.nonce);
            later.spawn(remind(chore.clone(), start + at, Chore::Call(call)));
            if let Some(after) = taken_back {
                later.spawn(remind(chore.clone(), start + at + after, Chore::TakeBack(nonce)));
            }
        }
        let mut visit = Self {
            made: Vec::new(),
            taken_back: Vec::new(),
            answers: Vec::new(),
            leaving: start,
            seen: Vec::new(),
            seen_by_other: Vec::new(),
        };
        let (mut place, mut asked) = (0, Vec::new());
        loop {
            tokio::select! {
                biased;
                Some(message) = caller.nth(place) => {
                    place += 1;
                    if message["method"] == "notifications/mgp.callback.request" {
                        for (after, answer) in answers_to(plan, &message, &mut asked) {
                            later.spawn(remind(chore.clone(), Instant::now() + after, answer));
                        }
                    }
                }
                Some(chore) = chores.recv() => visit.act(chore, &mut caller, &mut other).await,
                () = tokio::time::sleep_until(start + plan.leaving.0) => break,
            }
        }
        later.shutdown().await;
        visit.leaving = Instant::now();
        visit.seen = caller.leave(plan.leaving.1).await;
        visit.seen_by_other = other.leave(Leaving::CloseWrites).await;
        visit
    }

    async fn act(&mut self, chore: Chore, caller: &mut Caller, other: &mut Caller) {
        let now = Instant::now();
        match chore {
            Chore::Call(Planned { nonce, patience, .. }) => {
                let millis = u64::try_from(patience.as_millis()).unwrap();
                let params = json!({"name": "ask", "arguments": {"nonce": nonce, "millis": millis}});
                caller.call(json!(nonce), "tools/call", params).await;
                self.made.push((nonce, now));
            }
            Chore::TakeBack(nonce) => {
                caller.tell("notifications/cancelled", json!({"requestId": nonce})).await;
                self.taken_back.push((nonce, now));
            }
            Chore::Answer(nonce, question, what) => {
                let id = 1000 + i64::try_from(self.answers.len()).unwrap();
                let params = answer(nonce, &question, what);
                let by = if what == What::ByOther { other } else { caller };
                by.call(json!(id), "mgp/callback/respond", params).await;
                self.answers.push(Sent { at: now, id, nonce, what });
            }
        }
    }
}

async fn remind(chore: mpsc::Sender<Chore>, at: Instant, what: Chore) {
    tokio::time::sleep_until(at).await;
    // Fails if the client is gone.
    let _ = chore.send(what).await;
}

/// Returns the answers to a question, and their delays.
fn answers_to(plan: &Plan, message: &Value, asked: &mut Vec<u64>) -> Vec<(Duration, Chore)> {
    let params = &message["params"];
    let nonce: u64 =
        params["message"].as_str().unwrap_or_default().parse().expect("the question is a number");
    let times = asked.iter().filter(|other| **other == nonce).count();
    asked.push(nonce);
    let call = plan.calls.iter().find(|call| call.nonce == nonce).expect("somebody made the call");
    let to = |answer: &&Answer| answer.to == times;
    let answer =
        |answer: &Answer| (answer.after, Chore::Answer(nonce, params["callback_id"].clone(), answer.what));
    call.answers.iter().filter(to).map(answer).collect()
}

fn answer(nonce: u64, question: &Value, what: What) -> Value {
    let [first, second] = options(nonce);
    let (id, response) = match what {
        What::First | What::ByOther => (question.clone(), json!(first)),
        What::Second => (question.clone(), json!(second)),
        What::Unfit => (question.clone(), json!("neither")),
        What::OfOther => (question.clone(), json!(options(nonce + 1)[0])),
        What::Null => (question.clone(), Value::Null),
        What::UnknownId => (json!("cb-00000000000000000000000000000000"), json!(first)),
        What::NoId => return json!({"response": first}),
        What::NoResponse => return json!({"callback_id": question}),
    };
    json!({"callback_id": id, "response": response})
}
