//! The rules for calls that are made again.

use std::time::Duration;

use mgp_lifecycle::call::BreakerState;
use mgp_types::Origin;
use mgp_types::mgp::code;
use tokio::time::Instant;

use super::Seen;
use super::peer::{Made, Record, SOON};
use super::plan::{Attempt, Plan, Planned, Tool};
use crate::tally::Tally;

/// Returns all faults of a run.
pub(super) fn violations(plan: &Plan, record: &Record, seen: &[Seen], tally: &Tally) -> Vec<String> {
    let mut wrong = Vec::new();
    let all = || record.attempts.values().flatten();
    let at_once = all().map(|made| all().filter(|other| other.is_in_work(made.at)).count()).max();
    if at_once.is_some_and(|at_once| at_once > plan.places) {
        wrong.push(format!("{at_once:?} calls ran at once"));
    }
    for planned in &plan.calls {
        let Some(seen) = seen.iter().find(|seen| seen.nonce == planned.nonce) else {
            wrong.push(format!("call #{} has no end", planned.nonce));
            continue;
        };
        let made = record.attempts.get(&planned.nonce).map_or(&[][..], Vec::as_slice);
        let judge = Judge { plan, planned, seen, made, record, tally };
        let why = judge.attempts().or_else(|| judge.outcome()).or_else(|| judge.kept_off());
        wrong.extend(why.map(|why| format!("call #{}: {why}; {seen:?}; {made:?}", planned.nonce)));
    }
    wrong
}

struct Judge<'a> {
    plan: &'a Plan,
    planned: &'a Planned,
    seen: &'a Seen,
    made: &'a [Made],
    record: &'a Record,
    tally: &'a Tally,
}

impl Judge<'_> {
    /// No attempt is made that must not be, or too early.
    fn attempts(&self) -> Option<String> {
        if self.made.len() > 1 + self.plan.max_retries as usize {
            return Some(format!("it was sent {} times", self.made.len()));
        }
        for (number, (failed, next)) in self.made.iter().zip(self.made.iter().skip(1)).enumerate() {
            self.tally.count("sent again");
            if self.planned.tool != Tool::Safe {
                self.tally.count("unsafe sent again");
            }
            if let Some(why) = self.must_not_follow(number, failed, next) {
                return Some(format!("attempt {number} must be the last: {why}"));
            }
        }
        self.made.iter().any(|made| made.at > self.seen.ended).then(|| "it was sent after its end".to_owned())
    }

    fn must_not_follow(&self, number: usize, failed: &Made, next: &Made) -> Option<&'static str> {
        match failed.attempt {
            // It came too late.
            _ if failed.taken_back.is_some() => {
                (self.planned.tool != Tool::Safe).then_some("the tool may have run")
            }
            Attempt::Answer => Some("it was answered"),
            Attempt::Crash => Some("the connection is gone"),
            Attempt::Fail(failure) => {
                let most = failure.max_retries.unwrap_or(2);
                let pause = next.at - failed.answered.unwrap_or(failed.at);
                if failure.retryable == Some(false) {
                    Some("it says so")
                } else if self.planned.tool != Tool::Safe && !failure.is_refusal() {
                    Some("the tool may have run")
                } else if failure.retryable == Some(true) && number as u64 >= u64::from(most) {
                    Some("the error allows no more")
                } else if failure.retryable == Some(true) && pause < Duration::from_millis(failure.after_ms) {
                    Some("the error asks for more time")
                } else {
                    None
                }
            }
            Attempt::Hang | Attempt::Garbled => {
                (self.planned.tool != Tool::Safe).then_some("the tool may have run")
            }
        }
    }

    /// The call ends in time, with what its last attempt came to.
    fn outcome(&self) -> Option<String> {
        let Seen { started, ended, .. } = *self.seen;
        if ended > started + self.plan.deadline + SOON {
            return Some("later than its deadline".to_owned());
        }
        let last = self.made.last();
        let (outcome, tally) = (self.seen.outcome.as_ref()?, self.tally);
        match outcome {
            Ok(text) => {
                tally.count("answered");
                let own = format!("{}:{}", self.planned.nonce, self.made.len().wrapping_sub(1));
                (*text != own || last.is_none_or(|last| last.attempt != Attempt::Answer))
                    .then(|| format!("the answer is not {own}"))
            }
            Err(error) => match error.origin() {
                Origin::Timeout => {
                    tally.count("timed out");
                    self.answered_in_time()
                }
                Origin::Connection => {
                    let is_gone = self.record.ended.is_some_and(|gone| gone <= ended + SOON);
                    (!is_gone).then(|| "the connection was not lost".to_owned())
                }
                Origin::Local => {
                    tally.count("broken off");
                    let known =
                        [code::UPSTREAM_UNAVAILABLE, code::RESOURCE_EXHAUSTED].contains(&error.code());
                    (!known).then(|| "an unexpected refusal".to_owned())
                }
                Origin::Peer => {
                    let of = |made: &Made| matches!(made.attempt, Attempt::Fail(failure) if failure.code == error.code());
                    (!last.is_some_and(of)).then(|| "another attempt was the last".to_owned())
                }
                Origin::Misbehaved => {
                    let garbled = last.is_some_and(|last| last.attempt == Attempt::Garbled);
                    (!garbled).then(|| "another attempt was the last".to_owned())
                }
                _ => Some("an unexpected error".to_owned()),
            },
        }
    }

    /// The last attempt was answered well, and the call ended otherwise.
    fn answered_in_time(&self) -> Option<String> {
        let last = self.made.last()?;
        let answered = last.answered?;
        let well = last.attempt == Attempt::Answer && answered + SOON < self.seen.ended;
        well.then(|| "the answer was ignored".to_owned())
    }

    /// While the breaker is open nothing reaches the server.
    fn kept_off(&self) -> Option<String> {
        let Some(Err(error)) = &self.seen.outcome else { return None };
        let is_open = self.seen.breaker == BreakerState::Open && error.code() == code::UPSTREAM_UNAVAILABLE;
        if !is_open || error.origin() != Origin::Local {
            return None;
        }
        let wait = Duration::from_millis(error.recovery()?.retry_after_ms?);
        let (from, to): (Instant, Instant) = (self.seen.ended + SOON, self.seen.ended + wait);
        let all = self.record.attempts.values().flatten();
        let sent = all.filter(|made| made.at > from && made.at + SOON < to).count();
        (sent > 0).then(|| format!("{sent} attempts were made within {wait:?}"))
    }
}
