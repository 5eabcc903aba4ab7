//! Random numbers for waiting times.

use std::sync::Arc;
use std::time::Duration;

/// A source of random numbers. The numbers are not used for secrets.
pub(crate) type RandomSource = Arc<dyn Fn() -> u32 + Send + Sync>;

/// Returns a random number of the system.
pub(crate) fn draw() -> u32 {
    u32::from_ne_bytes(mgp_types::random_bytes())
}

const SECOND_NANOS: u128 = 1_000_000_000;

/// Returns the part of `all` that `chance` gives, from nothing to all of it.
pub(crate) fn share(all: Duration, chance: u32) -> Duration {
    // The product has 126 bits at most, and the share is no more than `all`.
    let nanos = all.as_nanos() * u128::from(chance) / u128::from(u32::MAX);
    let (seconds, rest) = (nanos / SECOND_NANOS, nanos % SECOND_NANOS);
    Duration::new(u64::try_from(seconds).unwrap_or(u64::MAX), u32::try_from(rest).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_lies_between_nothing_and_all() {
        for all in [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(30), Duration::MAX] {
            assert_eq!((share(all, 0), share(all, u32::MAX)), (Duration::ZERO, all));
            assert!(share(all, u32::MAX / 2) <= all / 2);
        }
    }
}
