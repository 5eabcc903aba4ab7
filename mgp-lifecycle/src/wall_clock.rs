//! The time of day, by a clock that never goes back.

use mgp_types::mgp::Timestamp;
use tokio::time::Instant;

/// The time of day at which the clock was made, moved on by the clock of the runtime.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WallClock {
    start: Timestamp,
    since: Instant,
}

impl WallClock {
    /// Returns a clock that shows the time of the system now.
    pub(crate) fn system() -> Self {
        Self::showing(Timestamp::now())
    }

    /// Returns a clock that shows `start` now.
    pub(crate) fn showing(start: Timestamp) -> Self {
        Self { start, since: Instant::now() }
    }

    pub(crate) fn now(self) -> Timestamp {
        self.start.saturating_add(self.since.elapsed())
    }
}
