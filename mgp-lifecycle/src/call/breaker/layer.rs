use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::{Error, Request, Response, RpcService, code};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use super::future::{BreakerFuture, OpenCall};
use super::{Breaker, BreakerSettings, BreakerState, CallEnd, Pass, Sign};
use crate::methods::{is_open_ended, is_vital};
use crate::refusal::unsent;

/// Makes no calls to one upstream for a while when those that were made have failed.
///
/// The [`BreakerService`] services of a layer, and of its clones, share the breaker.
#[derive(Debug, Clone)]
pub struct BreakerLayer(Arc<Shared>);

impl BreakerLayer {
    /// A breaker that is closed.
    pub fn new(settings: BreakerSettings) -> Self {
        let breaker = Breaker::new(settings);
        let sign = AtomicU64::new(breaker.sign().to_bits());
        Self(Arc::new(Shared { breaker: Mutex::new(breaker), sign, began: Instant::now() }))
    }

    /// Where the breaker is.
    pub fn state(&self) -> BreakerState {
        self.0.breaker.lock().state()
    }
}

impl Default for BreakerLayer {
    fn default() -> Self {
        Self::new(BreakerSettings::default())
    }
}

impl<S> Layer<S> for BreakerLayer {
    type Service = BreakerService<S>;

    fn layer(&self, inner: S) -> BreakerService<S> {
        BreakerService { inner, shared: Arc::clone(&self.0) }
    }
}

/// The service of [`BreakerLayer`].
///
/// Sits around the attempt's timeout, to see it, and within retries, to count each attempt. Reads the
/// [`Deadline`](crate::call::Deadline): a call that is dropped because of it has failed.
///
/// Only what speaks of the server's health counts as a failure: a lost connection, no answer in time, an answer that is
/// none, and the codes 2xxx and 5xxx. A call that is not made ends in 5002, with the time to wait, marked as
/// [`Unsent`](crate::call::Unsent). Notifications, questions about health, what ends work or feeds it, and what lasts as
/// long as a subscription or a task pass uncounted. Allocates for a refusal. Takes a lock for a moment when a call ends,
/// and before it begins only if the breaker is not closed. Dropping the future drops the call, which says nothing of the
/// server otherwise.
#[derive(Debug, Clone)]
pub struct BreakerService<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S: RpcService> Service<Request> for BreakerService<S> {
    type Response = Response;
    type Error = Error;
    type Future = BreakerFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if is_vital(&request) || is_open_ended(&request) {
            return BreakerFuture::uncounted(self.inner.call(request));
        }
        match self.shared.admit() {
            Ok(pass) => {
                // The call is open before the service sees it: a panic there gives the pass back, too.
                let open = OpenCall::new(Arc::clone(&self.shared), pass, &request);
                BreakerFuture::counted(self.inner.call(request), open)
            }
            Err(wait) => {
                let message = "the server has failed too often and is given time to recover";
                BreakerFuture::refused(unsent(code::UPSTREAM_UNAVAILABLE, message, wait))
            }
        }
    }
}

/// A breaker, and a sign of its state that is read without a lock.
#[derive(Debug)]
pub(super) struct Shared {
    breaker: Mutex<Breaker>,
    sign: AtomicU64,
    began: Instant,
}

impl Shared {
    fn admit(&self) -> Result<Pass, Duration> {
        match Sign::from_bits(self.sign.load(Ordering::Acquire)).pass() {
            Some(pass) => Ok(pass),
            None => self.change(Breaker::admit),
        }
    }

    pub(super) fn settle(&self, pass: Pass, end: CallEnd) {
        self.change(|breaker, now| breaker.settle(pass, end, now));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Breaker, Duration) -> T) -> T {
        let (outcome, before, after) = {
            let mut breaker = self.breaker.lock();
            // The time is read under the lock, so that it never goes back.
            let now = self.began.elapsed();
            let before = breaker.state();
            let outcome = change(&mut breaker, now);
            self.sign.store(breaker.sign().to_bits(), Ordering::Release);
            (outcome, before, breaker.state())
        };
        if before != after {
            match after {
                BreakerState::Open => tracing::warn!("the server fails; it gets no calls for a while"),
                BreakerState::HalfOpen => tracing::info!("the server is tried with a few calls"),
                BreakerState::Closed => tracing::info!("the server has recovered"),
            }
        }
        outcome
    }
}
