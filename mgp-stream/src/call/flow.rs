use std::time::Duration;

use tokio::time::Instant;

/// Finds out whether the reader keeps up, and what to tell the server if it does not.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Since when the reader is behind.
    since: Option<Instant>,
    taken: u32,
    paced: bool,
}

impl Flow {
    /// The reader took a part and left so many behind. How many chunks a second the server is to send from now on, if
    /// that changed.
    pub(super) fn took(&mut self, now: Instant, left: usize) -> Option<f64> {
        self.taken += 1;
        let since = *self.since.get_or_insert(now);
        if left == 0 {
            // Whoever was never slowed down need not be told to go on.
            return std::mem::take(self).paced.then_some(UNPACED);
        }
        let time = now - since;
        if left < HIGH_WATER || time < SHORTEST {
            return None;
        }
        let rate = f64::from(self.taken) / time.as_secs_f64();
        *self = Self { since: Some(now), taken: 0, paced: true };
        // A little slower than the reader, or the queue would stay as long as it is. Never nothing, that is a pause.
        Some((rate * 900.0).round().max(100.0) / 1000.0)
    }
}

/// From how many parts in the queue on the server is too fast.
const HIGH_WATER: usize = super::feed::CAPACITY * 3 / 4;
/// A shorter time says little about a rate.
const SHORTEST: Duration = Duration::from_millis(200);
/// As fast as it likes.
const UNPACED: f64 = 1_000_000.0;
