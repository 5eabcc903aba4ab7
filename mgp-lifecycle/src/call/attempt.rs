//! How long one attempt at a call may take.

use std::time::Duration;

use tokio::time::Instant;

use super::asked::AskedTime;
use crate::span::LONGEST;

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

#[cfg(test)]
mod tests;
