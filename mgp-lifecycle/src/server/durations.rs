//! The estimate of how long calls take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The longest of the last calls that waited, in microseconds; 0 as long as none has ended. Each further call takes a
/// part of it away, so that one long call is forgotten after some hundred others.
#[derive(Debug, Default)]
pub(super) struct CallDurations(AtomicU64);

impl CallDurations {
    /// Notes a call that has ended.
    pub(super) fn observe(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let longest = self.0.load(Ordering::Relaxed);
        let next = took.max(longest - longest / FORGOTTEN_AFTER).max(1);
        // Of two calls that end in the same moment one is enough.
        let _ = self.0.compare_exchange(longest, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns how long calls take at most; `None` as long as nothing is known.
    pub(super) fn longest(&self) -> Option<Duration> {
        let longest = self.0.load(Ordering::Relaxed);
        (longest > 0).then(|| Duration::from_micros(longest))
    }
}

const FORGOTTEN_AFTER: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_call_counts_for_a_while_and_is_forgotten() {
        let (durations, second) = (CallDurations::default(), Duration::from_secs(1));
        assert_eq!(durations.longest(), None);
        durations.observe(second * 60);
        durations.observe(second);
        assert!(durations.longest() > Some(second * 59));
        (0..1000).for_each(|_| durations.observe(second));
        assert_eq!(durations.longest(), Some(second));
        durations.observe(Duration::MAX);
        durations.observe(Duration::MAX);
    }
}
