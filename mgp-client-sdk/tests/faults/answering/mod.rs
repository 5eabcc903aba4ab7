//! A client that is asked in the middle of a call: again, too late, and about calls that are none.

mod plan;

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::CallbackRequest;
use mgp_types::{Context, RawJson};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::plan::{Acknowledged, Ending, Plan, Question, Shape};
use crate::frames;
use crate::play::builder;
use crate::runner::counted;
use crate::stage::{self, Crash, Part, Voice, greeting};
use crate::tally::Tally;

#[tokio::test(start_paused = true)]
async fn questions_that_come_again_too_late_or_about_nothing() {
    let least = [("asked", 4000), ("handled", 2000), ("answered", 1500), ("answered again", 300)];
    counted(Plan::from_seed, run, &least).await;
}

/// Returns all faults of one run.
async fn run(plan: Plan, tally: Tally) -> Vec<String> {
    let peer = Arc::new(Peer { plan: plan.clone(), record: Mutex::default(), crash: Crash::default() });
    let (reader, writer) = stage::open(&peer, 0);
    let handler = {
        let peer = peer.clone();
        move |asked, _: Context| peer.clone().handle(asked)
    };
    let client = builder().on_callback(handler).connect_io(reader, writer).await.unwrap();
    let start = Instant::now();
    peer.record.lock().start = Some(start);
    let calling = tokio::spawn(client.call_tool("work", json!({"nonce": 0})).into_future());
    tokio::time::sleep_until(start + plan.ending.0).await;
    match plan.ending.1 {
        Ending::Closed => client.close().await.unwrap(),
        Ending::Dropped => {
            calling.abort();
            drop(client);
        }
        Ending::Crash => {
            peer.crash.happen();
            tokio::time::sleep(SOON).await;
            drop(client);
        }
    }
    // An answer may be on its way.
    tokio::time::sleep(SOON).await;
    let _ = calling.await;
    peer.violations(&tally)
}

struct Peer {
    plan: Plan,
    record: Mutex<Record>,
    crash: Crash,
}

#[derive(Default)]
struct Record {
    /// The time at which the call was made.
    start: Option<Instant>,
    /// The questions that were asked, with their times.
    asked: Vec<(usize, Instant)>,
    /// The questions that a handler was started for.
    handled: Vec<(usize, Instant)>,
    /// The answers that came.
    responses: Vec<(Value, Instant)>,
    ended: Option<Instant>,
}

impl Peer {
    /// Handles a question as the client's user does.
    async fn handle(self: Arc<Self>, asked: CallbackRequest) -> Option<RawJson> {
        let number: usize = asked.message.parse().expect("a question is its number");
        self.record.lock().handled.push((number, Instant::now()));
        tokio::time::sleep(self.plan.questions[number].thinks?).await;
        RawJson::from_value(&format!("answer {number}")).ok()
    }

    /// Asks all that there is to ask about the call, and then answers it.
    async fn serve(&self, id: &Value, voice: &Voice) {
        let questions = self.plan.questions.iter();
        let asks = questions.flat_map(|question| question.times().map(|at| (at, Some(*question))));
        let mut chore: Vec<_> = asks.chain([(self.plan.answered, None)]).collect();
        chore.sort_by_key(|(at, _)| *at);
        let start = Instant::now();
        for (at, what) in chore {
            tokio::time::sleep_until(start + at).await;
            let Some(question) = what else {
                voice.say(&frames::result(id, &frames::echo(0, 0))).await;
                continue;
            };
            self.record.lock().asked.push((question.number, Instant::now()));
            voice.say(&self.asking(&question, id)).await;
        }
    }

    fn asking(&self, question: &Question, id: &Value) -> Vec<u8> {
        let kind = match question.shape {
            Shape::Unknown => "telepathy",
            Shape::Notification => "notification",
            _ => "confirmation",
        };
        let mut params = json!({
            "callback_id": self.name(question), "request_id": id, "type": kind,
            "message": question.number.to_string(),
            "timeout_ms": u64::try_from(question.patience.as_millis()).unwrap(),
        });
        match question.shape {
            Shape::OtherCall => params["request_id"] = json!(987_654),
            Shape::NoCall => params["request_id"] = Value::Null,
            _ => {}
        }
        frames::note("notifications/mgp.callback.request", &params)
    }

    /// Returns the id of a question.
    fn name(&self, question: &Question) -> Value {
        match question.shape {
            Shape::NoId => Value::Null,
            Shape::OddId => json!([question.number]),
            Shape::LongId => json!("x".repeat(300)),
            Shape::SameId if question.number > 0 => self.name(&self.plan.questions[question.number - 1]),
            _ => json!(format!("cb-{}", question.number)),
        }
    }

