//! The steps of a call and the decisions between them, with the one timer of each step.

use std::borrow::Cow;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mgp_types::mgp::CallOptions;
use mgp_types::{BoxFuture, Error, Method, Request, RequestKind, Response, RpcService};
use tokio::time::{Instant, Sleep, sleep_until};

use super::SendingLayer;
use crate::call::breaker::{CallEnd, Pass, SharedBreaker};
use crate::call::concurrency::{ConcurrencyLimit, Place};
use crate::call::deadline::{Attached, AttemptLimit, CallMonitor, Watch, term};
use crate::call::{event, retry};
use crate::refusal::timed_out;
use crate::span::{self, later};

/// Decides about the attempts at one call: whether one may be made, how long it may take, and whether another follows.
///
/// Holds the place and the pass of the attempt that runs. Where it is dropped, the place is given back, and the breaker
/// hears that the call was given up.
pub(super) struct Attempts {
    settings: Arc<SendingLayer>,
    monitor: Option<Arc<CallMonitor>>,
    deadline: Option<Attached>,
    /// True if the call ends at its deadline here; a deadline of others is only read.
    ends_with_deadline: bool,
    /// True if the call counts for the breaker.
    is_counted: bool,
    /// The limit by which the call takes a place, if it takes one.
    places: Option<ConcurrencyLimit>,
    limit: Option<AttemptLimit>,
    /// The time at which the present step began, if any time limit depends on it.
    since: Option<Instant>,
    /// True if the present step has been waited for.
    has_waited: bool,
    place: Option<Place>,
    pass: Option<Pass>,
    retries: u32,
    earlier: EarlierAttempts,
}

/// What the attempts before the present one did.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EarlierAttempts {
    NotExecuted,
    MaybeExecuted,
}

/// The wait of a call for which no attempt runs.
pub(super) enum Wait {
    /// The call stands in line for a place.
    InLine(BoxFuture<'static, Option<Place>>),
    /// No attempt was made.
    Refused(Error),
    /// The next attempt follows after a pause.
    Pausing(Retry),
}

/// An attempt that failed and is made again.
pub(super) struct Retry {
    failed: Error,
    /// The record of the failed attempt, which is made in the pause.
    record: Option<BoxFuture<'static, Result<(), Error>>>,
    /// The time at which the next attempt begins.
    due: Instant,
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

impl Attempts {
    /// Begins a call; `None` if it passes untouched.
    ///
    /// # Errors
    /// 3003 if its deadline is past.
    pub(super) fn begin(settings: &Arc<SendingLayer>, request: &mut Request) -> Result<Option<Self>, Error> {
        if request.kind == RequestKind::Notify {
            return Ok(None);
        }
        let is_open_ended = request.is_open_ended();
        let limit = settings.attempt.filter(|_| !is_open_ended);
        let since = (settings.budget.is_some() || limit.is_some()).then(Instant::now);
        let timed = since.zip(settings.budget);
        let (time, said) = timed.map_or((None, None), |(now, budget)| term(budget, request, now));
        let ends_with_deadline = time.is_some() || said.is_some();
        let said = if ends_with_deadline { said } else { Attached::to(request) };
        let watch = match since {
            // Where a message about a call is answered, nothing comes about the message itself.
            Some(since) if limit.is_some() && !request.method.is_about_a_call() => Watch::Server { since },
            _ if settings.retries.is_some() && request.context.outbox.is_open() => Watch::Caller,
            _ => Watch::Nothing,
        };
        let is_watched = time.is_some() || watch != Watch::Nothing;
        let monitor = is_watched.then(|| CallMonitor::begin(request, watch, time));
        let deadline = said.or_else(|| monitor.clone().filter(|_| time.is_some()).map(Attached::Moving));
        let is_late = |now: Instant| deadline.as_ref().is_some_and(|deadline| deadline.end(now) <= now);
        if ends_with_deadline && since.is_some_and(is_late) {
            return Err(is_over(settings, deadline.as_ref()));
        }
        if settings.retries.is_some() {
            settings.retry_budget.earn();
        }
        let is_counted = !is_open_ended && !request.is_vital();
        let places = settings.places.as_ref().filter(|_| is_counted).map(|places| places.of(request));
        Ok(Some(Self {
            settings: Arc::clone(settings),
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
            earlier: EarlierAttempts::NotExecuted,
        }))
    }

    /// Enters an attempt: takes a place and asks the breaker.
    ///
    /// # Errors
    /// The wait before the attempt, if any. A call that would wait in vain, because the breaker is open, is refused at
    /// once.
    pub(super) fn enter(&mut self) -> Result<(), Wait> {
        if let Some(places) = &self.places {
            self.place = places.try_place();
            if self.place.is_none() {
                let refusal = self.settings.breaker.as_ref().and_then(SharedBreaker::refusal);
                self.since = Some(Instant::now());
                let line = refusal.map_or_else(|| places.stand_in_line(), Err);
                return Err(line.map_or_else(Wait::Refused, Wait::InLine));
            }
        }
        self.admit().map_err(Wait::Refused)
    }

