use std::time::Duration;

/// The numbers of calls that were answered and that failed lately. The time is cut into slices, which are forgotten one
/// by one.
#[derive(Debug, Clone)]
pub(super) struct Window {
    slice_nanos: u64,
    slices: [Slice; SLICES],
}

#[derive(Debug, Clone, Copy, Default)]
struct Slice {
    /// The number of the slice of time, from 1; 0 for a slice that counts nothing.
    number: u64,
    answered: u32,
    failed: u32,
}

impl Window {
    pub(super) fn new(length: Duration) -> Self {
        let slice = length / u32::try_from(SLICES).unwrap_or(u32::MAX);
        Self { slice_nanos: nanos(slice).max(1), slices: [Slice::default(); SLICES] }
    }

    pub(super) fn count(&mut self, now: Duration, has_failed: bool) {
        let number = self.number(now);
        let index = usize::try_from(number % SLICES as u64).unwrap_or(0);
        let slice = &mut self.slices[index];
        if slice.number != number {
            *slice = Slice { number, ..Slice::default() };
        }
        let counted = if has_failed { &mut slice.failed } else { &mut slice.answered };
        *counted = counted.saturating_add(1);
    }

    /// Returns the number of failed calls, and the number of all calls.
    pub(super) fn sums(&self, now: Duration) -> (u64, u64) {
        let last = self.number(now);
        let recent = self.slices.iter().filter(|slice| slice.number + SLICES as u64 > last);
        recent.fold((0, 0), |(failed, all), slice| {
            let failures = u64::from(slice.failed);
            (failed + failures, all + failures + u64::from(slice.answered))
        })
    }

    fn number(&self, now: Duration) -> u64 {
        nanos(now) / self.slice_nanos + 1
    }
}

fn nanos(time: Duration) -> u64 {
    // Far enough from the end for sums.
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 2)
}

const SLICES: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_forgotten_when_the_window_has_passed() {
        let second = Duration::from_secs;
        let mut window = Window::new(second(10));
        window.count(second(0), true);
        window.count(second(5), false);
        assert_eq!(window.sums(second(5)), (1, 2));
        assert_eq!(window.sums(second(9)), (1, 2));
        assert_eq!(window.sums(second(10)), (0, 1));
        window.count(second(20), true);
        assert_eq!(window.sums(second(20)), (1, 1));
        assert_eq!(window.sums(Duration::MAX), (0, 0));
    }

    #[test]
    fn a_window_without_length_counts_the_present() {
        let mut window = Window::new(Duration::ZERO);
        window.count(Duration::ZERO, true);
        assert_eq!(window.sums(Duration::ZERO), (1, 1));
        assert_eq!(window.sums(Duration::from_millis(1)), (0, 0));
    }
}
