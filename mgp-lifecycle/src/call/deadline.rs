//! The time of a call and of its attempts: deadlines, and their arithmetic while a server waits for others.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::Request;
use mgp_types::mgp::CallOptions;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::monitor::CallMonitor;
use crate::span::LONGEST;

/// The time after which nobody waits for a call any more: an extension of its request.
///
/// Callers may attach one. [`SendingLayer`](super::SendingLayer) enforces it and attaches what holds in the end; layers further
/// in read it, so that no retry begins that could not end in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// The deadline at this moment.
    pub const fn at(moment: Instant) -> Self {
        Self(moment)
    }

    /// The deadline that is attached to a request, as far as can be said now.
    pub fn of(request: &Request) -> Option<Self> {
        Attached::to(request).map(|attached| Self(attached.end(Instant::now())))
    }

    /// Returns the time until the deadline; zero if it is past.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// The deadline of a request, for readers that come later, if at all.
#[derive(Debug, Clone)]
pub(super) enum Attached {
    /// The deadline moves while somebody is asked.
    Moving(Arc<CallMonitor>),
    /// The deadline stays where it is.
    Fixed(Deadline),
}

impl Attached {
    /// Returns the deadline that is attached to a request.
    pub(super) fn to(request: &Request) -> Option<Self> {
        let moving = request.extensions.get_shared().map(Self::Moving);
        moving.or_else(|| request.extensions.get().copied().map(Self::Fixed))
    }

    /// Returns the end of the call, as far as can be said at `now`.
    pub(super) fn end(&self, now: Instant) -> Instant {
        match self {
            Self::Moving(monitor) => monitor.end_of_call(now).unwrap_or(now),
            Self::Fixed(deadline) => deadline.0,
        }
    }

    /// Returns how long it is from `now` to the end.
    pub(super) fn left(&self, now: Instant) -> Duration {
        self.end(now).saturating_duration_since(now)
    }

    /// Returns when to look again whether the call is over; it is over where that is not after `now`.
    pub(super) fn next_look(&self, now: Instant) -> Instant {
        match self {
            Self::Moving(monitor) => monitor.next_look(now).unwrap_or(now),
            Self::Fixed(deadline) => deadline.0,
        }
    }
}

/// The time of a call that has a budget: a value without a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallTime {
    /// The time at which the call ends if nobody is asked anything.
    pub(super) budget_end: Instant,
    /// The time at which the call ends in any case, because nobody waits for it any more.
    pub(super) last_moment: Option<Instant>,
}

impl CallTime {
    /// Returns the end of the call, of which the time that `asked` counts is no part.
    pub(super) fn end(self, asked: AskedTime) -> Instant {
        let end = self.budget_end + asked.total;
        self.last_moment.map_or(end, |last| last.min(end))
    }

    /// Returns when to look again whether the call is over.
    pub(super) fn next_look(self, asked: AskedTime, now: Instant) -> Instant {
        let end = self.end(asked);
        let is_extended = asked.is_open && self.last_moment != Some(end);
        if is_extended { end.max(now + BETWEEN_LOOKS) } else { end }
    }
}

/// The time for which a call may go on after its deadline because people were asked until a moment ago.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The time limit of a call that begins.
#[derive(Debug)]
pub(super) enum Term {
    /// The budget ends first.
    Budget(CallTime),
    /// The deadline that the request says comes first.
    Said(Attached),
}

