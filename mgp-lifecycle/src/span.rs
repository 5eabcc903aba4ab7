//! Bounded spans of time, for durations that callers choose freely.

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
}
