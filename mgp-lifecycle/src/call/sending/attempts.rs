//! The decisions between the steps of a call, without its future.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::{BoxFuture, Error, Request, RequestKind, Response};
use tokio::time::Instant;

use super::Sections;
use crate::call::attempt::AttemptLimit;
use crate::call::breaker::{BreakerLayer, CallEnd, Pass};
use crate::call::concurrency::{ConcurrencyLayer, Place};
use crate::call::deadline::{Attached, Term};
use crate::call::monitor::{CallMonitor, Watch};
use crate::call::retry::FailedAttempt;
use crate::methods::{is_open_ended, is_vital};
use crate::refusal::timed_out;
use crate::span::later;

/// Decides about the attempts at one call: whether one may be made, how long it may take, and whether another follows.
///
/// Holds the place and the pass of the attempt that runs. Where it is dropped, the place is given back, and the breaker
/// hears that the call was given up.
pub(super) struct Attempts {
    sections: Arc<Sections>,
    monitor: Option<Arc<CallMonitor>>,
    deadline: Option<Attached>,
    /// True if the call ends at its deadline here; a deadline of others is only read.
    ends_with_deadline: bool,
    /// True if the call counts for the breaker.
    is_counted: bool,
    /// The limit by which the call takes a place, if it takes one.
    places: Option<ConcurrencyLayer>,
    limit: Option<AttemptLimit>,
    /// The time at which the present step began, if any time limit depends on it.
    since: Option<Instant>,
    /// True if the present step has been waited for.
    has_waited: bool,
    place: Option<Place>,
    pass: Option<Pass>,
    retries: u32,
}

/// The wait of a call for which no attempt runs.
pub(super) enum Wait {
    /// The call stands in line for a place.
    InLine { place: BoxFuture<'static, Option<Place>>, until: Instant },
    /// No attempt was made, or it ended here.
    Ended { error: Option<Error> },
    /// The failed attempt is recorded, which counts as a part of the pause.
    Recording { record: BoxFuture<'static, Result<(), Error>>, due: Instant },
    /// The next attempt begins when it is due.
    Pausing { due: Instant },
    /// The next attempt begins when the service is ready.
    Readying,
}

impl Wait {
    pub(super) const fn ended(error: Error) -> Self {
        Self::Ended { error: Some(error) }
    }
}

/// The end of a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alarm {
    /// The present step has taken as long as it may.
    Step,
    /// The whole call has taken as long as it may.
    Deadline,
}

/// The time at which a step ends if nothing comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepEnd {
    /// The step ends with the time limit of the attempt.
    Attempt,
    /// The step ends at this moment.
    At(Instant),
    /// The step has no end of its own.
    Open,
}

/// The state of the time limits at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// A time limit has passed.
    Now(Alarm),
    /// No time limit passes before this moment.
    At(Instant),
    /// No time limit is set.
    Never,
}

impl Attempts {
    /// Begins a call; `None` if it passes untouched.
    ///
    /// # Errors
    /// 3003 if its deadline is past.
    pub(super) fn begin(sections: &Arc<Sections>, request: &mut Request) -> Result<Option<Self>, Error> {
        if request.kind == RequestKind::Notify {
            return Ok(None);
        }
        let is_open_ended = is_open_ended(request);
        let limit = sections.attempt.filter(|_| !is_open_ended);
        let since = (sections.budget.is_some() || limit.is_some()).then(Instant::now);
        let timed = since.zip(sections.budget);
        let term = timed.and_then(|(now, budget)| Term::begin(budget, request, now));
        let ends_with_deadline = term.is_some();
        let (time, said) = match term {
            Some(Term::Budget(time)) => (Some(time), None),
            Some(Term::Said(said)) => (None, Some(said)),
            None => (None, Attached::to(request)),
        };
        let watch = match since {
            // Where a message about a call is answered, nothing comes about the message itself.
            Some(since) if limit.is_some() && !request.method.is_about_a_call() => Watch::Server { since },
            _ if sections.retries.is_some() && request.context.outbox.is_open() => Watch::Caller,
            _ => Watch::Nothing,
        };
        let is_watched = time.is_some() || watch != Watch::Nothing;
        let monitor = is_watched.then(|| CallMonitor::begin(request, watch, time));
        let deadline = said.or_else(|| monitor.clone().filter(|_| time.is_some()).map(Attached::Moving));
        let is_late = |now: Instant| deadline.as_ref().is_some_and(|deadline| deadline.end(now) <= now);
        if ends_with_deadline && since.is_some_and(is_late) {
            return Err(is_over(sections, deadline.as_ref()));
        }
        if let Some(retries) = &sections.retries {
            retries.budget.earn();
        }
        let is_counted = !is_open_ended && !is_vital(request);
        let places = sections.places.as_ref().filter(|_| is_counted).map(|places| places.of(request));
        Ok(Some(Self {
            sections: Arc::clone(sections),
            monitor,
            deadline,
            ends_with_deadline,
            is_counted,
            places,
            limit,
            since,
            has_waited: false,
            place: None,
            pass: None,
            retries: 0,
        }))
    }

