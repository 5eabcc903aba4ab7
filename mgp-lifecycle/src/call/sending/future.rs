//! The future of a call: its first attempt, and what follows where it has to wait.

use std::future::ready;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::future::Either;
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
        // The first attempt, or all that follows it; `None` once the first attempt is over.
        #[pin]
        step: Option<Either<S::Future, BoxFuture<'static, Result<Response, Error>>>>,
        #[pin]
        timer: Option<Sleep>,
        // Behind the attempt, which is dropped first.
        first: Option<FirstAttempt<S>>,
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
        Self { step: Some(Either::Left(future)), timer: None, first: None }
    }

    /// A call that is not sent.
    pub(super) fn refused(error: Error) -> Self {
        Self::waiting(Box::pin(ready(Err(error))))
    }

    fn waiting(future: BoxFuture<'static, Result<Response, Error>>) -> Self {
        Self { step: Some(Either::Right(future)), timer: None, first: None }
    }

    /// The first attempt at a call. The service is ready.
    pub(super) fn first(service: &mut S, mut request: Request, mut attempts: Attempts) -> Self {
        if let Err(wait) = attempts.enter() {
            let clone = service.clone();
            // The service that is ready waits with the call.
            let service = mem::replace(service, clone);
            return Self::waiting(Box::pin(attempts.go_on(service, request, wait)));
        }
        let kept = attempts.may_come_again().then(|| (service.clone(), request.clone()));
        attempts.carry_deadline(&mut request);
        Self { first: Some(FirstAttempt { attempts, kept }), ..Self::untouched(service.call(request)) }
    }
}

impl<S: RpcService> Future for SendingFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let step = this.step.as_mut().as_pin_mut();
            match step.expect("a future is not polled again after it was ready").as_pin_mut() {
                Either::Left(future) => {
                    let Some(first) = this.first else { return future.poll(cx) };
                    let timer = this.timer.as_mut();
                    let answer = ready!(first.attempts.poll_step(future, timer, StepEnd::Attempt, cx));
                    // The attempt is dropped before anybody hears that it is over.
                    this.step.set(None);
                    this.timer.set(None);
                    let Some(FirstAttempt { mut attempts, kept }) = this.first.take() else { continue };
                    let (error, service, request) = match (attempts.judge(answer), kept) {
                        (Err(error), Some((service, request))) => (error, service, request),
                        (answer, _) => return Poll::Ready(answer),
                    };
                    match attempts.retry(error, &request) {
                        Ok(retry) => {
                            let following = attempts.go_on(service, request, Wait::Pausing(retry));
                            this.step.set(Some(Either::Right(Box::pin(following))));
                        }
                        Err(error) => return Poll::Ready(Err(error)),
                    }
                }
                Either::Right(future) => return future.poll(cx),
            }
        }
    }
}

mgp_types::partial_debug!([S: Service<Request>] SendingFuture<S>);
