//! The rules for the messages that a client gets from a server that streams.

use std::collections::HashMap;
use std::time::Duration;

use mgp_types::code;
use serde_json::Value;
use tokio::time::Instant;

use super::Visit;
use super::plan::{Move, Odd, Plan, Wanted};
use crate::guest::Leaving;
use crate::tally::Tally;

/// Returns all faults of a visit.
pub(super) fn violations(plan: &Plan, visit: &Visit, tally: &Tally) -> Vec<String> {
    let mut wrong = Vec::new();
    if visit.made.len() != plan.moves.len() && plan.reads() {
        wrong.push(format!("the connection ended after {} moves", visit.made.len()));
    }
    wrong.extend(events(visit, tally));
    for ((_, what), made) in plan.moves.iter().zip(&visit.made) {
        match *what {
            Move::Count { id, to, millis, wanted } => {
                let judge = Judge { plan, visit, tally, id, to, millis, wanted, made: *made };
                wrong.extend(judge.why().map(|why| format!("call {id}: {why}; {:?}", judge.heard())));
            }
            Move::Stop { id, .. } | Move::Ping { id } | Move::Subscribe { id } => {
                wrong.extend(once(plan, visit, id, *made));
            }
            Move::Odd { id, what: Odd::StopsNothing | Odd::StopsUnnamed | Odd::Responds | Odd::Replays } => {
                wrong.extend(once(plan, visit, id, *made));
                if visit.answers(id).any(|(_, answer)| answer["result"]["cancelled"] == true) {
                    wrong.push(format!("{id} stopped something"));
                }
            }
            _ => {}
        }
    }
    wrong
}

/// Each such request is answered at once, and once.
fn once(plan: &Plan, visit: &Visit, id: i64, made: Instant) -> Option<String> {
    let answers: Vec<_> = visit.answers(id).collect();
    let on_time = answers.iter().all(|(at, _)| *at <= made + SOON) || !plan.reads();
    let must = plan.reads() && made + SOON < visit.leaving;
    let right = answers.len() == 1 || (answers.is_empty() && !must);
    (!right || !on_time).then(|| format!("request {id} of {made:?} was answered by {answers:?}"))
}

/// The events of each subscription have numbers without holes.
fn events(visit: &Visit, tally: &Tally) -> Option<String> {
    let mut last: HashMap<&str, u64> = HashMap::new();
    for (_, message) in &visit.seen {
        if message["method"] != "notifications/mgp.event" {
            continue;
        }
        tally.count("events");
        let last = last.entry(message["params"]["subscription_id"].as_str()?).or_default();
        if message["params"]["_mgp.seq"] != *last + 1 {
            return Some(format!("event {} comes before this: {message}", *last + 1));
        }
        *last += 1;
    }
    None
}

impl Plan {
    /// Returns whether the client reads all the time.
    fn reads(&self) -> bool {
        !self.moves.iter().any(|(_, what)| matches!(what, Move::StopReading(_)))
    }
}

impl Visit {
    fn answers(&self, id: i64) -> impl Iterator<Item = &(Instant, Value)> {
        self.seen.iter().filter(move |(_, message)| message["id"] == id)
    }
}

/// A call, with all messages about it.
struct Judge<'a> {
    plan: &'a Plan,
    visit: &'a Visit,
    tally: &'a Tally,
    id: i64,
    to: u64,
    millis: u64,
    wanted: Wanted,
    made: Instant,
}

