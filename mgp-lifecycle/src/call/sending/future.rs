//! The future of a call: its first attempt, and what follows where it has to wait.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tower_service::Service;

use super::attempts::{Attempts, StepEnd, Wait};

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
        // Behind the attempt, which is dropped first.
        first: Option<FirstAttempt<S>>,
    }
}

pin_project! {
    #[project = StepProjection]
    enum SendingStep<F> {
        Attempting { #[pin] future: F, #[pin] timer: Option<Sleep> },
        GoingOn { future: BoxFuture<'static, Result<Response, Error>> },
        Over { error: Option<Error> },
    }
}

/// The first attempt at a call, and the service and the request for another one, if there may be one.
struct FirstAttempt<S> {
    attempts: Attempts,
    kept: Option<(S, Request)>,
}

impl<S: RpcService> SendingFuture<S> {
    /// A request that no section is about.
    pub(super) const fn untouched(future: S::Future) -> Self {
        Self { step: SendingStep::Attempting { future, timer: None }, first: None }
    }

    /// A call that is not sent.
    pub(super) const fn refused(error: Error) -> Self {
        Self { step: SendingStep::Over { error: Some(error) }, first: None }
    }

    /// The first attempt at a call. The service is ready.
    pub(super) fn first(service: &mut S, mut request: Request, mut attempts: Attempts) -> Self {
        if let Err(wait) = attempts.enter() {
            let clone = service.clone();
            // The service that is ready waits with the call.
            let service = mem::replace(service, clone);
            return Self { step: going_on(attempts, service, request, wait), first: None };
        }
        let kept = attempts.may_come_again().then(|| (service.clone(), request.clone()));
        attempts.carry_deadline(&mut request);
        let step = SendingStep::Attempting { future: service.call(request), timer: None };
        Self { step, first: Some(FirstAttempt { attempts, kept }) }
    }
}

impl<S: RpcService> Future for SendingFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.step.as_mut().project() {
                StepProjection::Attempting { future, timer } => {
                    let Some(first) = this.first else { return future.poll(cx) };
                    let answer = ready!(first.attempts.poll_step(future, timer, StepEnd::Attempt, cx));
                    // The attempt is dropped before anybody hears that it is over.
                    this.step.set(SendingStep::Over { error: None });
                    let Some(FirstAttempt { mut attempts, kept }) = this.first.take() else { continue };
                    let (error, service, request) = match (attempts.judge(answer), kept) {
                        (Err(error), Some((service, request))) => (error, service, request),
                        (answer, _) => return Poll::Ready(answer),
                    };
                    match attempts.retry(error, &request) {
                        Ok(retry) => {
                            this.step.set(going_on(attempts, service, request, Wait::Pausing(retry)));
                        }
                        Err(error) => return Poll::Ready(Err(error)),
                    }
                }
                StepProjection::GoingOn { future } => return future.as_mut().poll(cx),
                StepProjection::Over { error } => {
                    let again = || Error::internal("the answer was given already");
                    return Poll::Ready(Err(error.take().unwrap_or_else(again)));
                }
            }
        }
    }
}

/// Returns the step of a call that has to wait.
fn going_on<S: RpcService>(
    attempts: Attempts,
    service: S,
    request: Request,
    wait: Wait,
) -> SendingStep<S::Future> {
    SendingStep::GoingOn { future: Box::pin(attempts.go_on(service, request, wait)) }
}

mgp_types::partial_debug!([S: Service<Request>] SendingFuture<S>);