    /// Enters an attempt: takes a place and asks the breaker. The attempt may begin if there is nothing to wait for. A
    /// call that would stand in line in vain, because the breaker is open, is refused at once.
    pub(super) fn enter(&mut self) -> Option<Wait> {
        if let Some(places) = &self.places {
            self.place = places.try_place();
            if self.place.is_none() {
                let refusal = self.sections.breaker.as_ref().and_then(BreakerLayer::refusal);
                let now = *self.since.insert(Instant::now());
                let place = refusal.map_or_else(|| places.stand_in_line(), Err);
                let until = later(now, places.patience());
                return Some(place.map_or_else(Wait::ended, |place| Wait::InLine { place, until }));
            }
        }
        self.admit()
    }

    /// Goes on with the place for which the call stood in line, if it came in time.
    pub(super) fn placed(&mut self, place: Option<Place>) -> Option<Wait> {
        self.place = place;
        match &self.places {
            Some(places) if self.place.is_none() => Some(Wait::ended(places.exhausted())),
            _ => self.admit(),
        }
    }

    fn admit(&mut self) -> Option<Wait> {
        let breaker = self.sections.breaker.as_ref().filter(|_| self.is_counted)?;
        match breaker.admit() {
            Ok(pass) => self.pass = Some(pass),
            Err(error) => {
                self.place = None;
                return Some(Wait::ended(error));
            }
        }
        None
    }

    /// Returns whether another attempt may follow the next one, so that its request is to be kept.
    pub(super) fn may_come_again(&self) -> bool {
        self.sections.retries.as_ref().is_some_and(|retries| self.retries < retries.policy.max_retries)
    }

    /// Takes the time of an attempt that begins after the call has waited.
    pub(super) fn resume(&mut self) {
        self.since = self.since.map(|_| Instant::now());
    }

    /// Writes the time that is left into the request of an attempt, for a server that reads it.
    pub(super) fn carry_deadline(&self, request: &mut Request) {
        if let Some(reader) = &self.sections.reads_deadlines {
            let left = || Some(self.deadline.as_ref()?.left(self.since.unwrap_or_else(Instant::now)));
            reader.carry(left, request);
        }
    }

    /// Returns how the time limits stand when a step begins to be waited for; `None` if the step was waited for before.
    pub(super) fn first_look(&mut self, step: StepEnd) -> Option<Look> {
        let is_first = !std::mem::replace(&mut self.has_waited, true);
        // Without a beginning there is nothing that ends.
        is_first.then(|| self.since.map_or(Look::Never, |since| self.look(step, since)))
    }

    /// Returns how the time limits stand at `now`. If one has passed, the next step begins now.
    pub(super) fn look_again(&mut self, step: StepEnd, now: Instant) -> Look {
        let look = self.look(step, now);
        if matches!(look, Look::Now(_)) {
            self.since = Some(now);
        }
        look
    }

