//! The sending of a call to a server, with deadline, retries, places, breaker and time limits in one loop.

mod attempts;
#[cfg(test)]
mod tests;

use std::future::ready;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::Either;
use mgp_types::mgp::AuditPort;
use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::time::Sleep;
use tower_service::Service;

use self::attempts::{Attempts, StepEnd, Wait};
use super::breaker::SharedBreaker;
use super::concurrency::ConcurrencyLimit;
use super::deadline::AttemptLimit;
use super::retry::{RetryBudget, RetryPolicy};
use crate::span::LONGEST;

/// Sends calls to the service behind it, with as many of these sections as are set, in one loop:
///
/// take a place, or wait in line for one → ask the breaker → make an attempt within its time limit → judge how it ended
/// → perhaps record that, pause and begin again. Around all of it stands the deadline.
///
/// Sits in front of the way to a server, within whatever waits for people; with places alone, also where the calls of
/// an agent are counted. Makes [`Sending`] services. Each section passes notifications, and the limits of time pass
/// calls that last as long as a subscription or a task.
#[derive(Clone, Default)]
#[must_use]
pub struct SendingLayer {
    budget: Option<Duration>,
    attempt: Option<AttemptLimit>,
    /// The message of an attempt that took as long as it may.
    late: Option<Box<str>>,
    speaks_mgp: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    retries: Option<RetryPolicy>,
    retry_budget: RetryBudget,
    audit: Option<Arc<dyn AuditPort>>,
    breaker: Option<SharedBreaker>,
    places: Option<ConcurrencyLimit>,
}

impl SendingLayer {
    /// Returns a layer that passes all calls as they are.
    pub fn new() -> Self {
        Self::default()
    }

    mgp_types::setters! { self =>
        /// Gives each call at most `budget` in all, with its retries and their pauses; [`Duration::MAX`] is no budget.
        ///
        /// The shortest of these times holds: the budget, the wish `_mgp.deadline_ms` of the call, which is taken out
        /// of it, and a [`Deadline`](super::Deadline) that is attached already. What holds in the end is attached for
        /// layers further in. The time in which a server waits for the answer to a question of its own does not count
        /// against the budget. A call whose time is over is dropped, which takes it back at the server, and ends in
        /// 3003.
        pub fn deadline(budget: Duration) => self.budget = Some(budget.min(LONGEST));

        /// Ends an attempt after `timeout` without a sign of life, and after `max_timeout` in all, which is no less.
        ///
        /// Progress and chunks are signs of life: each gives the attempt a fresh time. While the server waits for the
        /// answer to a question of its own, it is not taken for dead, and that time does not count. An attempt that
        /// took too long is dropped, which takes it back at the server, and ends in 3003.
        pub fn attempt_timeout(timeout: Duration, max_timeout: Duration) =>
            self.attempt = Some(AttemptLimit::new(timeout, max_timeout));

        /// Sets the message of the error for an attempt that took as long as it may: the limit, and the setting that
        /// raises it.
        pub fn timing_out_with(message: impl Into<Box<str>>) => self.late = Some(message.into());

        /// Tells the server how much of the call's [`Deadline`](super::Deadline) is left, in `_mgp.deadline_ms`, while
        /// `speaks_mgp` says that it reads it. `speaks_mgp` is asked at each attempt: a server that comes back may be
        /// another.
        pub fn carry_when(speaks_mgp: impl Fn() -> bool + Send + Sync + 'static) =>
            self.speaks_mgp = Some(Arc::new(speaks_mgp));

        /// Makes calls again that ended in an error which says that it passes (§14.6), as far as `policy` lets it.
        ///
        /// A call is made again if all of this is true, and else its error is given back untouched:
        ///
        /// * the error says `retryable`, the number of retries is not reached, and the pause is not absurdly long;
        /// * a second time can do no harm: the method or tool is known to be repeatable, or the error tells that
        ///   nothing was carried out;
        /// * the caller has seen no part of a result, and was asked nothing;
        /// * the pause ends before the deadline;
        /// * the budget of all calls pays for it;
        /// * the failed attempt is recorded, if attempts are.
        ///
        /// Each attempt is a copy of the request that shares its bytes, on the same stream: a call that is taken back
        /// takes the attempt that runs with it. The last attempt that the policy allows is no copy.
        pub fn retry(policy: RetryPolicy) => self.retries = Some(policy);

        /// Records each attempt that failed and is made again. An attempt that cannot be recorded is not made again.
        pub fn audit(port: Arc<dyn AuditPort>) => self.audit = Some(port);

        /// Makes no calls for a while when those that were made have failed.
        pub fn breaker(breaker: SharedBreaker) => self.breaker = Some(breaker);

        /// Lets no more calls run at once than `places` allows.
        pub fn places(places: ConcurrencyLimit) => self.places = Some(places);
    }

    /// Pays for retries out of another budget, which others may share.
    #[cfg(test)]
    pub(crate) fn retry_budget(mut self, budget: RetryBudget) -> Self {
        self.retry_budget = budget;
        self
    }
}

mgp_types::partial_debug!(SendingLayer, self => budget: self.budget, attempt: self.attempt, retries: self.retries);

mgp_types::layer!(SendingLayer, self, inner => Sending { inner, settings: Arc::new(self.clone()) });

/// The service of [`SendingLayer`].
///
/// Sits in front of the way to a server, within whatever waits for people. A notification passes untouched. A call that
/// is answered at once holds no timer, reads the clock once at most, and is answered in the same poll. Its outbox and
/// its deadline are one allocation, made where calls or attempts are limited in time, or where retries have to know
/// whether the caller was shown something. Its request is copied only if a further attempt is possible. A call that
/// waits in line, or pauses, is one more allocation.
#[derive(Debug, Clone)]
pub struct Sending<S> {
    inner: S,
    settings: Arc<SendingLayer>,
}

impl<S: RpcService> Service<Request> for Sending<S> {
    type Future = SendingFuture<S>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, mut request: Request) -> SendingFuture<S> {
        match Attempts::begin(&self.settings, &mut request) {
            Ok(Some(attempts)) => SendingFuture::first(&mut self.inner, request, attempts),
            Ok(None) => SendingFuture::untouched(self.inner.call(request)),
            Err(late) => SendingFuture::waiting(Box::pin(ready(Err(late)))),
        }
    }
}

pin_project! {
    /// The future of [`Sending`].
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
    const fn untouched(future: S::Future) -> Self {
        Self { step: Some(Either::Left(future)), timer: None, first: None }
    }

    fn waiting(future: BoxFuture<'static, Result<Response, Error>>) -> Self {
        Self { step: Some(Either::Right(future)), timer: None, first: None }
    }

    /// The first attempt at a call. The service is ready.
    fn first(service: &mut S, mut request: Request, mut attempts: Attempts) -> Self {
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