    fn admit(&mut self) -> Result<(), Error> {
        let Some(breaker) = self.settings.breaker.as_ref().filter(|_| self.is_counted) else { return Ok(()) };
        self.pass = Some(breaker.admit().inspect_err(|_| self.place = None)?);
        Ok(())
    }

    /// Returns whether another attempt may follow the next one, so that its request is to be kept.
    pub(super) fn may_come_again(&self) -> bool {
        self.settings.retries.as_ref().is_some_and(|policy| self.retries < policy.max_retries)
    }

    /// Writes the time that is left into the call of a tool, for a server that reads it.
    pub(super) fn carry_deadline(&self, request: &mut Request) {
        if request.method == Method::TOOLS_CALL
            && let Some(deadline) = &self.deadline
            && self.settings.speaks_mgp.as_ref().is_some_and(|speaks_mgp| speaks_mgp())
        {
            let left = deadline.left(self.since.unwrap_or_else(Instant::now));
            let mut wishes = CallOptions::of(&request.params);
            wishes.deadline_ms = Some(span::millis(left));
            wishes.write(&mut request.params);
        }
    }

    /// Goes on with a call that has to wait, until it has its last answer. The service is ready if the call stands in line.
    pub(super) async fn go_on<S: RpcService>(
        mut self,
        mut service: S,
        mut request: Request,
        mut wait: Wait,
    ) -> Result<Response, Error> {
        loop {
            let entered = match wait {
                Wait::InLine(place) => self.stand_in_line(place).await,
                Wait::Refused(error) => Err(error),
                Wait::Pausing(retry) => {
                    self.pause(retry, &mut service).await?;
                    if let Err(longer) = self.enter() {
                        wait = longer;
                        continue;
                    }
                    Ok(())
                }
            };
            let answer = match entered {
                Ok(()) => self.attempt(&mut service, &mut request).await,
                Err(error) => Err(error),
            };
            match answer {
                Err(error) => wait = Wait::Pausing(self.retry(error, &request)?),
                answer => return answer,
            }
        }
    }

    /// Waits for the `place` at the end of the line, and asks the breaker.
    async fn stand_in_line(&mut self, place: BoxFuture<'static, Option<Place>>) -> Result<(), Error> {
        let Some(places) = self.places.clone() else { return self.admit() };
        let until = later(self.since.unwrap_or_else(Instant::now), places.patience());
        match self.bounded(place, StepEnd::At(until)).await {
            Ok(Some(place)) => self.place = Some(place),
            Err(Alarm::Deadline) => return Err(self.give_up()),
            Ok(None) | Err(Alarm::Step) => return Err(places.exhausted()),
        }
        self.admit()
    }

    /// Records a failed attempt, pauses, and waits until the service is ready for the next one.
    async fn pause<S: RpcService>(&mut self, retry: Retry, service: &mut S) -> Result<(), Error> {
        let Retry { failed, record, due } = retry;
        if let Some(record) = record {
            match self.bounded(record, StepEnd::Open).await {
                Ok(Ok(())) => {}
                Ok(Err(cause)) => {
                    let code = cause.code();
                    tracing::warn!(code, "a call is not made again because that could not be recorded");
                    return Err(failed);
                }
                Err(_) => return Err(self.give_up()),
            }
        }
        if self.bounded(pending::<()>(), StepEnd::At(due)).await == Err(Alarm::Deadline) {
            return Err(self.give_up());
        }
        match self.bounded(poll_fn(|cx| service.poll_ready(cx)), StepEnd::Open).await {
            Ok(ready) => ready.map_err(|_| failed),
            Err(_) => Err(self.give_up()),
        }
    }

    /// Makes an attempt. The request is copied only if another attempt may follow.
    async fn attempt<S: RpcService>(
        &mut self,
        service: &mut S,
        request: &mut Request,
    ) -> Result<Response, Error> {
        let mut sent = if self.may_come_again() { request.clone() } else { request.take() };
        self.since = self.since.map(|_| Instant::now());
        self.carry_deadline(&mut sent);
        let answer = self.bounded(service.call(sent), StepEnd::Attempt).await;
        self.judge(answer)
    }

    /// Waits for a step, or for the end of a time limit.
    async fn bounded<F: Future>(&mut self, step: F, end: StepEnd) -> Result<F::Output, Alarm> {
        self.has_waited = false;
        let (mut step, mut timer) = (pin!(step), pin!(None));
        poll_fn(|cx| self.poll_step(step.as_mut(), timer.as_mut(), end, cx)).await
    }

