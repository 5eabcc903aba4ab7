//! The rules that hold after every run.

use std::time::Duration;

use mgp_types::Origin;
use tokio::time::Instant;

use crate::frames::REFUSAL;
use crate::play::{How, Outcome, Played, SLOWNESS};
use crate::record::{Key, Kind, Record, Reply};
use crate::schedule::{HowEnded, Planned, Schedule};

/// Returns all faults of a run.
pub(crate) fn violations(schedule: &Schedule, record: &Record, played: &Played) -> Vec<String> {
    let mut wrong = Vec::new();
    for planned in &schedule.calls {
        match played.calls.get(&planned.nonce) {
            Some(outcome) => {
                let judge = Judge { planned, outcome, record, played };
                wrong.extend(judge.why().map(|why| format!("call #{}: {why}; {outcome:?}", planned.nonce)));
            }
            None if schedule.ending.how == HowEnded::Dropped => {}
            None => wrong.push(format!("call #{} has no outcome", planned.nonce)),
        }
        let times = record.calls.get(&planned.nonce).map_or(0, Vec::len);
        if times > 1 {
            wrong.push(format!("call #{} was sent {times} times", planned.nonce));
        }
    }
    for ((session, id), (at, answers)) in &record.asked {
        let gone = gone(record, played, *session).is_some_and(|gone| gone <= *at + SLOWNESS + SOON);
        if *answers > 1 || (*answers == 0 && !gone) {
            wrong.push(format!("request {id} of the server in session {session}: {answers} answers"));
        }
    }
    for session in &schedule.listening {
        let heard_last = played.silent.get(session);
        let ended = record.ended.get(session).filter(|ended| played.left.is_none_or(|left| **ended < left));
        if let Some(ended) = ended
            // The connection is over when what it has in work is done.
            && heard_last.is_none_or(|at| *at > *ended + SLOWNESS + SOON)
        {
            wrong.push(format!(
                "the subscription of session {session} ended at {heard_last:?}, not {ended:?}"
            ));
        }
    }
    wrong
}

/// Returns the moment since which a session cannot carry an answer.
fn gone(record: &Record, played: &Played, session: usize) -> Option<Instant> {
    let since = [record.ended.get(&session), record.deaf.get(&session), played.left.as_ref()];
    since.into_iter().flatten().min().copied()
}

/// A call, with all known facts about it.
struct Judge<'a> {
    planned: &'a Planned,
    outcome: &'a Outcome,
    record: &'a Record,
    played: &'a Played,
}

impl Judge<'_> {
    /// Returns the fault of the outcome.
    fn why(&self) -> Option<String> {
        let Outcome { started, ended, how } = self.outcome;
        let last = *started + self.planned.deadline;
        if *ended > last + SOON {
            return Some("later than its deadline".to_owned());
        }
        let reply = self.first_reply();
        match (how, reply.map(|reply| reply.kind)) {
            (How::Answered(text), Some(Kind::Good { serial })) => {
                let own = format!("{}:{serial}", self.planned.nonce);
                (*text != own).then(|| format!("the answer was {own}")).or_else(|| self.late(reply))
            }
            (How::Answered(_), _) => Some(format!("an answer out of {reply:?}")),
            (How::Failed(error), kind) => match (error.origin(), kind) {
                (Origin::Peer, Some(Kind::Error)) if error.code() == REFUSAL => self.late(reply),
                (Origin::Misbehaved, Some(Kind::Bad)) => self.late(reply),
                (Origin::Timeout, _) if *ended + SOON < last => Some("earlier than its deadline".to_owned()),
                (Origin::Timeout, _) => self.ignored(reply).or_else(|| self.not_cancelled()),
                (Origin::Connection, _) => self.not_lost().or_else(|| self.ignored(reply)),
                _ => Some(format!("an unexpected error, with {reply:?}")),
            },
            (How::Dropped, _) => self.ignored(reply).or_else(|| self.not_cancelled()),
        }
    }

    fn key(&self) -> Option<Key> {
        self.record.calls.get(&self.planned.nonce)?.first().copied()
    }

    fn first_reply(&self) -> Option<Reply> {
        self.record.replies.get(&self.key()?)?.first().copied()
    }

    /// The answer was there for a while before the call ended with it.
    fn late(&self, reply: Option<Reply>) -> Option<String> {
        let reply = reply?;
        (self.outcome.ended > reply.at + SOON).then(|| format!("late: {reply:?}"))
    }

    /// The call ended without the answer that was there.
    fn ignored(&self, reply: Option<Reply>) -> Option<String> {
        let reply = reply?;
        (self.outcome.ended > reply.at + SOON).then(|| format!("the answer was ignored: {reply:?}"))
    }

    /// The call ended as if the connection were lost, but it was not, or it was lost earlier.
    fn not_lost(&self) -> Option<String> {
        let session = self.planned.session;
        let Outcome { started, ended, .. } = self.outcome;
        let Some(gone) = gone(self.record, self.played, session).filter(|gone| *gone <= *ended + SOON) else {
            return Some("the connection was not lost".to_owned());
        };
        // A server that does not read is noticed with the next message only.
        let since = self.record.ended.get(&session).or(self.played.left.as_ref()).copied().unwrap_or(gone);
        (since.max(*started) + SOON < *ended && !self.record.deaf.contains_key(&session))
            .then(|| format!("the connection was lost at {since:?}"))
    }

    /// The call was given up, and the server was not told.
    fn not_cancelled(&self) -> Option<String> {
        let key = self.key()?;
        let notified = self.record.cancelled.contains_key(&key);
        let answered = self.record.replies.contains_key(&key);
        let gone =
            gone(self.record, self.played, key.0).is_some_and(|gone| gone <= self.outcome.ended + SOON);
        (!notified && !answered && !gone).then(|| "the server was not told".to_owned())
    }
}

/// The precision of timers.
const SOON: Duration = Duration::from_millis(2);