    fn look(&self, step: StepEnd, now: Instant) -> Look {
        let step = match step {
            StepEnd::Attempt => self.limit.map(|limit| {
                let signs = self.monitor.as_ref().map(|monitor| monitor.signs(now));
                limit.end(self.since.unwrap_or(now), signs, now)
            }),
            StepEnd::At(moment) => Some(moment),
            StepEnd::Open => None,
        };
        let deadline = self.deadline.as_ref().filter(|_| self.ends_with_deadline);
        let deadline = deadline.map(|deadline| deadline.next_look(now));
        match (step, deadline) {
            (Some(step), _) if step <= now => Look::Now(Alarm::Step),
            (_, Some(deadline)) if deadline <= now => Look::Now(Alarm::Deadline),
            (step, deadline) => step.into_iter().chain(deadline).min().map_or(Look::Never, Look::At),
        }
    }

    /// Begins the next step, which has not been waited for.
    pub(super) const fn next_step(&mut self) {
        self.has_waited = false;
    }

    /// Gives the place back and tells the breaker how the attempt ended.
    pub(super) fn ended(&mut self, outcome: &Result<Response, Error>) {
        // An answer that was there at once came when the attempt began.
        let now = self.since.filter(|_| !self.has_waited);
        self.settle(CallEnd::of(outcome.as_ref().err()), now);
    }

    /// Ends the call because its time is over; for the breaker its attempt has failed.
    pub(super) fn give_up(&mut self) -> Error {
        self.settle(CallEnd::Failed, None);
        is_over(&self.sections, self.deadline.as_ref())
    }

    fn settle(&mut self, end: CallEnd, now: Option<Instant>) {
        self.place = None;
        if let (Some(pass), Some(breaker)) = (self.pass.take(), &self.sections.breaker) {
            breaker.settle(pass, end, now.unwrap_or_else(Instant::now));
        }
    }

    /// Returns the error of an attempt that took as long as it may.
    pub(super) fn attempt_timed_out(&self) -> Error {
        late(&self.sections, "the server did not answer in time")
    }

    /// Decides whether another attempt follows one that ended in `error`, and returns the wait before it.
    pub(super) fn retry(&mut self, error: &Error, request: &Request) -> Option<Wait> {
        let retries = self.sections.retries.as_ref()?;
        let now = Instant::now();
        let failed = FailedAttempt {
            request,
            error,
            retries: self.retries,
            left: self.deadline.as_ref().map(|deadline| deadline.left(now)),
            has_shown: self.monitor.as_ref().is_some_and(|monitor| monitor.has_shown()),
        };
        let pause = retries.pause(&failed, now)?;
        let retry = self.retries + 1;
        tracing::debug!(method = %request.method, code = error.code(), retry, ?pause, "the call is made again");
        let due = later(now, pause);
        let record = self.sections.audit.clone().map(|port| {
            let event = retries.event(&failed, pause);
            Box::pin(async move { port.record(event).await })
        });
        (self.retries, self.since) = (retry, Some(now));
        Some(match record {
            Some(record) => Wait::Recording { record, due },
            None => Wait::Pausing { due },
        })
    }
}

impl Drop for Attempts {
    fn drop(&mut self) {
        if self.pass.is_some() {
            let now = Instant::now();
            let is_late = self.deadline.as_ref().is_some_and(|deadline| deadline.left(now) == Duration::ZERO);
            self.settle(if is_late { CallEnd::Failed } else { CallEnd::Unknown }, Some(now));
        }
    }
}

/// 3003 for a call that nobody waits for any more.
fn is_over(sections: &Sections, deadline: Option<&Attached>) -> Error {
    let message = "the time for the call is over";
    match deadline {
        // The settings set this time, and not the caller.
        Some(Attached::Moving(_)) => late(sections, message),
        _ => timed_out(message),
    }
}

fn late(sections: &Sections, otherwise: &'static str) -> Error {
    timed_out(sections.late.as_deref().map_or(Cow::Borrowed(otherwise), |late| late.to_owned().into()))
}
