//! Estimates of the durations of calls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::Request;

/// The usual durations of calls, by name, from calls that succeeded.
///
/// The number of places is bounded; names that fall on one place share a habit.
#[derive(Debug)]
pub(super) struct CallDurations(Box<[DurationEstimate]>);

/// The place of the habit of a tool or prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DurationSlot(pub(super) u16);

/// The mean and the mean deviation, in microseconds, each in one half of the word; 0 while they are unknown.
#[derive(Debug, Default)]
struct DurationEstimate(AtomicU64);

const PLACE_BITS: u32 = 10;

impl CallDurations {
    /// Creates empty estimates.
    pub(super) fn new() -> Self {
        Self((0..1 << PLACE_BITS).map(|_| DurationEstimate::default()).collect())
    }

    /// Notes the duration of a call.
    pub(super) fn observe(&self, slot: DurationSlot, took: Duration) {
        if let Some(habit) = self.0.get(usize::from(slot.0)) {
            habit.observe(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        }
    }

    /// Returns the duration of most calls of this name; where it is unknown, the longest known one. `None` if no call
    /// has ended yet.
    pub(super) fn typical(&self, slot: DurationSlot) -> Option<Duration> {
        self.0.get(usize::from(slot.0)).and_then(DurationEstimate::typical).or_else(|| self.longest())
    }

    /// Returns the longest of the usual durations; `None` if no call has ended yet.
    pub(super) fn longest(&self) -> Option<Duration> {
        self.0.iter().filter_map(DurationEstimate::typical).max()
    }
}

impl DurationSlot {
    /// Returns the place of the tool or prompt that is called.
    pub(super) fn of(request: &Request) -> Self {
        let method = hash(0, request.method.as_str().as_bytes());
        let name = hash(method, request.params.bytes("name").unwrap_or_default());
        // A product mixes its high bits best.
        Self(u16::try_from(name >> (u64::BITS - PLACE_BITS)).unwrap_or_default())
    }
}

impl DurationEstimate {
    /// Updates the estimate. The weights are those of TCP's estimate of a round trip (RFC 6298): recent calls count
    /// more, one does not count much.
    fn observe(&self, micros: u32) {
        let word = self.0.load(Ordering::Relaxed);
        let next = if word == 0 {
            join(micros, micros / 2)
        } else {
            let (mean, deviation) = split(word);
            let off = mean.abs_diff(micros);
            let deviation = deviation - deviation / 4 + off / 4;
            join(if micros >= mean { mean + off / 8 } else { mean - off / 8 }, deviation)
        };
        // Of two calls that end in the same moment one is enough.
        let _ = self.0.compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn typical(&self) -> Option<Duration> {
        let word = self.0.load(Ordering::Relaxed);
        let (mean, deviation) = split(word);
        (word != 0).then(|| Duration::from_micros(u64::from(mean) + 2 * u64::from(deviation)))
    }
}

/// Returns a hash without a secret: names that count are the server's own, and two that collide share a habit.
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mix = |hash: u64, part: u64| (hash.rotate_left(5) ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(seed, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
}

fn join(mean: u32, deviation: u32) -> u64 {
    // A mean of 0 would stand for unknown.
    u64::from(mean.max(1)) << 32 | u64::from(deviation)
}

fn split(word: u64) -> (u32, u32) {
    let half = |half: u64| u32::try_from(half & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    (half(word >> 32), half(word))
}

#[cfg(test)]
mod tests {
    use mgp_types::Object;
    use proptest::prelude::*;

    use super::*;

    fn slot(tool: &str) -> DurationSlot {
        DurationSlot::of(&Request::call(
            "tools/call",
            Object::parse(format!(r#"{{"name":"{tool}"}}"#)).unwrap(),
        ))
    }

    fn millis(durations: &CallDurations, slot: DurationSlot) -> Option<u128> {
        durations.typical(slot).map(|typical| typical.as_millis())
    }

    #[test]
    fn nothing_is_known_before_a_call_has_ended() {
        let durations = CallDurations::new();
        assert_eq!(millis(&durations, slot("a")), None);
        durations.observe(slot("b"), Duration::from_millis(100));
        assert_eq!(millis(&durations, slot("b")), Some(200));
        assert_eq!(millis(&durations, slot("a")), Some(200), "no longer than what is known of others");
    }

    #[test]
    fn each_name_has_a_habit_of_its_own_that_follows_what_happens() {
        let durations = CallDurations::new();
        let (fast, slow) = (slot("fast"), slot("slow"));
        for _ in 0..100 {
            durations.observe(fast, Duration::from_millis(10));
            durations.observe(slow, Duration::from_secs(2));
        }
        assert_eq!((millis(&durations, fast), millis(&durations, slow)), (Some(10), Some(2000)));
        for _ in 0..100 {
            durations.observe(fast, Duration::from_millis(50));
        }
        assert!(millis(&durations, fast).unwrap().abs_diff(50) <= 1);
    }

    proptest! {
        #[test]
        fn what_is_typical_lies_where_the_calls_do(took in prop::collection::vec(any::<u64>(), 1..50)) {
            let durations = CallDurations::new();
            let longest = took.iter().max().copied().unwrap_or_default().min(u64::from(u32::MAX));
            for micros in took {
                durations.observe(slot("t"), Duration::from_micros(micros));
                let typical = durations.typical(slot("t")).unwrap();
                prop_assert!(typical <= Duration::from_micros(longest.max(1) * 3));
            }
        }
    }
}
