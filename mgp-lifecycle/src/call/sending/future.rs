//! The loop of a call: its steps, and the one timer for all of them.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::{Error, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tower_service::Service;

use super::attempts::{Alarm, Attempts, Look, StepEnd, Wait};
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
        step: SendingStep<S::Future>,
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
    enum SendingStep<F> {
        Attempting { #[pin] future: F },
        Waiting { wait: Wait },
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
    const fn at(step: SendingStep<S::Future>) -> Self {
        Self { step, timer: None, attempts: None, kept: None, failed: None }
    }

    /// A request that no section is about.
    pub(super) const fn untouched(future: S::Future) -> Self {
        Self::at(SendingStep::Attempting { future })
    }

    /// A call that is not sent.
    pub(super) const fn refused(error: Error) -> Self {
        Self::at(SendingStep::Waiting { wait: Wait::ended(error) })
    }

    /// The first attempt at a call. The service is ready.
    pub(super) fn first(service: &mut S, mut request: Request, mut attempts: Attempts) -> Self {
        let (step, kept) = match attempts.enter() {
            None => {
                let may_come_again = attempts.may_come_again();
                let kept =
                    may_come_again.then(|| Kept { service: service.clone(), request: request.clone() });
                attempts.carry_deadline(&mut request);
                (SendingStep::Attempting { future: service.call(request) }, kept)
            }
            Some(wait) => {
                let clone = service.clone();
                // The service that is ready waits with the call.
                let service = mem::replace(service, clone);
                (SendingStep::Waiting { wait }, Some(Kept { service, request }))
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
                    SendingStep::Waiting { wait: retry }
                }
                Event::Placed(place) => attempt(attempts.placed(place), this.kept, attempts),
                Event::Readied(Ok(())) => attempt(attempts.enter(), this.kept, attempts),
                Event::Recorded(Ok(()), due) => SendingStep::Waiting { wait: Wait::Pausing { due } },
                Event::Recorded(Err(cause), _) => {
                    tracing::warn!(
                        code = cause.code(),
                        "a call is not made again because that could not be recorded"
                    );
                    return Poll::Ready(Err(this.failed.take().unwrap_or(cause)));
                }
                Event::Readied(Err(cause)) => return Poll::Ready(Err(this.failed.take().unwrap_or(cause))),
                Event::Rang(Alarm::Deadline) => {
                    // The call is dropped before anybody hears that it is over.
                    this.step.set(SendingStep::Waiting { wait: Wait::Ended { error: None } });
                    return Poll::Ready(Err(attempts.give_up()));
                }
                Event::Rang(Alarm::Step) => match this.step.as_mut().project() {
                    StepProjection::Waiting { wait: Wait::Pausing { .. } } => {
                        SendingStep::Waiting { wait: Wait::Readying }
                    }
                    StepProjection::Waiting { .. } => attempt(attempts.placed(None), this.kept, attempts),
                    StepProjection::Attempting { .. } => {
                        SendingStep::Waiting { wait: Wait::ended(attempts.attempt_timed_out()) }
                    }
                },
            };
            this.step.set(next);
            attempts.next_step();
        }
    }
}

/// Polls the present step, and tells when it ends if nothing comes of it.
fn poll_step<S: RpcService>(
    step: Pin<&mut SendingStep<S::Future>>,
    kept: &mut Option<Kept<S>>,
    cx: &mut Context<'_>,
) -> (Poll<Event>, StepEnd) {
    let wait = match step.project() {
        StepProjection::Attempting { future } => {
            return (future.poll(cx).map(Event::Ended), StepEnd::Attempt);
        }
        StepProjection::Waiting { wait } => wait,
    };
    match wait {
        Wait::InLine { place, until } => (place.as_mut().poll(cx).map(Event::Placed), StepEnd::At(*until)),
        Wait::Ended { error } => {
            (Poll::Ready(Event::Ended(Err(error.take().unwrap_or_else(polled_again)))), StepEnd::Open)
        }
        Wait::Recording { record, due } => {
            (record.as_mut().poll(cx).map(|recorded| Event::Recorded(recorded, *due)), StepEnd::Open)
        }
        Wait::Pausing { due } => (Poll::Pending, StepEnd::At(*due)),
        Wait::Readying => {
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

/// Makes an attempt after the call has waited, if there is nothing more to `wait` for. The request is copied only if another
/// attempt may follow.
fn attempt<S: RpcService>(
    wait: Option<Wait>,
    kept: &mut Option<Kept<S>>,
    attempts: &mut Attempts,
) -> SendingStep<S::Future> {
    if let Some(wait) = wait {
        return SendingStep::Waiting { wait };
    }
    let Some(Kept { mut service, mut request }) = kept.take() else {
        return SendingStep::Waiting { wait: Wait::ended(polled_again()) };
    };
    let copy = attempts.may_come_again().then(|| request.clone());
    attempts.resume();
    attempts.carry_deadline(&mut request);
    let future = service.call(request);
    *kept = copy.map(|request| Kept { service, request });
    SendingStep::Attempting { future }
}

fn polled_again() -> Error {
    Error::internal("the answer was given already")
}

mgp_types::partial_debug!([S: Service<Request>] SendingFuture<S>);
