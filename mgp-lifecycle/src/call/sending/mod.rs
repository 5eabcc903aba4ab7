//! The sending of a call to a server, with deadline, retries, places, breaker and time limits in one loop.

mod attempts;
mod future;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::AuditPort;
use mgp_types::{Request, RpcService};
use tower_service::Service;

use self::attempts::Attempts;
pub use self::future::SendingFuture;
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
            Err(late) => SendingFuture::refused(late),
        }
    }
}