impl Judge<'_> {
    fn why(&self) -> Option<String> {
        let chunks = match self.chunks() {
            Ok(chunks) => chunks,
            Err(why) => return Some(why),
        };
        let answers: Vec<_> = self.visit.answers(self.id).collect();
        let [answer] = answers[..] else {
            return (answers.len() > 1 || self.must_be_answered())
                .then(|| format!("{} answers", answers.len()));
        };
        let (at, message) = answer;
        if message["error"].is_object() {
            return self.is_stalled(message);
        }
        let result = &message["result"];
        // Texts that follow one another may have become one.
        let blocks = result["content"].as_array().into_iter().flatten();
        let text: String = blocks.filter_map(|block| block["text"].as_str()).collect();
        let told = text.matches(';').count() as u64;
        if text != (0..told).map(|number| self.text(number)).collect::<String>() {
            return Some("the result is not what was streamed".to_owned());
        }
        let cancelled = result["_mgp"]["cancelled"] == true;
        self.tally.count(if cancelled { "stopped" } else { "answered" });
        if self.wanted == Wanted::InParts
            && (chunks != told || result["_mgp"]["chunks_sent"].as_u64().unwrap_or(0) != chunks)
        {
            return Some(format!("{chunks} chunks were sent, {told} are in the result"));
        }
        if cancelled != self.was_stopped() {
            return Some(format!("cancelled: {cancelled}, and the other answer says otherwise"));
        }
        if !cancelled && told != self.to {
            return Some(format!("the result has {told} parts"));
        }
        self.in_time(*at, cancelled).or_else(|| self.not_sent_again(*at))
    }

    /// Returns a fault if a chunk that was missed during the call did not come again.
    fn not_sent_again(&self, answered: Instant) -> Option<String> {
        let paced = self.moves().any(|(what, _)| matches!(what, Move::Pace { .. }));
        if paced || !self.plan.reads() || self.wanted == Wanted::AtOnce {
            return None;
        }
        let came = |index: u64, again: bool, times: &dyn Fn(Instant) -> bool| {
            self.visit.seen.iter().any(|(at, message)| {
                let params = &message["params"];
                let is_it = params["request_id"] == self.id && params["index"] == index;
                is_it && (params["_mgp"]["retransmit"] == true) == again && times(*at)
            })
        };
        let missed = self.moves().filter_map(|(what, at)| match what {
            Move::Miss { from, to, .. } if at + SOON < answered => Some((from..to, at)),
            _ => None,
        });
        for (indices, at) in missed {
            for index in indices {
                if came(index, false, &|came| came + SOON < at)
                    && !came(index, true, &|came| came >= at && came <= at + SOON)
                {
                    return Some(format!("{index} was missed at {at:?} and did not come again"));
                }
            }
        }
        None
    }

    /// Returns the chunks that came, in order and without holes, all before the answer.
    fn chunks(&self) -> Result<u64, String> {
        let (mut next, mut answered) = (0, false);
        for message in self.heard() {
            if message["id"] == self.id {
                answered = true;
                continue;
            }
            if answered {
                return Err(format!("after the answer: {message}"));
            }
            let params = &message["params"];
            if message["method"] == "notifications/mgp.stream.gap_unrecoverable" {
                return Err(format!("everything was kept: {message}"));
            }
            if message["method"] != "notifications/mgp.stream.chunk" {
                continue;
            }
            let index = params["index"].as_u64().ok_or("a chunk without a number")?;
            let again = params["_mgp"]["retransmit"] == true;
            if params["content"]["text"] != self.text(index)
                || (!again && index != next)
                || (again && index >= next)
            {
                return Err(format!("{next} is next: {message}"));
            }
            self.tally.count(if again { "sent again" } else { "chunks" });
            next += u64::from(!again);
        }
        if next > 0 && self.wanted == Wanted::AtOnce {
            return Err("nobody asked for chunks".to_owned());
        }
        Ok(next)
    }

    fn text(&self, number: u64) -> String {
        format!("{}:{number};", self.id)
    }

    /// All that came about the call, and its answers.
    fn heard(&self) -> Vec<&Value> {
        let about = |message: &&Value| message["id"] == self.id || message["params"]["request_id"] == self.id;
        self.visit.seen.iter().map(|(_, message)| message).filter(about).collect()
    }

    /// Returns the moves about the call, and when they were made.
    fn moves(&self) -> impl Iterator<Item = (Move, Instant)> {
        self.plan.moves.iter().zip(&self.visit.made).map(|((_, what), at)| (*what, *at)).filter(
            |(what, _)| {
                matches!(what,
                Move::Stop { of, .. } | Move::TakeBack { of } | Move::Pace { of, .. } | Move::Miss { of, .. }
                if *of == self.id)
            },
        )
    }

    /// Returns whether an answer told that the call was stopped, with the part of its result that there was.
    fn was_stopped(&self) -> bool {
        let stops = self.moves().filter_map(|(what, _)| match what {
            Move::Stop { id, .. } => Some(id),
            _ => None,
        });
        let mut stopped = false;
        for id in stops {
            for (_, answer) in self.visit.answers(id) {
                let result = &answer["result"];
                stopped |= result["cancelled"] == true;
                if result["cancelled"] == false {
                    self.tally.count("not active");
                }
            }
        }
        stopped
    }

    /// Returns a fault if a call ended in an error that it may not end in.
    fn is_stalled(&self, message: &Value) -> Option<String> {
        self.tally.count("stalled");
        let paused = |(what, _)| matches!(what, Move::Pace { per_second: 0, .. });
        let may_stall = self.moves().any(paused) || !self.plan.reads();
        let right = message["error"]["code"] == code::RESOURCE_EXHAUSTED && may_stall;
        (!right).then(|| format!("an unexpected error: {message}"))
    }

    /// Returns whether an answer has to come: it is ready in time, and the call was not taken back.
    fn must_be_answered(&self) -> bool {
        let taken_back = self.moves().any(|(what, _)| matches!(what, Move::TakeBack { .. }));
        let slow = self.moves().any(|(what, _)| matches!(what, Move::Pace { .. }));
        let patience = match self.plan.leaving.1 {
            Leaving::CloseWrites => DRAIN,
            Leaving::Vanish | Leaving::Reset => Duration::ZERO,
        };
        self.plan.reads() && !taken_back && !slow && self.done() + SOON < self.visit.leaving + patience
    }

    /// Returns when the tool is done if nobody holds it up. Timers are up to a millisecond late, each of them.
    fn done(&self) -> Instant {
        let pause = if self.millis == 0 { 0 } else { self.millis + 1 };
        self.made + Duration::from_millis(self.to * pause)
    }

    fn in_time(&self, at: Instant, cancelled: bool) -> Option<String> {
        let slow = self.moves().any(|(what, _)| matches!(what, Move::Pace { .. }));
        if !self.plan.reads() {
            return None;
        }
        if cancelled {
            let stopped = |(what, made)| matches!(what, Move::Stop { .. }) && at <= made + SOON;
            return (!self.moves().any(stopped)).then(|| format!("it was stopped earlier than {at:?}"));
        }
        let early = at + SOON < self.made + Duration::from_millis(self.to * self.millis);
        let late = !slow && at > self.done() + SOON;
        (early || late).then(|| format!("answered at {at:?}, done at {:?}", self.done()))
    }
}

/// The time for which a server goes on with its work when no more messages come.
pub(super) const DRAIN: Duration = Duration::from_secs(1);
/// The precision of timers.
const SOON: Duration = Duration::from_millis(2);
