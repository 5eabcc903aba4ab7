//! The sending of a call to a server, with deadline, retries, places, breaker and time limits in one loop.

mod attempts;
mod future;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::mgp::AuditPort;
use mgp_types::{Error, Request, Response, RpcService};
use tower_layer::Layer;
use tower_service::Service;

use self::attempts::Attempts;
use super::attempt::{AttemptLimit, ReadsDeadlines};
use super::breaker::BreakerLayer;
use super::concurrency::ConcurrencyLayer;
use super::retry::{Retries, RetryBudget, RetryPolicy};
use crate::span::LONGEST;

pub use self::future::SendingFuture;

/// Sends calls to one server, with as many of these sections as are set, in one loop:
///
/// take a place, or wait in line for one → ask the breaker → make an attempt within its time limit → judge how it ended →
/// perhaps record that, pause and begin again. Around all of it stands the deadline.
///
/// A section alone is a layer of its own ([`DeadlineLayer`](super::DeadlineLayer), [`RetryLayer`](super::RetryLayer),
/// [`BreakerLayer`], [`ConcurrencyLayer`], [`AttemptTimeoutLayer`](super::AttemptTimeoutLayer)), which is this loop with all
/// others off, with the full description of the section. Makes [`Sending`] services.
#[derive(Debug, Clone, Default)]
pub struct SendingLayer(Arc<Sections>);

/// The sections that are set.
#[derive(Debug, Clone, Default)]
struct Sections {
    budget: Option<Duration>,
    attempt: Option<AttemptLimit>,
    /// The message of an attempt that took as long as it may.
    late: Option<Box<str>>,
    reads_deadlines: Option<ReadsDeadlines>,
    retries: Option<Retries>,
    audit: Option<Arc<dyn AuditPort>>,
    breaker: Option<BreakerLayer>,
    places: Option<ConcurrencyLayer>,
}

impl SendingLayer {
    /// Returns a layer that passes all calls as they are.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives each call at most `budget` in all, with its retries and their pauses.
    #[must_use]
    pub fn deadline(mut self, budget: Duration) -> Self {
        self.sections().budget = Some(budget.min(LONGEST));
        self
    }

    /// Ends an attempt after `timeout` without a sign of life, and after `max_timeout` in all, which is no less.
    #[must_use]
    pub fn attempt_timeout(mut self, timeout: Duration, max_timeout: Duration) -> Self {
        self.sections().attempt = Some(AttemptLimit::new(timeout, max_timeout));
        self
    }

    /// Sets the message of the error for an attempt that took as long as it may: the limit, and the setting that raises it.
    #[must_use]
    pub fn timing_out_with(mut self, message: impl Into<Box<str>>) -> Self {
        self.sections().late = Some(message.into());
        self
    }

    /// Tells the server how much of the call's [`Deadline`](super::Deadline) is left, in `_mgp.deadline_ms`, while
    /// `speaks_mgp` says that it reads it. `speaks_mgp` is asked at each attempt: a server that comes back may be another.
    #[must_use]
    pub fn carry_when(mut self, speaks_mgp: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.sections().reads_deadlines = Some(ReadsDeadlines::new(speaks_mgp));
        self
    }

    /// Makes calls again as errors advise, as far as `policy` lets it, within a budget that all calls share.
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        let sections = self.sections();
        let budget = sections.retries.take().map_or_else(RetryBudget::default, |retries| retries.budget);
        sections.retries = Some(Retries { policy, budget });
        self
    }

    /// Pays for retries out of another budget, which others may share. Retries that were off follow the usual policy.
    #[must_use]
    pub fn retry_budget(mut self, budget: RetryBudget) -> Self {
        let sections = self.sections();
        let policy = sections.retries.take().map_or_else(RetryPolicy::default, |retries| retries.policy);
        sections.retries = Some(Retries { policy, budget });
        self
    }

    /// Records each attempt that failed and is made again. An attempt that cannot be recorded is not made again.
    #[must_use]
    pub fn audit(mut self, port: Arc<dyn AuditPort>) -> Self {
        self.sections().audit = Some(port);
        self
    }

    /// Makes no calls for a while when those that were made have failed: by settings, or with the breaker of a layer.
    #[must_use]
    pub fn breaker(mut self, breaker: impl Into<BreakerLayer>) -> Self {
        self.sections().breaker = Some(breaker.into());
        self
    }

    /// Lets so many calls run at once: by a number, or with the limit and the line of a layer.
    #[must_use]
    pub fn places(mut self, places: impl Into<ConcurrencyLayer>) -> Self {
        self.sections().places = Some(places.into());
        self
    }

    fn sections(&mut self) -> &mut Sections {
        Arc::make_mut(&mut self.0)
    }
}

impl<S> Layer<S> for SendingLayer {
    type Service = Sending<S>;

    fn layer(&self, inner: S) -> Sending<S> {
        Sending { inner, sections: Arc::clone(&self.0) }
    }
}

/// The service of [`SendingLayer`].
///
/// Sits in front of the way to a server, within whatever waits for people. A notification passes untouched. A call that is
/// answered at once holds no timer, reads the clock once at most, and is answered in the same poll. Its outbox and its deadline
/// are one allocation, made where calls or attempts are limited in time, or where retries have to know whether the caller
/// was shown something. Its request is copied only if a further attempt is possible.
#[derive(Debug, Clone)]
pub struct Sending<S> {
    inner: S,
    sections: Arc<Sections>,
}

impl<S: RpcService> Service<Request> for Sending<S> {
    type Response = Response;
    type Error = Error;
    type Future = SendingFuture<S>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> SendingFuture<S> {
        match Attempts::begin(&self.sections, &mut request) {
            Ok(Some(attempts)) => SendingFuture::first(&mut self.inner, request, attempts),
            Ok(None) => SendingFuture::untouched(self.inner.call(request)),
            Err(late) => SendingFuture::refused(late),
        }
    }
}
