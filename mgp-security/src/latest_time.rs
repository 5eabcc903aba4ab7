//! A time that never goes back, even if the system clock does.

use std::sync::atomic::{AtomicI64, Ordering};

use mgp_types::mgp::Timestamp;

/// The latest time that a clock has ever told since 1970: what expired by it stays expired when the clock is set back.
#[derive(Debug, Default)]
pub(crate) struct LatestTime(AtomicI64);

impl LatestTime {
    /// Returns the latest time, given that the clock now says `now`.
    pub(crate) fn after(&self, now: Timestamp) -> Timestamp {
        let millis = now.as_millis();
        let known = self.0.load(Ordering::Relaxed);
        if millis >= known {
            // This writes once a millisecond at most; all other calls only read.
            if millis > known {
                self.0.fetch_max(millis, Ordering::Relaxed);
            }
            return now;
        }
        Timestamp::from_millis(known).unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_and_never_back() {
        let latest = LatestTime::default();
        let at = |millis| Timestamp::from_millis(millis).unwrap();
        assert_eq!(latest.after(at(5)), at(5));
        assert_eq!(latest.after(at(7)), at(7));
        assert_eq!(latest.after(at(3)), at(7));
        assert_eq!(latest.after(at(8)), at(8));
    }
}
