//! The pauses between the times that a server is asked for what it did not give.

use std::time::Duration;

use tokio::time::Instant;

/// The pauses of one request that is made again and again: each is longer than the one before, until the request lasts.
#[derive(Default)]
pub(super) struct Pauses(u32);

impl Pauses {
    /// Returns the pause after a request that began at this time and has ended.
    pub(super) fn after(&mut self, began: Instant) -> Duration {
        self.0 = if began.elapsed() < LASTING { self.0 + 1 } else { 1 };
        pause(self.0)
    }
}

/// Returns the pause after the given number of failures in a row.
pub(super) fn pause(times: u32) -> Duration {
    PAUSE * 2_u32.pow(times.saturating_sub(1).min(MAX_DOUBLED))
}

/// The pause before a server is asked again for what could not be fetched.
const PAUSE: Duration = Duration::from_secs(5);
/// The time after which a listening request counts as accepted; that it ended may be due to an intermediary.
const LASTING: Duration = Duration::from_secs(30);
/// The largest number of times that the pause is doubled.
const MAX_DOUBLED: u32 = 6;
