//! The calls in progress that have to wait, with estimates of their rest.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::durations::{CallDurations, DurationSlot};

/// The calls in progress that have to wait, with their begin, and the time that they still need.
///
/// A call has one word here, which it takes and gives back without a lock. The number of words is bounded; further
/// calls count as just begun.
#[derive(Debug)]
pub(super) struct CallsInWork {
    since: Instant,
    durations: CallDurations,
    /// The words: 0 where there is room; else the place of the habit and the microseconds since `since`.
    words: Box<[AtomicU64]>,
    next: SlotCursor,
}

/// A counter on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct SlotCursor(AtomicUsize);

/// A call in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrackedCall {
    /// The turn of the call, which follows that of the call before.
    pub(super) turn: usize,
    at: Instant,
    place: Option<usize>,
}

/// The bits of a time: enough for nine years.
const TIME_BITS: u32 = 48;
const TIME: u64 = (1 << TIME_BITS) - 1;

/// The distance between calls that begin one after the other, so that several threads do not share a cache line.
const STRIDE: usize = 137;

const PROBES: usize = 16;
const PLACES: usize = 1024;

impl CallsInWork {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            since: now,
            durations: CallDurations::new(),
            words: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
            next: SlotCursor::default(),
        }
    }

    /// Adds a call that was not done at once.
    pub(super) fn begin(&self, slot: DurationSlot, now: Instant) -> TrackedCall {
        let word = self.word(slot, now);
        let turn = self.next.0.fetch_add(1, Ordering::Relaxed);
        let turns = (0..PROBES).map(|probe| turn.wrapping_add(probe));
        let place = turns.map(|turn| turn.wrapping_mul(STRIDE) % PLACES).find(|place| {
            self.words[*place].compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        });
        TrackedCall { turn, at: now, place }
    }

    /// Removes a call that is over.
    pub(super) fn end(&self, begun: TrackedCall) {
        if let Some(word) = begun.place.and_then(|place| self.words.get(place)) {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Notes the duration of a call that succeeded. A failed call tells nothing about the duration of others.
    pub(super) fn observe(&self, slot: DurationSlot, begun: TrackedCall, now: Instant) {
        self.durations.observe(slot, now.saturating_duration_since(begun.at));
    }

    /// Returns the time that `calls` calls still need; `None` if it is unknown for one of them.
    pub(super) fn remaining(&self, calls: u64, now: Instant) -> Option<Duration> {
        let now = self.micros(now);
        let (mut longest, mut seen) = (Duration::ZERO, 0);
        for word in &self.words {
            let word = word.load(Ordering::Relaxed);
            if word != 0 {
                let elapsed = Duration::from_micros(now.saturating_sub(word & TIME));
                let slot = DurationSlot(u16::try_from(word >> TIME_BITS).unwrap_or(u16::MAX));
                longest = longest.max(self.durations.typical(slot)?.saturating_sub(elapsed));
                seen += 1;
            }
        }
        if seen < calls {
            longest = longest.max(self.durations.longest()?);
        }
        Some(longest)
    }

    fn word(&self, slot: DurationSlot, now: Instant) -> u64 {
        // The last bit tells a call of the first moment from no call.
        u64::from(slot.0) << TIME_BITS | self.micros(now).min(TIME) | 1
    }

    fn micros(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.since).as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::{Object, Request};

    use super::*;

    fn call(tool: &str) -> Request {
        Request::call("tools/call", Object::parse(format!(r#"{{"name":"{tool}"}}"#)).unwrap())
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Notes calls of `tool` with this duration.
    fn habit(in_work: &CallsInWork, tool: &str, duration: Duration) {
        let slot = DurationSlot::of(&call(tool));
        for _ in 0..50 {
            let begun = in_work.begin(slot, in_work.since);
            in_work.observe(slot, begun, in_work.since + duration);
            in_work.end(begun);
        }
    }

    fn rounded(in_work: &CallsInWork, calls: u64, now: Instant) -> Option<u128> {
        in_work.remaining(calls, now).map(|left| (left.as_millis() + 5) / 10 * 10)
    }

    #[tokio::test(start_paused = true)]
    async fn what_remains_is_what_the_slowest_call_needs() {
        let in_work = CallsInWork::new(Instant::now());
        habit(&in_work, "fast", seconds(1));
        habit(&in_work, "slow", seconds(9));
        let now = in_work.since;
        assert_eq!(rounded(&in_work, 0, now), Some(0));
        let fast = in_work.begin(DurationSlot::of(&call("fast")), now);
        assert_eq!(rounded(&in_work, 1, now), Some(1000));
        let slow = in_work.begin(DurationSlot::of(&call("slow")), now);
        assert_eq!(rounded(&in_work, 2, now + seconds(2)), Some(7000));
        assert_eq!(rounded(&in_work, 2, now + seconds(60)), Some(0), "it should be done by now");
        in_work.end(slow);
        assert_eq!(rounded(&in_work, 1, now), Some(1000));
        in_work.end(fast);
        assert_eq!(rounded(&in_work, 0, now), Some(0));
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_call_like_none_before_nothing_is_known() {
        let in_work = CallsInWork::new(Instant::now());
        in_work.begin(DurationSlot::of(&call("new")), in_work.since);
        assert_eq!(in_work.remaining(1, in_work.since), None);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_beyond_the_bound_are_counted_all_the_same() {
        let in_work = CallsInWork::new(Instant::now());
        habit(&in_work, "t", seconds(1));
        let slot = DurationSlot::of(&call("t"));
        let begun: Vec<_> = (0..2 * PLACES).map(|_| in_work.begin(slot, in_work.since)).collect();
        assert_eq!(begun.iter().filter(|begun| begun.place.is_some()).count(), PLACES);
        let calls = u64::try_from(begun.len()).unwrap();
        assert_eq!(rounded(&in_work, calls, in_work.since + seconds(5)), Some(1000));
        for begun in begun {
            in_work.end(begun);
        }
        assert_eq!(rounded(&in_work, 0, in_work.since), Some(0));
    }
}
