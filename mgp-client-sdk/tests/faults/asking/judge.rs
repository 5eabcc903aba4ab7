//! The rules for tools that ask.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::plan::{Plan, Planned, What};
use super::{Sent, Visit, options};
use crate::guest::Leaving;
use crate::tally::Tally;

/// Returns all faults of a visit.
pub(super) fn violations(plan: &Plan, visit: &Visit, tally: &Tally) -> Vec<String> {
    let judge = Judge { plan, visit, tally };
    let mut wrong = Vec::new();
    for call in &plan.calls {
        wrong.extend(judge.call(call).map(|why| format!("call {}: {why}", call.nonce)));
    }
    for sent in &visit.answers {
        wrong.extend(judge.acknowledged(sent).map(|why| format!("{why}; {sent:?}")));
    }
    wrong
}

struct Judge<'a> {
    plan: &'a Plan,
    visit: &'a Visit,
    tally: &'a Tally,
}

/// The outcome of one question.
struct Settled {
    at: Instant,
    /// The text of the result; `None` if there was no answer in time, or no call any more.
    text: Option<String>,
    by: Option<i64>,
}

impl Judge<'_> {
    /// Returns the outcome of the question of a call, by the answers that were sent; `None` if two events coincide.
    fn settled(&self, nonce: u64) -> Option<Settled> {
        let (_, made) = *self.visit.made.iter().find(|(other, _)| *other == nonce)?;
        let call = self.plan.calls.iter().find(|call| call.nonce == nonce)?;
        let taken_back = self.visit.taken_back.iter().find(|(other, _)| *other == nonce);
        let end = taken_back.map_or(made + call.patience, |(_, at)| (*at).min(made + call.patience));
        for sent in self.visit.answers.iter().filter(|sent| sent.nonce == nonce) {
            let Some(text) = self.given(sent) else { continue };
            if near(sent.at, end) {
                return None;
            }
            if sent.at < end {
                return Some(Settled { at: sent.at, text: Some(text), by: Some(sent.id) });
            }
        }
        Some(Settled { at: end, text: None, by: None })
    }

    /// Returns the tool's reading of an answer, if it is valid.
    fn given(&self, sent: &Sent) -> Option<String> {
        let [first, second] = options(sent.nonce);
        match sent.what {
            What::First => Some(first),
            What::Second => Some(second),
            What::Null => Some("nothing".to_owned()),
            // Without sessions, whoever knows the name of a question may answer it.
            What::ByOther if self.plan.era.is_stateless() => Some(first),
            _ => None,
        }
    }

    /// Returns whether a message that is ready at that time has to arrive.
    fn arrives(&self, at: Instant) -> bool {
        let patience = match self.plan.leaving.1 {
            Leaving::CloseWrites => Duration::from_secs(1),
            Leaving::Vanish | Leaving::Reset => Duration::ZERO,
        };
        at + SOON < self.visit.leaving + patience
    }

    fn call(&self, call: &Planned) -> Option<String> {
        let nonce = call.nonce;
        let answers: Vec<_> = self.visit.seen.iter().filter(|(_, message)| message["id"] == nonce).collect();
        let settled = self.settled(nonce)?;
        let taken_back =
            self.visit.taken_back.iter().any(|(other, at)| *other == nonce && *at <= settled.at + SOON);
        if let Some(why) = self.asked(nonce, settled.at) {
            return Some(why);
        }
        let [(at, answer)] = answers[..] else {
            let none_is_right = taken_back || !self.arrives(settled.at);
            return (answers.len() > 1 || !none_is_right).then(|| format!("{} answers", answers.len()));
        };
        if !near(*at, settled.at) {
            return Some(format!("answered at {at:?}, settled at {:?}", settled.at));
        }
        let Some(text) = settled.text else {
            self.tally.count("late");
            let is_late = answer["error"]["code"] == 3003 || answer["result"]["isError"] == true;
            return (!is_late).then(|| format!("nobody answered: {answer}"));
        };
        self.tally.count(if text == "nothing" { "cancelled" } else { "given" });
        (answer["result"]["content"][0]["text"] != json!(text)).then(|| format!("not {text}: {answer}"))
    }

    /// A question is asked again every five seconds, three times at most, until it is settled.
    fn asked(&self, nonce: u64, settled: Instant) -> Option<String> {
        let text = json!(nonce.to_string());
        let is_it = |message: &Value| {
            message["method"] == "notifications/mgp.callback.request" && message["params"]["message"] == text
        };
        let asked: Vec<_> = self.visit.seen.iter().filter(|(_, message)| is_it(message)).collect();
        let Some((first, question)) = asked.first() else { return Some("it asked nothing".to_owned()) };
        self.tally.add("asked", asked.len());
        let same = |(_, message): &&(Instant, Value)| {
            message == question && message["params"]["request_id"] == nonce
        };
        if !asked.iter().all(same) {
            return Some(format!("one question or several: {asked:?}"));
        }
        let end = settled.min(self.visit.leaving);
        let may_be_one_more = (1..4).any(|times| near(*first + AGAIN * times, end));
        let expected = 1 + ((end - *first).as_millis() / AGAIN.as_millis()).min(3);
        let came = asked.len() as u128;
        let is_cut = self.plan.leaving.1 == Leaving::CloseWrites && settled > self.visit.leaving;
        (came != expected && !may_be_one_more && !(is_cut && came == expected + 1))
            .then(|| format!("asked {came} times, not {expected}"))
    }

    /// Each answer is acknowledged once, by what became of it.
    fn acknowledged(&self, sent: &Sent) -> Option<String> {
        let seen = if sent.what == What::ByOther { &self.visit.seen_by_other } else { &self.visit.seen };
        let answers: Vec<_> = seen.iter().filter(|(_, message)| message["id"] == sent.id).collect();
        let [(at, answer)] = answers[..] else {
            return (answers.len() > 1 || self.arrives(sent.at))
                .then(|| format!("{} answers", answers.len()));
        };
        if !near(*at, sent.at) {
            return Some(format!("acknowledged at {at:?}"));
        }
        let settled = self.settled(sent.nonce)?;
        let expected = match (self.given(sent), &settled.text) {
            (Some(_), Some(_)) if settled.by == Some(sent.id) => "accepted",
            // Who says the same again is right, too.
            (Some(given), Some(text)) if sent.at >= settled.at && given == *text => "accepted",
            // What would have been no answer is too late as well.
            (given, Some(_)) if sent.at >= settled.at && (given.is_some() || is_unfit(sent.what)) => {
                "superseded"
            }
            _ => "refused",
        };
        self.tally.count(expected);
        let right = match expected {
            "accepted" => answer["result"]["accepted"] == true,
            "superseded" => answer["result"]["accepted"] == false,
            _ => answer["error"]["code"] == -32602,
        };
        (!right).then(|| format!("not {expected}: {answer}"))
    }
}

const fn is_unfit(what: What) -> bool {
    matches!(what, What::Unfit | What::OfOther)
}

fn near(one: Instant, other: Instant) -> bool {
    one <= other + SOON && other <= one + SOON
}

/// So long a server waits before it asks again.
const AGAIN: Duration = Duration::from_secs(5);
/// The precision of timers.
const SOON: Duration = Duration::from_millis(2);
