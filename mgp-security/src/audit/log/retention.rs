//! The rules for which events of the audit log are kept.

use std::time::Duration;

use mgp_types::mgp::{AuditEvent, Outcome, Timestamp};

use super::chain::LogHead;
use super::entry::own_event;

/// A rule for which events of a log are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retention {
    /// All events are kept.
    KeepAll,
    /// Events younger than this duration are kept, and all events behind the first of them.
    TimeBased(Duration),
    /// The last events are kept, up to this number of bytes. The file is about twice as large, and grows no further.
    SizeBased(u64),
}

impl Retention {
    /// Returns the bound beyond which entries are removed, and the reason, if the rule removes any.
    ///
    /// The age is measured from the clock or from the last event, whichever is earlier: a clock that is ahead must
    /// not empty the log.
    pub(super) fn bound(self, now: Timestamp, newest: Timestamp) -> Option<RemovalBound> {
        match self {
            Self::KeepAll => None,
            Self::TimeBased(age) => {
                let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
                let start = now.min(newest).as_millis().saturating_sub(age);
                Timestamp::from_millis(start).map(RemovalBound::Before)
            }
            Self::SizeBased(most) => Some(RemovalBound::Bytes(most)),
        }
    }
}

/// The record of removed entries, from which the rest of the chain is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// The place of the last entry that was removed.
    pub(super) end: LogHead,
    /// The number of entries that were removed with it.
    pub(super) removed: u64,
    /// The reason for the removal.
    pub(super) reason: String,
    /// The number of the event that reports the removal, which is in the chain like any other.
    pub(super) told_by: u64,
}

/// The bound beyond which entries are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemovalBound {
    /// The entries in front of the first one that is dated at this time or later.
    Before(Timestamp),
    /// The entries in front of the last ones that together have this number of bytes.
    Bytes(u64),
}

impl RemovalBound {
    /// Returns the word for the rule by which events are removed.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Before(_) => "time_based",
            Self::Bytes(_) => "size_based",
        }
    }
}

/// Returns the event that reports the removal of entries.
pub(super) fn pruned(now: Timestamp, end: &LogHead, removed: u64, reason: &str) -> AuditEvent {
    own_event(now, PRUNED, Outcome::Success)
        .with_detail("through_seq", &end.seq)
        .with_detail("through_hash", &end.hash)
        .with_detail("removed", &removed)
        .with_detail("reason", reason)
}

/// The type of the event that reports the removal of entries by retention.
pub const PRUNED: &str = "dev.cloto.mgp.audit_pruned";
