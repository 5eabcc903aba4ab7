//! The rules for a call that is read while it is made.

use mgp_client_sdk::StreamPart;
use mgp_types::Origin;
use tokio::time::Instant;

use super::Seen;
use super::peer::{Record, SOON};
use super::plan::{Plan, Planned, Reader, Step};
use crate::frames::REFUSAL;

/// Returns all faults of a run.
pub(super) fn violations(plan: &Plan, record: &Record, seen: &[Seen]) -> Vec<String> {
    let mut wrong = record.odd.clone();
    for planned in &plan.calls {
        let Some(seen) = seen.iter().find(|seen| seen.nonce == planned.nonce) else {
            wrong.push(format!("call #{} has no end", planned.nonce));
            continue;
        };
        let said = record.said.get(&planned.nonce).map_or(&[][..], Vec::as_slice);
        let judge = Judge { planned, seen, record, said };
        let found = [judge.parts(), judge.outcome(), judge.in_time(), judge.cancellation(), judge.stopped()];
        wrong.extend(
            found.into_iter().flatten().map(|why| format!("call #{}: {why}; {seen:?}", planned.nonce)),
        );
    }
    wrong
}

struct Judge<'a> {
    planned: &'a Planned,
    seen: &'a Seen,
    record: &'a Record,
    /// The server's messages about the call.
    said: &'a [(Instant, Step)],
}

