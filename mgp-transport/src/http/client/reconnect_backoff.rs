//! The waits between the attempts to open a stream again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The waits between the attempts to open a stream again, and their number.
///
/// The server's wish is kept to the millisecond. Without a wish, and for each failure in a row, the wait grows and is
/// jittered, so that the clients of a server that comes back do not all come at once.
#[derive(Debug)]
pub(super) struct ReconnectBackoff {
    failures: u32,
    max_failures: u32,
    jitter: RandomState,
}

/// The shortest wait: a server that says 0 is still not asked in a busy loop.
const SHORTEST: Duration = Duration::from_millis(10);
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

impl ReconnectBackoff {
    /// Creates the waits of a reader that gives up after `max_failures` attempts in a row without an event.
    pub(super) fn new(max_failures: u32) -> Self {
        Self { failures: 0, max_failures, jitter: RandomState::new() }
    }

    /// Notes that the stream brought an event.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// Returns the wait before the next attempt; `None` to give up. `wish` is the wait that the server asked for.
    pub(super) fn next(&mut self, wish: Option<Duration>) -> Option<Duration> {
        let failures = self.failures;
        if failures >= self.max_failures {
            return None;
        }
        self.failures += 1;
        let wish = wish.map(|wish| wish.max(SHORTEST));
        if let (0, Some(wish)) = (failures, wish) {
            return Some(wish);
        }
        let grown = self.jittered(FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST));
        Some(wish.map_or(grown, |wish| wish.max(grown)))
    }

    /// Adds up to a quarter to the wait.
    fn jittered(&self, wait: Duration) -> Duration {
        let random = u32::try_from(self.jitter.hash_one(self.failures) % 256).unwrap_or(0);
        wait + wait / 4 * random / 256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_wish_is_kept_exactly_at_first() {
        let mut pause = ReconnectBackoff::new(5);
        let wish = Duration::from_millis(500);
        assert_eq!(pause.next(Some(wish)), Some(wish));
        assert!(pause.next(Some(wish)).unwrap() > wish);
        pause.reset();
        assert_eq!(pause.next(Some(wish)), Some(wish));
        assert_eq!(ReconnectBackoff::new(5).next(Some(Duration::ZERO)), Some(SHORTEST));
    }

    #[test]
    fn waits_grow_to_a_bound_and_end() {
        let mut pause = ReconnectBackoff::new(40);
        let waits: Vec<_> = std::iter::from_fn(|| pause.next(None)).collect();
        assert_eq!(waits.len(), 40);
        assert!(waits[0] >= FIRST && waits[0] <= FIRST * 5 / 4);
        assert!(waits[39] >= LONGEST && waits[39] <= LONGEST * 5 / 4);
        let patient = Duration::from_hours(1);
        let mut pause = ReconnectBackoff::new(40);
        assert!(std::iter::from_fn(|| pause.next(Some(patient))).all(|wait| wait == patient));
    }
}