    /// Polls a step, and the timer of its end and of the call's. An answer that came in the last moment counts. The timer is
    /// made when a step is waited for, and moved when it rings and not at each sign of life: there may be thousands of them.
    pub(super) fn poll_step<F: Future>(
        &mut self,
        step: Pin<&mut F>,
        mut timer: Pin<&mut Option<Sleep>>,
        end: StepEnd,
        cx: &mut Context<'_>,
    ) -> Poll<Result<F::Output, Alarm>> {
        if let Poll::Ready(output) = step.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        // Without a beginning there is nothing that ends.
        if !std::mem::replace(&mut self.has_waited, true)
            && let Some(since) = self.since
        {
            match self.look(end, since) {
                Ok(next) => timer.set(next.map(sleep_until)),
                Err(alarm) => return Poll::Ready(Err(alarm)),
            }
        }
        let Some(mut sleep) = timer.as_pin_mut() else { return Poll::Pending };
        loop {
            ready!(sleep.as_mut().poll(cx));
            let now = Instant::now();
            match self.look(end, now) {
                Ok(Some(next)) => sleep.as_mut().reset(next),
                Ok(None) => return Poll::Pending,
                Err(alarm) => {
                    // The next step begins now.
                    self.since = Some(now);
                    return Poll::Ready(Err(alarm));
                }
            }
        }
    }

    /// Returns when the time limits are looked at next; `None` if they never are.
    ///
    /// # Errors
    /// A time limit has passed.
    fn look(&self, step: StepEnd, now: Instant) -> Result<Option<Instant>, Alarm> {
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
            (Some(step), _) if step <= now => Err(Alarm::Step),
            (_, Some(deadline)) if deadline <= now => Err(Alarm::Deadline),
            (step, deadline) => Ok(step.into_iter().chain(deadline).min()),
        }
    }

    /// Returns what an attempt comes to, gives its place back, and tells the breaker how it ended.
    pub(super) fn judge(
        &mut self,
        answer: Result<Result<Response, Error>, Alarm>,
    ) -> Result<Response, Error> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(Alarm::Step) => Err(late(&self.settings, "the server did not answer in time")),
            Err(Alarm::Deadline) => return Err(self.give_up()),
        };
        // An answer that was there at once came when the attempt began.
        let now = self.since.filter(|_| !self.has_waited);
        self.settle(CallEnd::of(answer.as_ref().err()), now);
        answer
    }

    /// Ends the call because its time is over; for the breaker its attempt has failed.
    fn give_up(&mut self) -> Error {
        self.settle(CallEnd::Failed, None);
        is_over(&self.settings, self.deadline.as_ref())
    }

    fn settle(&mut self, end: CallEnd, now: Option<Instant>) {
        self.place = None;
        if let (Some(pass), Some(breaker)) = (self.pass.take(), &self.settings.breaker) {
            breaker.settle(pass, end, now.unwrap_or_else(Instant::now));
        }
    }

    /// Decides whether another attempt follows one that ended in `error`.
    ///
    /// # Errors
    /// The error of the attempt, if no other attempt follows.
    pub(super) fn retry(&mut self, error: Error, request: &Request) -> Result<Retry, Error> {
        let now = Instant::now();
        if retry::may_be_executed(&error) {
            self.earlier = EarlierAttempts::MaybeExecuted;
        }
        let error = match self.earlier {
            EarlierAttempts::MaybeExecuted => error.maybe_executed(),
            EarlierAttempts::NotExecuted => error,
        };
        let Some((pause, advised)) = self.pause_after(&error, request, now) else { return Err(error) };
        let retry = self.retries + 1;
        tracing::debug!(method = %request.method, code = error.code(), retry, ?pause, "the call is made again");
        let record = self.settings.audit.clone().map(|port| -> BoxFuture<'static, _> {
            let event = event::retry(request, &error, retry, advised, pause);
            Box::pin(async move { port.record(event).await })
        });
        (self.retries, self.since) = (retry, Some(now));
        Ok(Retry { failed: error, record, due: later(now, pause) })
    }

    /// Returns the pause before the next attempt, for which the budget has paid, and the number of retries that are made at
    /// most.
    fn pause_after(&self, error: &Error, request: &Request, now: Instant) -> Option<(Duration, u32)> {
        let policy = self.settings.retries.as_ref()?;
        let recovery = error.recovery()?;
        let pause = policy.pause(&recovery, self.retries, span::draw())?;
        let is_in_time = self.deadline.as_ref().is_none_or(|deadline| pause < deadline.left(now));
        let has_shown = self.monitor.as_ref().is_some_and(|monitor| monitor.has_shown());
        let may_come_again = !has_shown && is_in_time && retry::is_repeatable(request, error);
        // The budget comes last: what is not made again must not be paid for.
        let is_paid = may_come_again && self.settings.retry_budget.spend(now);
        is_paid.then(|| (pause, policy.limit(&recovery)))
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
fn is_over(settings: &SendingLayer, deadline: Option<&Attached>) -> Error {
    let message = "the time for the call is over";
    match deadline {
        // The settings set this time, and not the caller.
        Some(Attached::Moving(_)) => late(settings, message),
        _ => timed_out(message),
    }
}

fn late(settings: &SendingLayer, otherwise: &'static str) -> Error {
    timed_out(settings.late.as_deref().map_or(Cow::Borrowed(otherwise), |late| late.to_owned().into()))
}