impl Judge<'_> {
    /// The chunks come in order, each once and in its place, and what is missing is told there.
    fn parts(&self) -> Option<String> {
        let mut next = 0;
        for part in &self.seen.parts {
            match part {
                StreamPart::Chunk(chunk) => {
                    let text = chunk.content.as_text().unwrap_or_default();
                    if chunk.index != next || text != format!("{}:{next}", self.planned.nonce) {
                        return Some(format!("the part was {next}, not {} {text}", chunk.index));
                    }
                    next += 1;
                }
                StreamPart::Gap { missing } => {
                    if missing.start != next || missing.is_empty() {
                        return Some(format!("missing is {next}, not {missing:?}"));
                    }
                    if let Some(index) = missing.clone().take(2000).find(|index| self.must_come(*index)) {
                        return Some(format!("{index} is not missing"));
                    }
                    next = missing.end;
                }
                _ => {}
            }
        }
        let known = self.known();
        (self.seen.to_the_end && next < known).then(|| format!("{known} parts were known, and {next} told"))
    }

    /// Returns how many chunks the client knows of at the end, at least.
    fn known(&self) -> u64 {
        let outcome = self.seen.outcome.as_ref();
        // What came in time before a loss or an answer came before its end for every reader.
        let complete = self.is_eager() || outcome.is_some_and(Result::is_ok);
        let before = self.said.iter().take_while(|(at, step)| {
            !matches!(step, Step::Answer(_) | Step::Refuse) && *at + SOON < self.seen.ended
        });
        let sent = before.filter_map(|(_, step)| match step {
            Step::Chunk(index) => Some(index.saturating_add(1)),
            _ => None,
        });
        let stated = match self.end() {
            Some((_, Step::Answer(Some(stated)))) if outcome.is_some_and(Result::is_ok) => stated,
            _ => 0,
        };
        let sent = if complete { sent.max().unwrap_or(0) } else { 0 };
        sent.max(stated)
    }

    /// Returns whether a chunk came, in time, and was not given up before.
    fn must_come(&self, index: u64) -> bool {
        let given_up = self.said.iter().any(|(_, step)| *step == Step::Lost(index));
        let end = self.said.iter().position(|(_, step)| matches!(step, Step::Answer(_) | Step::Refuse));
        let before = &self.said[..end.unwrap_or(self.said.len())];
        let came =
            before.iter().any(|(at, step)| *step == Step::Chunk(index) && *at + SOON < self.seen.ended);
        self.is_eager() && came && !given_up && index < 1000
    }

    fn is_eager(&self) -> bool {
        self.planned.reader == Reader::Eager
    }

    /// Returns the answer.
    fn end(&self) -> Option<(Instant, Step)> {
        self.said.iter().find(|(_, step)| matches!(step, Step::Answer(_) | Step::Refuse)).copied()
    }

    /// The call ends with what the server answered, or for a reason.
    fn outcome(&self) -> Option<String> {
        let came = self.record.came.get(&self.planned.nonce).copied().unwrap_or(0);
        if came > 1 {
            return Some(format!("it was sent {came} times"));
        }
        let lost = self.record.ended;
        match (self.seen.outcome.as_ref()?, self.end()) {
            (Ok(text), Some((_, Step::Answer(_)))) if *text == self.planned.nonce.to_string() => None,
            (Err(error), Some((_, Step::Refuse)))
                if error.origin() == Origin::Peer && error.code() == REFUSAL =>
            {
                None
            }
            (Err(error), answer) => match error.origin() {
                Origin::Connection if lost.is_some_and(|lost| lost <= self.seen.ended) => {
                    self.ignored(answer)
                }
                Origin::Timeout if self.seen.ended + SOON >= self.seen.started + self.planned.timeout => {
                    self.ignored(answer)
                }
                _ => Some(format!("an unexpected error, with {answer:?}")),
            },
            (Ok(_), answer) => Some(format!("an answer out of {answer:?}")),
        }
    }

    fn ignored(&self, answer: Option<(Instant, Step)>) -> Option<String> {
        let (at, _) = answer?;
        (self.is_eager() && at + SOON < self.seen.ended).then(|| "the answer was ignored".to_owned())
    }

    /// No call goes on for longer than it may, nor after its answer.
    fn in_time(&self) -> Option<String> {
        let Seen { started, ended, .. } = *self.seen;
        let read = u32::try_from(self.seen.parts.len()).unwrap();
        let slowness = match self.planned.reader {
            Reader::Slow(pause) => pause * (read + 2),
            Reader::Stops(_, time) => time,
            // Stopping it is a call of its own.
            Reader::CancelsAfter(time) => time + self.planned.max_timeout,
            Reader::Eager | Reader::Finishes(_) | Reader::DropsAfter(_) => std::time::Duration::ZERO,
        };
        let last = started + self.planned.max_timeout;
        if ended > last + slowness + SOON {
            return Some("later than its deadline".to_owned());
        }
        if !self.is_eager() {
            return None;
        }
        let signs = self.said.iter().map(|(at, _)| *at).take_while(|at| *at <= ended);
        let silent = signs.last().unwrap_or(started) + self.planned.timeout;
        if ended > silent.min(last) + SOON {
            return Some("later than the last sign of life allows".to_owned());
        }
        let (at, _) = self.end()?;
        (ended > at + SOON).then(|| format!("the answer was there at {at:?}"))
    }

    /// Returns a fault if a call that was given up was not taken back at the server exactly once.
    fn cancellation(&self) -> Option<String> {
        let times = self.record.taken_back.get(&self.planned.nonce).copied().unwrap_or(0);
        if times > 1 {
            return Some(format!("it was taken back {times} times"));
        }
        let given_up = match &self.seen.outcome {
            None => true,
            Some(Ok(_)) => false,
            Some(Err(error)) => error.origin() == Origin::Timeout,
        };
        let gone = self.record.ended.is_some_and(|ended| ended <= self.seen.ended + SOON);
        let came = self.record.came.contains_key(&self.planned.nonce);
        (given_up && came && times == 0 && !gone && self.end().is_none())
            .then(|| "the server was not told".to_owned())
    }

    /// Stopping a call is answered in time, and asked for once.
    fn stopped(&self) -> Option<String> {
        let times = self.record.stopped.get(&self.planned.nonce).copied().unwrap_or(0);
        let cancel = self.seen.cancel.as_ref();
        if times > usize::from(cancel.is_some()) {
            return Some(format!("it was stopped {times} times"));
        }
        let cancel = cancel?;
        let late = cancel.answered > cancel.asked + self.planned.max_timeout + SOON;
        let unlike = cancel.answer.as_ref().is_err_and(|error| {
            !(matches!(error.origin(), Origin::Connection | Origin::Timeout) || error.code() == -32601)
        });
        (late || unlike).then(|| format!("stopping it went wrong: {cancel:?}"))
    }
}
