//! A stream of the access entries whose time has come to an end.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::Timestamp;
use tokio::sync::watch;

use super::{AccessPolicy, StoredEntry};

/// A stream of the entries that expire, each reported once, beginning when [`AccessPolicy::endings`] is called.
#[derive(Debug)]
pub struct ExpiringEntries {
    pub(super) policy: AccessPolicy,
    pub(super) changed: watch::Receiver<()>,
    /// The time up to which ended entries have been reported.
    pub(super) reported_until: Timestamp,
}

impl ExpiringEntries {
    /// Waits until entries have ended and returns them. They are reported at the next full second, from which on
    /// [`revision`](AccessPolicy::revision) has changed.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Vec<Arc<StoredEntry>> {
        loop {
            self.changed.borrow_and_update();
            let now = self.policy.now();
            let (reported_until, until) = (self.reported_until, whole_seconds(now));
            let mut next = None;
            let mut ended = self.policy.entries_with_end();
            ended.retain(|(end, _)| {
                if *end > until {
                    next = next.into_iter().chain([*end]).min();
                }
                *end > reported_until && *end <= until
            });
            if !ended.is_empty() {
                self.reported_until = until;
                return ended.into_iter().map(|(_, entry)| entry).collect();
            }
            let wait = next.map_or(LONGEST_WAIT, |end| {
                let wait = end.as_millis().saturating_add(SECOND).saturating_sub(now.as_millis());
                Duration::from_millis(wait.unsigned_abs()).min(LONGEST_WAIT)
            });
            // The sender belongs to the policy, which is held here, so it cannot be dropped.
            let _ = tokio::time::timeout(wait, self.changed.changed()).await;
        }
    }
}

/// Returns the full second in which `time` is.
pub(super) fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_millis(time.as_millis() - time.as_millis().rem_euclid(SECOND)).unwrap_or(time)
}

/// A second in milliseconds.
const SECOND: i64 = 1000;
/// The longest wait before the clock is read again, because the clock may be set in the meantime.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
