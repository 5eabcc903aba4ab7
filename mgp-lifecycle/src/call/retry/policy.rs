//! The policy of retries, and the budget that pays for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::mgp::{Recovery, RetryStrategy};
use tokio::time::Instant;

use crate::span::{nanos, share};

mgp_types::with_defaults! {
    /// The extent to which the advice of errors is followed (§14.6): the caps on what servers ask for, and what holds where
    /// they do not say. Default: at most five retries, two where an error says nothing, after 100 milliseconds to 30
    /// seconds.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct RetryPolicy {
        /// The maximum number of retries of a call, whatever an error says. The first attempt does not count.
        pub max_retries: u32 = 5,
        /// The number of retries of a call whose error names none.
        pub usual_retries: u32 = 2,
        /// The first pause where the error asks for none or a shorter one; an `immediate` retry needs none.
        pub base_delay: Duration = Duration::from_millis(100),
        /// The longest pause. An error that asks for a longer one ends the call: its caller would not wait for it.
        pub max_delay: Duration = Duration::from_secs(30),
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
        let least = Duration::from_millis(recovery.retry_after_ms.unwrap_or(0));
        //= mgp §14.6
        //# When `retryable` is `false`, the client MUST NOT retry
        if !recovery.may_retry() || retries >= self.limit(recovery) || least > self.max_delay {
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

/// The number of retries that there may be beside the calls of all who share the budget, so that many callers together do
/// not storm a server in trouble.
///
/// Each call earns a part of a retry, up to a hundred retries; what calls do not pay for comes out of a small reserve
/// that time fills, or a client of few calls could never retry. Clones share both. No call locks or allocates for it.
#[derive(Clone)]
pub(crate) struct RetryBudget(Arc<Account>);

struct Account {
    /// The share of a retry that a call earns, in hundredths.
    earned: u64,
    /// The retries that were earned and not spent yet, in hundredths.
    savings: AtomicU64,
    /// The time that fills the reserve by one retry; `None` if there is no reserve.
    cell_nanos: Option<u64>,
    /// The span of time ahead for which the reserve may be used.
    ahead_nanos: u64,
    /// The time at which the reserve is full again, in nanoseconds since the beginning.
    full_at: AtomicU64,
    began: Instant,
}

impl RetryBudget {
    /// Retries for so many of a hundred calls, and so many a second beside them.
    pub(crate) fn new(percent_of_calls: u32, per_second: u32) -> Self {
        let cell_nanos = SECOND_NANOS.checked_div(u64::from(per_second));
        Self(Arc::new(Account {
            earned: u64::from(percent_of_calls),
            savings: AtomicU64::new(0),
            cell_nanos,
            ahead_nanos: cell_nanos.map_or(0, |cell| cell * u64::from(per_second.saturating_sub(1))),
            full_at: AtomicU64::new(0),
            began: Instant::now(),
        }))
    }

    /// Counts a call; its retries are not calls.
    pub(in crate::call) fn earn(&self) {
        let savings = &self.0.savings;
        // A full account is only looked at, so that calls on other processors keep their copy of it.
        if savings.load(Ordering::Relaxed) < MAX_SAVED {
            let _ = savings.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |saved| {
                Some(saved.saturating_add(self.0.earned).min(MAX_SAVED))
            });
        }
    }

    /// Pays for a retry at `now`; without effect if there is nothing to pay with.
    #[must_use = "a retry that is not paid for must not be made"]
    pub(in crate::call) fn spend(&self, now: Instant) -> bool {
        let account = &*self.0;
        let pay = |saved: u64| saved.checked_sub(RETRY);
        account.savings.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay).is_ok()
            || account.use_reserve(now)
    }
}

impl Account {
    /// The reserve is filled at an even pace: what counts is the time at which it would be full.
    fn use_reserve(&self, now: Instant) -> bool {
        let Some(cell) = self.cell_nanos else { return false };
        let now = nanos(now.saturating_duration_since(self.began));
        let take = |full_at: u64| {
            let full_at = full_at.max(now);
            (full_at - now <= self.ahead_nanos).then(|| full_at.saturating_add(cell))
        };
        self.full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

impl Default for RetryBudget {
    /// A fifth of the calls, and five a second.
    fn default() -> Self {
        Self::new(20, 5)
    }
}

mgp_types::partial_debug!(RetryBudget, self => savings: self.0.savings);

const RETRY: u64 = 100;
const MAX_SAVED: u64 = 100 * RETRY;
const SECOND_NANOS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

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

    #[test]
    fn calls_earn_retries_and_are_not_paid_twice() {
        let budget = RetryBudget::new(20, 0);
        let now = Instant::now();
        assert!(!budget.spend(now));
        for _ in 0..10 {
            budget.earn();
        }
        let shared = budget.clone();
        assert!(shared.spend(now) && budget.spend(now));
        assert!(!shared.spend(now) && !budget.spend(now));
    }

    #[test]
    fn the_reserve_is_filled_by_time_and_holds_no_more_than_a_second() {
        let budget = RetryBudget::new(0, 3);
        let spent = |at| std::iter::repeat_with(|| budget.spend(at)).take_while(|paid| *paid).count();
        let now = Instant::now();
        assert_eq!(spent(now), 3);
        assert_eq!(spent(now + Duration::from_millis(340)), 1);
        assert_eq!(spent(now + Duration::from_mins(1)), 3);
    }

    #[test]
    fn long_peace_does_not_pay_for_a_storm() {
        let budget = RetryBudget::new(100, 0);
        for _ in 0..10_000 {
            budget.earn();
        }
        let now = Instant::now();
        assert_eq!(std::iter::repeat_with(|| budget.spend(now)).take_while(|paid| *paid).count(), 100);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn there_are_never_more_retries_than_were_paid_for(
            percent in 0u32..100,
            per_second in 0u32..20,
            steps in prop::collection::vec((0u32..20, 0usize..20, 0u64..400), 1..60),
        ) {
            let budget = RetryBudget::new(percent, per_second);
            let began = Instant::now();
            let (mut calls, mut retries, mut millis) = (0u64, 0u64, 0u64);
            for (made, wanted, later) in steps {
                millis += later;
                calls += u64::from(made);
                (0..made).for_each(|_| budget.earn());
                let now = began + Duration::from_millis(millis);
                retries += (0..wanted).filter(|_| budget.spend(now)).map(|_| 1).sum::<u64>();
                let earned = calls * u64::from(percent) / RETRY;
                let reserve = u64::from(per_second) + millis * u64::from(per_second) / 1000 + 1;
                prop_assert!(retries <= earned + reserve, "{retries} for {calls} calls in {millis} ms");
            }
        }
    }
}
