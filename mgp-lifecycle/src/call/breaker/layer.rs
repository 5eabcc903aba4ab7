//! The breaker that the calls to one server share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::mgp::Category;
use mgp_types::{Error, Origin, code};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower_layer::Layer;

use super::{Breaker, BreakerSettings, BreakerState, CallEnd, Pass, Sign};
use crate::call::NotExecuted;
use crate::call::sending::{Sending, SendingLayer};
use crate::refusal::unsent;

/// Makes no calls to one upstream for a while when those that were made have failed.
///
/// Sits around the attempt's timeout, to see it, and within retries, to count each attempt. Reads the
/// [`Deadline`](crate::call::Deadline): a call that is dropped because of it has failed. A layer, its clones, and the
/// services behind them share the breaker.
///
/// Only signs of a sick server count as failures: a lost connection, no answer in time, an answer that is none, and the
/// codes 2xxx and 5xxx. A call that is not made ends in 5002, with the time to wait, marked as
/// [`NotExecuted`](crate::call::NotExecuted). Notifications, questions about health, calls that end work or feed it, and those that
/// last as long as a subscription or a task pass uncounted. Allocates for a refusal. Takes a lock for a moment when a call
/// ends, and before it begins only if the breaker is not closed. Dropping the future drops the call, which says nothing of
/// the server otherwise.
#[derive(Debug, Clone)]
pub struct BreakerLayer(Arc<Shared>);

/// A breaker, and a sign of its state that is read without a lock.
#[derive(Debug)]
struct Shared {
    breaker: Mutex<Clocked>,
    sign: AtomicU64,
    began: Instant,
}

/// A breaker, and the latest time that it was told: calls read the clock before they take the lock.
#[derive(Debug)]
struct Clocked {
    breaker: Breaker,
    latest: Duration,
}

impl BreakerLayer {
    /// A breaker that is closed.
    pub fn new(settings: BreakerSettings) -> Self {
        let breaker = Breaker::new(settings);
        let sign = AtomicU64::new(breaker.sign().to_bits());
        let breaker = Mutex::new(Clocked { breaker, latest: Duration::ZERO });
        Self(Arc::new(Shared { breaker, sign, began: Instant::now() }))
    }

    /// Returns the state of the breaker.
    pub fn state(&self) -> BreakerState {
        self.0.breaker.lock().breaker.state()
    }

    /// Lets a call through.
    ///
    /// # Errors
    /// 5002 while the server is given time to recover.
    pub(in crate::call) fn admit(&self) -> Result<Pass, Error> {
        match self.sign().pass() {
            Some(pass) => Ok(pass),
            None => self.change(Instant::now(), Breaker::admit).map_err(resting),
        }
    }

    /// Returns why a call that came now would not be let through.
    pub(in crate::call) fn refusal(&self) -> Option<Error> {
        if self.sign().is_closed {
            return None;
        }
        self.change(Instant::now(), |breaker, now| breaker.wait(now)).map(resting)
    }

    /// Hears how a call ended at `now`.
    pub(in crate::call) fn settle(&self, pass: Pass, end: CallEnd, now: Instant) {
        self.change(now, |breaker, now| breaker.settle(pass, end, now));
    }

    fn sign(&self) -> Sign {
        Sign::from_bits(self.0.sign.load(Ordering::Acquire))
    }

    fn change<T>(&self, now: Instant, change: impl FnOnce(&mut Breaker, Duration) -> T) -> T {
        let (outcome, before, after) = {
            let mut clocked = self.0.breaker.lock();
            let now = now.saturating_duration_since(self.0.began).max(clocked.latest);
            clocked.latest = now;
            let breaker = &mut clocked.breaker;
            let before = breaker.state();
            let outcome = change(breaker, now);
            self.0.sign.store(breaker.sign().to_bits(), Ordering::Release);
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

impl Default for BreakerLayer {
    fn default() -> Self {
        Self::new(BreakerSettings::default())
    }
}

impl From<BreakerSettings> for BreakerLayer {
    fn from(settings: BreakerSettings) -> Self {
        Self::new(settings)
    }
}

impl<S> Layer<S> for BreakerLayer {
    type Service = Sending<S>;

    fn layer(&self, inner: S) -> Sending<S> {
        SendingLayer::new().breaker(self.clone()).layer(inner)
    }
}

/// 5002 for a call that is not made, with the time to wait.
fn resting(wait: Duration) -> Error {
    unsent(code::UPSTREAM_UNAVAILABLE, "the server has failed too often and is given time to recover", wait)
}

impl CallEnd {
    /// Returns how the end of a call counts for the server.
    pub(in crate::call) fn of(error: Option<&Error>) -> Self {
        let Some(error) = error else { return Self::Answered };
        if NotExecuted::is_cause_of(error) {
            return Self::Unknown;
        }
        match error.origin() {
            Origin::Connection | Origin::Timeout | Origin::Misbehaved => return Self::Failed,
            Origin::Cancelled => return Self::Unknown,
            _ => {}
        }
        match (code::category(error.code()), error.origin()) {
            (Some(Category::Lifecycle | Category::External), _) => Self::Failed,
            // Whoever decides here has not asked the server.
            (_, Origin::Local) => Self::Unknown,
            _ => Self::Answered,
        }
    }
}
