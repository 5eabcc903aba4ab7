use std::time::Duration;

use mgp_types::mgp::{Recovery, RetryStrategy};

use crate::span::share;

/// The extent to which the advice of errors is followed (§14.6): the caps on what servers ask for, and what holds where
/// they do not say.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The maximum number of retries of a call, whatever an error says. The first attempt does not count.
    pub max_retries: u32,
    /// The number of retries of a call whose error names none.
    pub usual_retries: u32,
    /// The first pause where the error asks for none or a shorter one; an `immediate` retry needs none.
    pub base_delay: Duration,
    /// The longest pause. An error that asks for a longer one ends the call: its caller would not wait for it.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    /// Returns a policy of at most five retries, two where an error says nothing, after 100 milliseconds to 30 seconds.
    fn default() -> Self {
        Self {
            max_retries: 5,
            usual_retries: 2,
            base_delay: Duration::from_millis(100),
            max_delay: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// Returns the number of retries after which there are no further ones.
    pub(in crate::call) fn limit(&self, recovery: &Recovery) -> u32 {
        recovery.max_retries.unwrap_or(self.usual_retries).min(self.max_retries)
    }

    /// Returns the wait before the next attempt, after so many retries; `None` if there is none.
    ///
    /// Those who failed together should not come back together: `chance`, a random number, makes a pause longer, never
    /// shorter than the error asks for, by up to a half for a growing pause and a quarter for a fixed one. A pause that
    /// doubles still grows each time. A strategy that is not known here is taken for `exponential_backoff`, the most
    /// careful.
    pub(in crate::call) fn pause(&self, recovery: &Recovery, retries: u32, chance: u32) -> Option<Duration> {
        //= mgp §14.6
        //# When `retryable` is `false`, the client MUST NOT retry
        if !recovery.may_retry() || retries >= self.limit(recovery) {
            return None;
        }
        let least = Duration::from_millis(recovery.retry_after_ms.unwrap_or(0));
        if least > self.max_delay {
            return None;
        }
        let base = least.max(self.base_delay);
        let (pause, part) = match recovery.retry_strategy {
            Some(RetryStrategy::Immediate) => return Some(least),
            Some(RetryStrategy::FixedDelay) => (base, 4),
            _ => (base.saturating_mul(1u32.checked_shl(retries).unwrap_or(u32::MAX)), 2),
        };
        let pause = pause.min(self.max_delay);
        Some(pause.saturating_add(share(pause / part, chance)).min(self.max_delay))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asking(strategy: &str, after_ms: u64, max: u32) -> Recovery {
        Recovery::default()
            .with_retryable(true)
            .with_retry_strategy(strategy.into())
            .with_retry_after_ms(after_ms)
            .with_max_retries(max)
    }

    fn pauses(recovery: &Recovery, chance: u32) -> Vec<u128> {
        let policy = RetryPolicy::default();
        (0..10)
            .map_while(|retries| policy.pause(recovery, retries, chance))
            .map(|pause| pause.as_millis())
            .collect()
    }

    // covers: MGP-14.6-02
    #[test]
    fn each_strategy_spaces_the_attempts_in_its_way() {
        assert_eq!(pauses(&asking("immediate", 0, 3), u32::MAX), [0, 0, 0]);
        assert_eq!(pauses(&asking("immediate", 50, 2), u32::MAX), [50, 50]);
        assert_eq!(pauses(&asking("fixed_delay", 200, 3), 0), [200, 200, 200]);
        assert_eq!(pauses(&asking("fixed_delay", 200, 1), u32::MAX), [250]);
        assert_eq!(pauses(&asking("exponential_backoff", 200, 4), 0), [200, 400, 800, 1600]);
        assert_eq!(pauses(&asking("exponential_backoff", 200, 2), u32::MAX), [300, 600]);
        for other in ["exponential", "lunar"] {
            assert_eq!(pauses(&asking(other, 200, 3), 0), [200, 400, 800], "{other}");
        }
        let silent = Recovery::default().with_retryable(true);
        assert_eq!(pauses(&silent, 0), [100, 200]);
    }

    // covers: MGP-14.6-03, MGP-14.6-06
    #[test]
    fn attempts_end_where_the_error_or_the_policy_says() {
        assert_eq!(pauses(&asking("immediate", 0, 0), 0).len(), 0);
        assert_eq!(pauses(&asking("immediate", 0, 3), 0).len(), 3);
        assert_eq!(pauses(&asking("immediate", 0, u32::MAX), 0).len(), 5);
        assert_eq!(pauses(&asking("immediate", 0, 3).with_retryable(false), 0).len(), 0);
        assert_eq!(pauses(&Recovery::default().with_max_retries(3), 0).len(), 0);
    }

    #[test]
    fn nobody_waits_for_hours() {
        assert_eq!(pauses(&asking("immediate", 3_600_000, 3), 0), [0; 0]);
        assert_eq!(pauses(&asking("fixed_delay", u64::MAX, 3), 0), [0; 0]);
        assert_eq!(pauses(&asking("exponential_backoff", 30_000, 2), u32::MAX), [30_000, 30_000]);
    }

    proptest! {
        // covers: MGP-14.6-01
        #[test]
        fn a_pause_is_as_long_as_asked_never_longer_than_the_cap_and_grows(
            strategy in prop::sample::select(vec!["immediate", "fixed_delay", "exponential_backoff", "lunar"]),
            after_ms in 0u64..60_000,
            base_ms in 0u64..5_000,
            cap_ms in 0u64..60_000,
            chances in prop::collection::vec(any::<u32>(), 40),
        ) {
            let policy = RetryPolicy {
                max_retries: u32::MAX,
                usual_retries: u32::MAX,
                base_delay: Duration::from_millis(base_ms),
                max_delay: Duration::from_millis(cap_ms),
            };
            let recovery = asking(strategy, after_ms, u32::MAX);
            let mut last = Duration::ZERO;
            for (retries, chance) in (0u32..).zip(chances) {
                let Some(pause) = policy.pause(&recovery, retries, chance) else {
                    prop_assert!(after_ms > cap_ms);
                    continue;
                };
                prop_assert!(pause >= Duration::from_millis(after_ms) && pause <= policy.max_delay);
                if strategy != "fixed_delay" {
                    prop_assert!(pause >= last, "{pause:?} after {last:?}");
                }
                last = pause;
            }
        }
    }
}
