//! The loop of a call: its steps, and the one timer for all of them.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tower_service::Service;

use super::attempts::{Alarm, Attempts, Entry, Look, Retry, StepEnd};
use crate::call::concurrency::Place;

pin_project! {
    /// The future of [`Sending`](super::Sending).
    ///
    /// # Cancel safety
    /// Dropping it drops the attempt, the pause, or the place in line; no further attempt is made. The place is given back.
    /// For the breaker the attempt has failed if its deadline is past, and else has not been.
    #[must_use = "futures do nothing unless polled"]
    pub struct SendingFuture<S>
    where
        S: Service<Request>,
    {
        #[pin]
        step: Step<S::Future>,
        #[pin]
        timer: Option<Sleep>,
        // Behind the attempt, which is dropped first.
        attempts: Option<Attempts>,
        kept: Option<Kept<S>>,
        failed: Option<Error>,
    }
}

pin_project! {
    #[project = StepProjection]
    enum Step<F> {
        Attempting { #[pin] future: F },
        InLine { place: BoxFuture<'static, Option<Place>>, until: Instant },
        Refused { error: Option<Error> },
        Recording { record: BoxFuture<'static, Result<(), Error>>, due: Instant },
        Pausing { due: Instant },
        Readying,
    }
}

/// The service and the request of an attempt that is still to be made.
struct Kept<S> {
    service: S,
    request: Request,
}

/// The end of a step.
enum Event {
    Ended(Result<Response, Error>),
    Placed(Option<Place>),
    Recorded(Result<(), Error>, Instant),
    Readied(Result<(), Error>),
    Rang(Alarm),
}

impl<S: RpcService> SendingFuture<S> {
    const fn at(step: Step<S::Future>) -> Self {
        Self { step, timer: None, attempts: None, kept: None, failed: None }
    }

    /// A request that no section is about.
    pub(super) const fn untouched(future: S::Future) -> Self {
        Self::at(Step::Attempting { future })
    }

    /// A call that is not sent.
    pub(super) const fn refused(error: Error) -> Self {
        Self::at(Step::Refused { error: Some(error) })
    }

    /// The first attempt at a call. The service is ready.
    pub(super) fn first(service: &mut S, mut request: Request, mut attempts: Attempts) -> Self {
        let keeps = attempts.may_come_again();
        let (step, kept) = match attempts.enter() {
            Entry::Open => {
                let kept = keeps.then(|| Kept { service: service.clone(), request: request.clone() });
                attempts.address(&mut request);
                (Step::Attempting { future: service.call(request) }, kept)
            }
            Entry::Line { place, until } => {
                let clone = service.clone();
                // The service that is ready waits with the call.
                let service = mem::replace(service, clone);
                (Step::InLine { place, until }, Some(Kept { service, request }))
            }
            Entry::Refused(error) => {
                let kept = keeps.then(|| Kept { service: service.clone(), request });
                (Step::Refused { error: Some(error) }, kept)
            }
        };
        Self { step, timer: None, attempts: Some(attempts), kept, failed: None }
    }
}

impl<S: RpcService> Future for SendingFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let (event, end) = poll_step(this.step.as_mut(), this.kept, cx);
            let Some(attempts) = this.attempts.as_mut() else {
                return event.map(|event| {
                    if let Event::Ended(answer) = event { answer } else { Err(polled_again()) }
                });
            };
            let event = match event {
                Poll::Ready(event) => event,
                // An answer that came in the last moment counts.
                Poll::Pending => Event::Rang(ready!(poll_timer(this.timer.as_mut(), attempts, end, cx))),
            };
            let next = match event {
                Event::Ended(answer) => {
                    attempts.ended(&answer);
                    let Err(error) = answer else { return Poll::Ready(answer) };
                    let retry = this.kept.as_ref().and_then(|kept| attempts.retry(&error, &kept.request));
                    let Some(retry) = retry else { return Poll::Ready(Err(error)) };
                    *this.failed = Some(error);
                    match retry {
                        Retry::Recording { record, due } => Step::Recording { record, due },
                        Retry::Pausing { due } => Step::Pausing { due },
                    }
                }
                Event::Placed(place) => match attempts.placed(place) {
                    Ok(()) => attempt(this.kept, attempts),
                    Err(error) => Step::Refused { error: Some(error) },
                },
                Event::Recorded(Ok(()), due) => Step::Pausing { due },
                Event::Recorded(Err(cause), _) => {
                    tracing::warn!(
                        code = cause.code(),
                        "a call is not made again because that could not be recorded"
                    );
                    return Poll::Ready(Err(this.failed.take().unwrap_or(cause)));
                }
                Event::Readied(Ok(())) => match attempts.enter() {
                    Entry::Open => attempt(this.kept, attempts),
                    Entry::Line { place, until } => Step::InLine { place, until },
                    Entry::Refused(error) => Step::Refused { error: Some(error) },
                },
                Event::Readied(Err(cause)) => return Poll::Ready(Err(this.failed.take().unwrap_or(cause))),
                Event::Rang(Alarm::Deadline) => {
                    // The call is dropped before anybody hears that it is over.
                    this.step.set(Step::Refused { error: None });
                    return Poll::Ready(Err(attempts.give_up()));
                }
                Event::Rang(Alarm::Step) => match this.step.as_mut().project() {
                    StepProjection::Pausing { .. } => Step::Readying,
                    StepProjection::InLine { .. } => Step::Refused { error: attempts.placed(None).err() },
                    _ => Step::Refused { error: Some(Attempts::attempt_timed_out()) },
                },
            };
            this.step.set(next);
            attempts.next_step();
        }
    }
}

