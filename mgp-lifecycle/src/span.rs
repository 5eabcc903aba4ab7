//! Spans of time: bounded ones, for durations that callers choose freely, and random parts of waiting times.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// The longest span: longer than any wait, and short enough to be added to any time.
pub(crate) const LONGEST: Duration = Duration::from_hours(365 * 24);

/// Returns the time after `wait`; a time that is too far away is bounded.
pub(crate) fn later(now: Instant, wait: Duration) -> Instant {
    now + wait.min(LONGEST)
}

/// Returns a span in whole milliseconds.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a span in whole milliseconds, rounded up, so that a wait of that length is long enough.
pub(crate) fn millis_up(span: Duration) -> u64 {
    u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Returns a span in nanoseconds.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A source of random numbers. The numbers are not used for secrets.
pub(crate) type RandomSource = Arc<dyn Fn() -> u32 + Send + Sync>;

/// Returns a random number of the system.
pub(crate) fn draw() -> u32 {
    u32::from_ne_bytes(mgp_types::random_bytes())
}

const SECOND_NANOS: u128 = 1_000_000_000;

/// Returns the part of `all` that `chance` gives, from nothing to all of it.
pub(crate) fn share(all: Duration, chance: u32) -> Duration {
    // The product has 126 bits at most, and the share is no more than `all`.
    let nanos = all.as_nanos() * u128::from(chance) / u128::from(u32::MAX);
    let (seconds, rest) = (nanos / SECOND_NANOS, nanos % SECOND_NANOS);
    Duration::new(u64::try_from(seconds).unwrap_or(u64::MAX), u32::try_from(rest).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_span_is_too_long() {
        let now = Instant::now();
        assert_eq!(later(now, Duration::MAX), now + LONGEST);
        assert_eq!((millis(Duration::MAX), millis_up(Duration::MAX)), (u64::MAX, u64::MAX));
        assert_eq!((millis(Duration::from_micros(1500)), millis_up(Duration::from_micros(1500))), (1, 2));
    }

    #[test]
    fn a_share_lies_between_nothing_and_all() {
        for all in [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(30), Duration::MAX] {
            assert_eq!((share(all, 0), share(all, u32::MAX)), (Duration::ZERO, all));
            assert!(share(all, u32::MAX / 2) <= all / 2);
        }
    }
}