impl Term {
    /// Finds out when a call that begins at `now` ends: after `budget`, unless the request says that it ends before. A
    /// call that lasts as long as a subscription or a task has no budget. The wish in `_mgp.deadline_ms` is taken out of
    /// the parameters.
    pub(super) fn begin(budget: Duration, request: &mut Request, now: Instant) -> Option<Self> {
        let budget_end = (!request.is_open_ended()).then(|| now + budget);
        let wished = take_wish(request).map(|wished| now + wished.min(LONGEST));
        let attached = Attached::to(request).map(|attached| (attached.end(now), attached));
        let attached_end = attached.as_ref().map(|(end, _)| *end);
        let said = wished.into_iter().chain(attached_end).min();
        match (budget_end, said) {
            (Some(budget_end), last_moment) if last_moment.is_none_or(|last| budget_end < last) => {
                Some(Self::Budget(CallTime { budget_end, last_moment }))
            }
            (_, Some(said)) => match attached {
                Some((end, attached)) if end == said => Some(Self::Said(attached)),
                _ => {
                    request.extensions.insert(Deadline(said));
                    Some(Self::Said(Attached::Fixed(Deadline(said))))
                }
            },
            (_, None) => None,
        }
    }
}

/// Takes the time that a caller wishes to wait out of the parameters.
fn take_wish(request: &mut Request) -> Option<Duration> {
    if !request.params.contains("_mgp") {
        return None;
    }
    let mut wishes = CallOptions::of(&request.params);
    let millis = wishes.deadline_ms.take()?;
    wishes.write(&mut request.params);
    Some(Duration::from_millis(millis))
}

/// The time for which the server of a call waited for answers to questions of its own.
#[derive(Debug, Default)]
pub(super) struct Asked(Mutex<AskedState>);

#[derive(Debug, Default)]
struct AskedState {
    /// The number of answers for which the server waits now.
    open: u32,
    /// The time since which the server waits for any.
    since: Option<Instant>,
    /// The time for which the server waited for earlier questions of the call.
    before: Duration,
}

impl Asked {
    /// A question begins to wait for its answer.
    pub(super) fn begin(&self) {
        let mut state = self.0.lock();
        state.open += 1;
        state.since.get_or_insert_with(Instant::now);
    }

    /// A question that [began](Self::begin) waits no longer.
    pub(super) fn end(&self) {
        let mut state = self.0.lock();
        state.open = state.open.saturating_sub(1);
        if state.open == 0
            && let Some(since) = state.since.take()
        {
            state.before += since.elapsed();
        }
    }

    /// Returns how long it waited until `now`.
    pub(super) fn until(&self, now: Instant) -> AskedTime {
        let state = self.0.lock();
        let since = state.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        AskedTime { total: state.before + since, is_open: state.open > 0 }
    }
}

/// The time that an [`Asked`] has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AskedTime {
    pub(super) total: Duration,
    /// True if somebody is asked just now.
    pub(super) is_open: bool,
}

/// The time limit of an attempt: a value without a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttemptLimit {
    timeout: Duration,
    max_timeout: Duration,
}

/// The signs of life that a server has given about an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signs {
    /// The time at which the last sign of life came.
    pub(super) last: Option<Instant>,
    /// The time for which the server waited for answers to its own questions.
    pub(super) asked: AskedTime,
}

impl AttemptLimit {
    /// Limits an attempt to `timeout` without a sign of life, and to `max_timeout` in all, which is no less.
    pub(super) fn new(timeout: Duration, max_timeout: Duration) -> Self {
        let timeout = timeout.min(LONGEST);
        Self { timeout, max_timeout: max_timeout.clamp(timeout, LONGEST) }
    }

    /// Returns when an attempt is over that began at `began`, unless there are further signs of life.
    pub(super) fn end(self, began: Instant, signs: Option<Signs>, now: Instant) -> Instant {
        let Some(Signs { last, asked }) = signs else { return began + self.timeout };
        let last = if asked.is_open { now } else { last.map_or(began, |last| last.max(began)) };
        let end = (last + self.timeout).min(began + self.max_timeout + asked.total);
        if asked.is_open { end.max(now + self.timeout / LOOKS) } else { end }
    }
}

/// The number of times, within one time limit, that an attempt checks if the server still waits for somebody else.
const LOOKS: u32 = 16;

#[cfg(test)]
mod attempt_tests;
#[cfg(test)]
mod tests;