/// Polls the present step, and tells when it ends if nothing comes of it.
fn poll_step<S: RpcService>(
    step: Pin<&mut Step<S::Future>>,
    kept: &mut Option<Kept<S>>,
    cx: &mut Context<'_>,
) -> (Poll<Event>, StepEnd) {
    match step.project() {
        StepProjection::Attempting { future } => (future.poll(cx).map(Event::Ended), StepEnd::Attempt),
        StepProjection::InLine { place, until } => {
            (place.as_mut().poll(cx).map(Event::Placed), StepEnd::At(*until))
        }
        StepProjection::Refused { error } => {
            (Poll::Ready(Event::Ended(Err(error.take().unwrap_or_else(polled_again)))), StepEnd::Open)
        }
        StepProjection::Recording { record, due } => {
            (record.as_mut().poll(cx).map(|recorded| Event::Recorded(recorded, *due)), StepEnd::Open)
        }
        StepProjection::Pausing { due } => (Poll::Pending, StepEnd::At(*due)),
        StepProjection::Readying => {
            let ready =
                kept.as_mut().map_or(Poll::Ready(Err(polled_again())), |kept| kept.service.poll_ready(cx));
            (ready.map(Event::Readied), StepEnd::Open)
        }
    }
}

/// Waits for the end of the present step, or of the call. The timer is made when a call is waited for, and moved when it
/// rings and not at each sign of life: there may be thousands of them.
fn poll_timer(
    mut timer: Pin<&mut Option<Sleep>>,
    attempts: &mut Attempts,
    end: StepEnd,
    cx: &mut Context<'_>,
) -> Poll<Alarm> {
    match attempts.first_look(end) {
        Some(Look::Now(alarm)) => return Poll::Ready(alarm),
        Some(Look::Never) => timer.set(None),
        Some(Look::At(moment)) => match timer.as_mut().as_pin_mut() {
            Some(sleep) => sleep.reset(moment),
            None => timer.set(Some(sleep_until(moment))),
        },
        None => {}
    }
    let Some(mut sleep) = timer.as_pin_mut() else { return Poll::Pending };
    loop {
        ready!(sleep.as_mut().poll(cx));
        match attempts.look_again(end, Instant::now()) {
            Look::At(moment) => sleep.as_mut().reset(moment),
            Look::Now(alarm) => return Poll::Ready(alarm),
            Look::Never => return Poll::Pending,
        }
    }
}

/// Makes an attempt after the call has waited. The request is copied only if another one may follow.
fn attempt<S: RpcService>(kept: &mut Option<Kept<S>>, attempts: &mut Attempts) -> Step<S::Future> {
    let Some(Kept { mut service, mut request }) = kept.take() else {
        return Step::Refused { error: Some(polled_again()) };
    };
    let copy = attempts.may_come_again().then(|| request.clone());
    attempts.resume();
    attempts.address(&mut request);
    let future = service.call(request);
    *kept = copy.map(|request| Kept { service, request });
    Step::Attempting { future }
}

fn polled_again() -> Error {
    Error::internal("the answer was given already")
}

impl<S> fmt::Debug for SendingFuture<S>
where
    S: Service<Request>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendingFuture").finish_non_exhaustive()
    }
}
