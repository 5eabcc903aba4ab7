use std::time::Duration;

use mgp_types::mgp::{Actor, AuditEvent, AuditTarget, EventType, Outcome, Timestamp};

use super::chain::LogHead;
use super::store::{RemovalBound, RemovalReason};
use crate::random;

/// What of a log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retention {
    /// Everything.
    KeepAll,
    /// What is younger than this, and everything behind the first event that is.
    TimeBased(Duration),
    /// The last events, so many bytes of them. The file is about twice as large, and grows no further.
    SizeBased(u64),
}

impl Retention {
    /// What entries have to be beyond to be removed, if any are.
    ///
    /// The time is what the clock says or what the last event says, whichever is earlier: a clock that is ahead must
    /// not empty the log.
    pub(super) fn bound(self, now: Timestamp, newest: Timestamp) -> Option<(RemovalBound, RemovalReason)> {
        match self {
            Self::KeepAll => None,
            Self::TimeBased(age) => {
                let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
                let start = now.min(newest).as_millis().saturating_sub(age);
                Timestamp::from_millis(start)
                    .map(|start| (RemovalBound::Before(start), RemovalReason::TimeBased))
            }
            Self::SizeBased(most) => Some((RemovalBound::Bytes(most), RemovalReason::SizeBased)),
        }
    }
}

/// The event that tells of entries being removed.
pub(super) fn pruned(now: Timestamp, end: &LogHead, removed: u64, reason: RemovalReason) -> AuditEvent {
    let event_type = EventType::Custom(PRUNED.into());
    let target = AuditTarget::new(None, None);
    AuditEvent::new(now, random::trace_id(), event_type, Actor::kernel(), target, Outcome::Success)
        .with_detail("through_seq", &end.seq)
        .with_detail("through_hash", &end.hash)
        .with_detail("removed", &removed)
        .with_detail("reason", &reason)
}

/// The type of the event that tells of entries being removed by retention.
pub const PRUNED: &str = "dev.cloto.mgp.audit_pruned";
