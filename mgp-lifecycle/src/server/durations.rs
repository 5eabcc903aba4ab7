//! Estimates of the durations of calls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::Request;

/// The usual durations of calls, by name, from calls that succeeded.
///
/// There is room for a bounded number of names; others share one habit. Names of calls that never succeed take no room,
/// so that a peer cannot use it up by calling unknown names.
#[derive(Debug)]
pub(super) struct CallDurations {
    named: Box<[DurationEntry]>,
    others: DurationEstimate,
}

/// The key of a call's name: a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DurationKey(u64);

/// The place of the habit of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DurationSlot(u16);

#[derive(Debug, Default)]
struct DurationEntry {
    /// The key of the entry; 0 while there is room.
    key: AtomicU64,
    habit: DurationEstimate,
}

/// The mean and the mean deviation, in microseconds, each in one half of the word; 0 while they are unknown.
#[derive(Debug, Default)]
struct DurationEstimate(AtomicU64);

const NAMES: u16 = 256;

impl CallDurations {
    /// Creates empty estimates.
    pub(super) fn new() -> Self {
        Self {
            named: (0..NAMES).map(|_| DurationEntry::default()).collect(),
            others: DurationEstimate::default(),
        }
    }

    /// Returns the place of the habit of `key`; the shared one if it has none.
    pub(super) fn name(&self, key: DurationKey) -> DurationSlot {
        let found = key.places().find(|place| self.entry(*place).is_some_and(|entry| entry.is(key)));
        found.map_or(DurationSlot::ANY, DurationSlot)
    }

    /// Notes the duration of a call.
    pub(super) fn observe(&self, key: DurationKey, took: Duration) {
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        for place in key.places() {
            if let Some(entry) = self.entry(place)
                && entry.take(key)
            {
                return entry.habit.observe(micros);
            }
        }
        self.others.observe(micros);
    }

    /// Returns the duration of most calls of this name; where it is unknown, the longest known one. `None` if no call
    /// has ended yet.
    pub(super) fn typical(&self, name: DurationSlot) -> Option<Duration> {
        match self.entry(name.0) {
            Some(entry) => entry.habit.typical(),
            None => self
                .named
                .iter()
                .map(|entry| &entry.habit)
                .chain([&self.others])
                .filter_map(DurationEstimate::typical)
                .max(),
        }
    }

    fn entry(&self, place: u16) -> Option<&DurationEntry> {
        self.named.get(usize::from(place))
    }
}

const PROBES: u16 = 8;

impl DurationKey {
    /// Returns the key of the tool or prompt that is called; their habits differ.
    pub(super) fn of(request: &Request) -> Self {
        let method = hash(0, request.method.as_str().as_bytes());
        Self::new(hash(method, request.params.bytes("name").unwrap_or_default()))
    }

    const fn new(hash: u64) -> Self {
        // 0 stands for no key.
        Self(hash | 1)
    }

    /// Returns the few places where the habit can be.
    fn places(self) -> impl Iterator<Item = u16> {
        let first = u16::try_from((self.0 >> 1) % u64::from(NAMES)).unwrap_or_default();
        (0..PROBES).map(move |step| (first + step) % NAMES)
    }
}

impl DurationSlot {
    /// The place that names without a habit of their own share.
    pub(super) const ANY: Self = Self(NAMES);

    pub(super) const fn number(self) -> u16 {
        self.0
    }

    pub(super) const fn numbered(number: u16) -> Self {
        Self(number)
    }
}

impl DurationEntry {
    fn is(&self, key: DurationKey) -> bool {
        self.key.load(Ordering::Relaxed) == key.0
    }

    /// Returns whether the entry belongs to `key`, or does from now on.
    fn take(&self, key: DurationKey) -> bool {
        let taken = self.key.compare_exchange(0, key.0, Ordering::Relaxed, Ordering::Relaxed);
        taken.is_ok() || taken == Err(key.0)
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
    let hash = rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)));
    // The places are chosen by the low bits, and a product mixes its high bits best.
    hash ^ hash >> 32
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
    use proptest::prelude::*;

    use super::*;

    fn millis(durations: &CallDurations, key: DurationKey) -> Option<u128> {
        durations.typical(durations.name(key)).map(|typical| typical.as_millis())
    }

    #[test]
    fn nothing_is_known_before_a_call_has_ended() {
        let durations = CallDurations::new();
        assert_eq!(millis(&durations, DurationKey::new(2)), None);
        durations.observe(DurationKey::new(4), Duration::from_millis(100));
        assert_eq!(millis(&durations, DurationKey::new(4)), Some(200));
        assert_eq!(
            millis(&durations, DurationKey::new(2)),
            Some(200),
            "no longer than what is known of others"
        );
    }

    #[test]
    fn each_name_has_a_habit_of_its_own_that_follows_what_happens() {
        let durations = CallDurations::new();
        let (fast, slow) = (DurationKey::new(2), DurationKey::new(4));
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

    #[test]
    fn many_names_share_what_room_there_is() {
        let durations = CallDurations::new();
        for hash in 0..10_000 {
            durations.observe(DurationKey::new(hash * 2), Duration::from_millis(100));
        }
        let own = (0..10_000)
            .filter(|hash| durations.name(DurationKey::new(hash * 2)) != DurationSlot::ANY)
            .count();
        assert_eq!(own, usize::from(NAMES));
        assert!(durations.others.typical().unwrap().as_millis().abs_diff(100) <= 1);
    }

    proptest! {
        #[test]
        fn what_is_typical_lies_where_the_calls_do(took in prop::collection::vec(any::<u64>(), 1..50)) {
            let durations = CallDurations::new();
            let longest = took.iter().max().copied().unwrap_or_default().min(u64::from(u32::MAX));
            for micros in took {
                durations.observe(DurationKey::new(8), Duration::from_micros(micros));
                let typical = durations.typical(durations.name(DurationKey::new(8))).unwrap();
                prop_assert!(typical <= Duration::from_micros(longest.max(1) * 3));
            }
        }
    }
}
