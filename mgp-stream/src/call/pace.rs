//! The pace of a call: when its next chunk may leave the server, and which pace a reader that falls behind tells it.

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

/// The rate in chunks per second from which on a pace makes no difference, and which tells that there is no limit.
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

/// Finds out whether the reader keeps up, and which pace to tell the server if it does not.
#[derive(Debug, Default)]
pub(super) struct FlowControl {
    /// The time since when the reader is behind.
    since: Option<Instant>,
    /// The number of parts taken since then.
    taken: u32,
    /// The pace that the server was told last, unless that was no limit.
    last_pace: Option<f64>,
}

/// The shortest time over which a rate is measured. A shorter time says little about a rate; in a longer one a fast
/// server sends more than can wait for the reader.
const SHORTEST: Duration = Duration::from_millis(25);

/// The number of queued parts from which on the server is too fast.
const HIGH_WATER: usize = super::feed::CAPACITY * 3 / 4;

impl FlowControl {
    /// Notes that the reader took a part and left `left` in the queue. Returns the pace in chunks per second to tell
    /// the server, if the pace changes.
    pub(super) fn took(&mut self, now: impl Fn() -> Instant, left: usize) -> Option<f64> {
        if left == 0 {
            // A server that was never slowed down need not be told to go on.
            return std::mem::take(self).last_pace.map(|_| FREE);
        }
        let Some(since) = self.since else {
            self.since = Some(now());
            return None;
        };
        self.taken += 1;
        if left < HIGH_WATER {
            return None;
        }
        let now = now();
        let time = now - since;
        if time < SHORTEST {
            return None;
        }
        // The rate is a little slower than the reader, or the queue would stay as long as it is. The rate is never 0,
        // which would be a pause.
        let rate = f64::from(self.taken) * 0.9 / time.as_secs_f64();
        let rate = (rate * 1000.0).round().max(100.0) / 1000.0;
        (self.since, self.taken) = (Some(now), 0);
        if self.last_pace.is_some_and(|pace| rate > pace * 0.75) {
            return None;
        }
        self.last_pace = Some(rate);
        self.last_pace
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

    /// Returns the paces that the server is told while the reader takes a part every `every` milliseconds.
    fn announced_paces(
        flow: &mut FlowControl,
        now: &mut Instant,
        parts: usize,
        every: u64,
        left: usize,
    ) -> Vec<f64> {
        let mut turn = || {
            *now += Duration::from_millis(every);
            flow.took(|| *now, left)
        };
        (0..parts).filter_map(|_| turn()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_is_told_when_the_reader_falls_behind_further_and_when_it_has_caught_up() {
        let (mut flow, mut now) = (FlowControl::default(), Instant::now());
        assert!(announced_paces(&mut flow, &mut now, 50, 100, HIGH_WATER - 1).is_empty());
        assert_eq!(announced_paces(&mut flow, &mut now, 20, 100, HIGH_WATER).len(), 1);
        let slower = announced_paces(&mut flow, &mut now, 20, 1000, HIGH_WATER);
        assert!(slower.len() <= 2 && slower.last() == Some(&0.9), "{slower:?}");
        assert!(announced_paces(&mut flow, &mut now, 20, 1000, 1).is_empty());
        assert_eq!(announced_paces(&mut flow, &mut now, 20, 1000, 0), [FREE]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_says_nothing_and_the_slowest_reader_is_no_pause() {
        let (mut flow, mut now) = (FlowControl::default(), Instant::now());
        assert!(announced_paces(&mut flow, &mut now, 24, 1, HIGH_WATER).is_empty());
        let (mut flow, mut now) = (FlowControl::default(), Instant::now());
        assert_eq!(announced_paces(&mut flow, &mut now, 2, 100_000_000, HIGH_WATER), [0.1]);
    }
}
