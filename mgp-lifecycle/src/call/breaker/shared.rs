//! The breaker that the calls to one server share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::mgp::Category;
use mgp_types::{Error, Origin, code};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Breaker, BreakerSettings, BreakerState, CallEnd, Pass};
use crate::call::NotExecuted;
use crate::refusal::unsent;

/// Makes no calls to one upstream for a while when those that were made have failed. Clones share the breaker.
///
/// Only signs of a sick server count as failures: a lost connection, no answer in time, an answer that is none, and the
/// codes 2xxx and 5xxx; a call that is dropped because of its [`Deadline`](crate::call::Deadline) has failed, too. A call that is
/// not made ends in 5002, with the time to wait, marked as [`NotExecuted`](crate::call::NotExecuted). Notifications, questions
/// about health, calls that end work or feed it, and those that last as long as a subscription or a task pass uncounted.
/// Allocates for a refusal. Takes a lock for a moment when a call ends, and before it begins only if the breaker is not closed.
#[derive(Debug, Clone)]
pub struct SharedBreaker(Arc<BreakerShared>);

/// A breaker, and its [sign](Breaker::sign), which is read without a lock.
#[derive(Debug)]
struct BreakerShared {
    breaker: Mutex<Breaker>,
    sign: AtomicU64,
    began: Instant,
}

impl SharedBreaker {
    /// A breaker that is closed.
    pub fn new(settings: BreakerSettings) -> Self {
        let breaker = Breaker::new(settings);
        let sign = AtomicU64::new(breaker.sign());
        Self(Arc::new(BreakerShared { breaker: Mutex::new(breaker), sign, began: Instant::now() }))
    }

    #[cfg(test)]
    pub(crate) fn state(&self) -> BreakerState {
        self.0.breaker.lock().state
    }

    /// Lets a call through.
    ///
    /// # Errors
    /// 5002 while the server is given time to recover.
    pub(in crate::call) fn admit(&self) -> Result<Pass, Error> {
        match self.closed() {
            Some(pass) => Ok(pass),
            None => self.change(Instant::now(), Breaker::admit).map_err(resting),
        }
    }

    /// Returns why a call that came now would not be let through.
    pub(in crate::call) fn refusal(&self) -> Option<Error> {
        if self.closed().is_some() {
            return None;
        }
        self.change(Instant::now(), |breaker, now| breaker.wait(now)).map(resting)
    }

    /// Hears how a call ended at `now`.
    pub(in crate::call) fn settle(&self, pass: Pass, end: CallEnd, now: Instant) {
        self.change(now, |breaker, now| breaker.settle(pass, end, now));
    }

    /// Returns a pass if the breaker is closed.
    fn closed(&self) -> Option<Pass> {
        Pass::by(self.0.sign.load(Ordering::Acquire))
    }

    fn change<T>(&self, now: Instant, change: impl FnOnce(&mut Breaker, Duration) -> T) -> T {
        let (outcome, before, after) = {
            let mut breaker = self.0.breaker.lock();
            let now = now.saturating_duration_since(self.0.began).max(breaker.latest);
            breaker.latest = now;
            let before = breaker.state;
            let outcome = change(&mut breaker, now);
            self.0.sign.store(breaker.sign(), Ordering::Release);
            (outcome, before, breaker.state)
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
