use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

use crate::span::nanos;

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
