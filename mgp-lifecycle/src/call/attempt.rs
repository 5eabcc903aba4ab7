//! How long one attempt at a call may take.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::CallOptions;
use mgp_types::{Method, Request};
use tokio::time::Instant;
use tower_layer::Layer;

use super::asked::AskedTime;
use super::sending::{Sending, SendingLayer};
use crate::span::{self, LONGEST};

/// The time limit of an attempt: a value without a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttemptLimit {
    timeout: Duration,
    max_timeout: Duration,
}

/// The signs of life that a server has given about an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signs {
    /// The time at which the last sign of life came.
    pub(super) last: Option<Instant>,
    /// The time for which the server waited for answers to its own questions.
    pub(super) asked: AskedTime,
}

impl AttemptLimit {
    /// Limits an attempt to `timeout` without a sign of life, and to `max_timeout` in all, which is no less.
    pub(super) fn new(timeout: Duration, max_timeout: Duration) -> Self {
        let timeout = timeout.min(LONGEST);
        Self { timeout, max_timeout: max_timeout.clamp(timeout, LONGEST) }
    }

    /// Returns when an attempt is over that began at `began`, unless there are further signs of life.
    pub(super) fn end(self, began: Instant, signs: Option<Signs>, now: Instant) -> Instant {
        let Some(Signs { last, asked }) = signs else { return began + self.timeout };
        let last = if asked.is_open { now } else { last.map_or(began, |last| last.max(began)) };
        let end = (last + self.timeout).min(began + self.max_timeout + asked.total);
        if asked.is_open { end.max(now + self.timeout / LOOKS) } else { end }
    }
}

/// The number of times, within one time limit, that an attempt checks if the server still waits for somebody else.
const LOOKS: u32 = 16;

/// Tells whether the server of a call reads deadlines.
#[derive(Clone)]
pub(super) struct ReadsDeadlines(Arc<dyn Fn() -> bool + Send + Sync>);

impl ReadsDeadlines {
    pub(super) fn new(speaks_mgp: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(speaks_mgp))
    }

    /// Writes how much time is left into the call of a tool, for a server that reads it.
    pub(super) fn carry(&self, left: impl FnOnce() -> Option<Duration>, request: &mut Request) {
        if request.method == Method::TOOLS_CALL
            && (self.0)()
            && let Some(left) = left()
        {
            let mut wishes = CallOptions::of(&request.params);
            wishes.deadline_ms = Some(span::millis(left));
            wishes.write(&mut request.params);
        }
    }
}

mgp_types::partial_debug!(ReadsDeadlines);

/// Ends an attempt at a call when the server has given no sign of life for too long.
///
/// Progress and chunks are such signs: each gives the attempt a fresh time, up to a maximum in all. The time in which the
/// server waits for answers to questions of its own does not count.
///
/// Sits within retries, as near to the server as it can. Wraps `context.outbox`, to see messages about the call; where
/// it is closed, the call gets one that leads nowhere. While the server waits for an answer to a question of its own, it
/// is not taken for dead. An attempt that took too long is dropped, which takes it back at the server, and ends in 3003.
/// Passes notifications, and calls that last as long as a subscription or a task; for others it allocates the outbox.
#[derive(Debug, Clone)]
pub struct AttemptTimeoutLayer(SendingLayer);

impl AttemptTimeoutLayer {
    /// Creates limits of at most `timeout` without a sign of life, and of `max_timeout` in all, which is no less.
    pub fn new(timeout: Duration, max_timeout: Duration) -> Self {
        Self(SendingLayer::new().attempt_timeout(timeout, max_timeout))
    }

    /// Tells the server how much of the call's [`Deadline`](super::Deadline) is left: see [`SendingLayer::carry_when`].
    #[must_use]
    pub fn carry_when(self, speaks_mgp: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(self.0.carry_when(speaks_mgp))
    }
}

impl<S> Layer<S> for AttemptTimeoutLayer {
    type Service = Sending<S>;

    fn layer(&self, inner: S) -> Sending<S> {
        self.0.layer(inner)
    }
}

#[cfg(test)]
mod tests;
