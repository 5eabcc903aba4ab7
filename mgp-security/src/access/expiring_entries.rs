use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select;
use mgp_types::mgp::Timestamp;
use tokio::sync::watch;

use super::{AccessPolicy, StoredEntry};

/// The entries that end by themselves, each once, from [`AccessPolicy::endings`] on.
#[derive(Debug)]
pub struct ExpiringEntries {
    policy: AccessPolicy,
    changed: watch::Receiver<()>,
    /// What ended until then was told.
    told: Timestamp,
}

impl ExpiringEntries {
    pub(super) fn new(policy: AccessPolicy, changed: watch::Receiver<()>) -> Self {
        let told = whole_seconds(policy.now());
        Self { policy, changed, told }
    }

    /// Waits until entries have ended. They are told at the next full second, from when on
    /// [`revision`](AccessPolicy::revision) is another.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Vec<Arc<StoredEntry>> {
        loop {
            self.changed.borrow_and_update();
            let now = self.policy.now();
            let (told, until) = (self.told, whole_seconds(now));
            let mut next = None;
            let mut ended = self.policy.entries_with_end();
            ended.retain(|(end, _)| {
                if *end > until {
                    next = next.into_iter().chain([*end]).min();
                }
                *end > told && *end <= until
            });
            if !ended.is_empty() {
                self.told = until;
                return ended.into_iter().map(|(_, entry)| entry).collect();
            }
            let changed = pin!(self.changed.changed());
            match next {
                Some(end) => {
                    let wait = end.as_millis().saturating_add(SECOND).saturating_sub(now.as_millis());
                    let wait = Duration::from_millis(wait.unsigned_abs()).min(LONGEST_WAIT);
                    select(changed, pin!(tokio::time::sleep(wait))).await;
                }
                // The sender is the policy's, which is held here.
                None => drop(changed.await),
            }
        }
    }
}

fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_millis(time.as_millis() - time.as_millis().rem_euclid(SECOND)).unwrap_or(time)
}

const SECOND: i64 = 1000;
/// The clock may be set meanwhile.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
