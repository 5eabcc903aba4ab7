//! The server's pace: when the next chunk of a call may leave.

use std::time::Duration;

use tokio::time::Instant;

/// The pace at which chunks may leave. A pace only delays chunks.
#[derive(Debug, Default)]
pub(super) struct ChunkPacer {
    rate: ChunkRate,
    /// The time slot of the last chunk.
    slot: Option<Instant>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ChunkRate {
    #[default]
    Free,
    Every(Duration),
    Paused,
}

/// The time at which the next chunk may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkDue {
    Now,
    At(Instant),
    /// No chunk leaves until the pace changes.
    Never,
}

const LATE: Duration = Duration::from_millis(2);

/// The rate in chunks per second from which on a pace makes no difference.
const FREE: f64 = 1_000_000.0;

impl ChunkPacer {
    /// Sets the rate in chunks per second; 0 pauses. The time between two chunks is `longest` at most. Returns whether
    /// `per_second` is a valid rate.
    pub(super) fn set(&mut self, per_second: f64, longest: Duration) -> bool {
        self.rate = match per_second {
            0.0 => ChunkRate::Paused,
            rate if rate >= FREE => ChunkRate::Free,
            rate if rate > 0.0 => {
                ChunkRate::Every(Duration::try_from_secs_f64(rate.recip()).unwrap_or(longest).min(longest))
            }
            _ => return false,
        };
        true
    }

    pub(super) fn is_free(&self) -> bool {
        self.rate == ChunkRate::Free
    }

    /// Takes the time slot of the next chunk, if its time has come.
    pub(super) fn take(&mut self, now: Instant) -> ChunkDue {
        let interval = match self.rate {
            ChunkRate::Free => return ChunkDue::Now,
            ChunkRate::Paused => return ChunkDue::Never,
            ChunkRate::Every(interval) => interval,
        };
        let due = self.slot.map_or(now, |slot| slot + interval);
        if due > now {
            return ChunkDue::At(due);
        }
        // Timers are late by a little, which is made up for; a handler without chunks to send saves up no slots.
        self.slot = Some(if now - due > LATE { now } else { due });
        ChunkDue::Now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn chunks_are_spaced_and_idle_time_is_not_saved() {
        let start = Instant::now();
        let mut pace = ChunkPacer::default();
        assert_eq!(pace.take(start), ChunkDue::Now);
        assert!(pace.set(10.0, LONGEST));
        let tenth = Duration::from_millis(100);
        assert_eq!(pace.take(start), ChunkDue::Now);
        assert_eq!(pace.take(start), ChunkDue::At(start + tenth));
        assert_eq!(pace.take(start + tenth), ChunkDue::Now);
        let later = start + Duration::from_mins(1);
        assert_eq!(pace.take(later), ChunkDue::Now);
        assert_eq!(pace.take(later), ChunkDue::At(later + tenth));
        assert!(pace.set(0.0, LONGEST));
        assert_eq!(pace.take(later), ChunkDue::Never);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pace_faster_than_timers_is_kept_on_the_average() {
        let start = Instant::now();
        let mut pace = ChunkPacer::default();
        assert!(pace.set(5000.0, LONGEST));
        let (mut now, mut sent) = (start, 0);
        while now < start + Duration::from_secs(1) {
            match pace.take(now) {
                ChunkDue::Now => sent += 1,
                _ => now += Duration::from_millis(1),
            }
        }
        assert!((4990..=5001).contains(&sent), "{sent}");
    }

    #[test]
    fn what_is_no_number_of_chunks_changes_nothing() {
        let mut pace = ChunkPacer::default();
        assert!(pace.set(2.0, LONGEST));
        let before = pace.rate;
        for wrong in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            assert!(!pace.set(wrong, LONGEST));
            assert_eq!(pace.rate, before);
        }
        assert!(pace.set(1e-300, LONGEST));
        assert_eq!(pace.rate, ChunkRate::Every(LONGEST));
        assert!(pace.set(-0.0, LONGEST));
        assert_eq!(pace.rate, ChunkRate::Paused);
        assert!(pace.set(f64::INFINITY, LONGEST));
        assert!(pace.is_free());
    }
}