    async fn acknowledge(&self, message: &Value, voice: &Voice) {
        let params = &message["params"];
        self.record.lock().responses.push((params.clone(), Instant::now()));
        let named = |question: &&Question| self.name(question) == params["callback_id"];
        let question = self.plan.questions.iter().find(named);
        let bytes = match question.map_or(Acknowledged::Refused, |question| question.acknowledged) {
            Acknowledged::Well => frames::result(
                &message["id"],
                &json!({"callback_id": params["callback_id"], "accepted": true}),
            ),
            Acknowledged::Refused => frames::error(&message["id"], -32602),
            Acknowledged::Never => return,
        };
        voice.say(&bytes).await;
    }

    fn violations(&self, tally: &Tally) -> Vec<String> {
        let record = self.record.lock();
        let mut wrong = Vec::new();
        for (params, at) in &record.responses {
            let asked = record.asked.iter().any(|(number, asked)| {
                let question = &self.plan.questions[*number];
                let answer = json!(format!("answer {number}"));
                asked <= at
                    && self.name(question) == params["callback_id"]
                    && params["response"] == answer
                    && question.shape != Shape::Notification
            });
            if !asked {
                wrong.push(format!("nobody asked for this: {params}"));
            }
        }
        for question in &self.plan.questions {
            let why = self.judge(question, &record, tally);
            wrong.extend(
                why.map(|why| format!("question {}: {why}; {:?}", question.number, record.responses)),
            );
        }
        wrong
    }

    fn judge(&self, question: &Question, record: &Record, tally: &Tally) -> Option<String> {
        let of = |all: &[(usize, Instant)]| -> Vec<Instant> {
            all.iter().filter(|(number, _)| *number == question.number).map(|(_, at)| *at).collect()
        };
        let (asked, handled) = (of(&record.asked), of(&record.handled));
        let answer = json!(format!("answer {}", question.number));
        let answers: Vec<_> = record
            .responses
            .iter()
            .filter(|(params, _)| params["response"] == answer)
            .map(|(_, at)| *at)
            .collect();
        tally.add("asked", asked.len());
        tally.add("handled", handled.len());
        tally.add("answered", usize::from(!answers.is_empty()));
        tally.add("answered again", answers.len().saturating_sub(1));
        if handled.len() > asked.len() || answers.len() > asked.len() {
            return Some(format!("asked {}, handled {}", asked.len(), handled.len()));
        }
        if matches!(question.shape, Shape::NoId | Shape::OddId | Shape::LongId) {
            return (!handled.is_empty()).then(|| "it cannot be answered".to_owned());
        }
        // What is asked under the id of another question is a question of its own each time.
        let is_alone = !self
            .plan
            .questions
            .iter()
            .any(|other| other.number != question.number && self.name(other) == self.name(question));
        let is_about_nothing = matches!(question.shape, Shape::OtherCall | Shape::NoCall);
        if !is_alone || is_about_nothing {
            return None;
        }
        let first = asked.first()?;
        let end = record.ended.unwrap_or_else(Instant::now);
        if handled.len() > 1 || (handled.is_empty() && *first + SOON < end) {
            return Some(format!("handled {} times", handled.len()));
        }
        let due = question.thinks.filter(|time| *time + SOON < question.patience).map(|time| *first + time);
        let wants_answer = question.shape != Shape::Notification;
        let Some(due) = due.filter(|due| wants_answer && *due + SOON < end) else {
            let may_be = question.thinks.is_some_and(|time| time <= question.patience + SOON) && wants_answer;
            return (!answers.is_empty() && !may_be).then(|| "it has no answer".to_owned());
        };
        // Each time that it is asked afterwards it is answered once more, while that is not too much at once.
        let later = asked.iter().filter(|at| **at > due + SOON).count();
        let right = answers.first().is_some_and(|at| *at >= due && *at <= due + SOON);
        let again = answers.iter().filter(|at| **at > due + SOON).count();
        let bounds = if question.acknowledged == Acknowledged::Never { 0..=later } else { later..=later };
        let is_cut = asked.iter().any(|at| *at + SOON >= end);
        (!right || !(bounds.contains(&again) || is_cut))
            .then(|| format!("due at {due:?}, again {later} times, and answered at {answers:?}"))
    }
}

impl Part for Peer {
    fn take(self: Arc<Self>, message: Value, voice: Voice) -> impl Future<Output = ()> + Send + 'static {
        let greeting = greeting(&["callbacks"], self.plan.era, &message);
        async move {
            if let Some(bytes) = greeting {
                return self.crash.greet(&bytes, &voice).await;
            }
            match message["method"].as_str().unwrap_or_default() {
                "tools/call" => self.serve(&message["id"], &voice).await,
                "mgp/callback/respond" => self.acknowledge(&message, &voice).await,
                _ => {}
            }
        }
    }

    fn ended(&self, _: usize) {
        self.record.lock().ended.get_or_insert_with(Instant::now);
    }
}

/// The precision of timers.
const SOON: Duration = Duration::from_millis(2);
