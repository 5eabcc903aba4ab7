//! The rules for which events of the audit log are kept.

use std::time::Duration;

use mgp_types::mgp::{AuditEvent, Outcome, Timestamp};

use super::chain::LogHead;
use super::entry::own_event;

/// A rule for which events of a log are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retention {
    /// Events younger than this duration are kept, and all events behind the first of them.
    TimeBased(Duration),
    /// The last events are kept, up to this number of bytes. The file is about twice as large, and grows no further.
    SizeBased(u64),
}

impl Retention {
    /// Returns the word for the rule, as the events say it by which removals are reported.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::TimeBased(_) => "time_based",
            Self::SizeBased(_) => "size_based",
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
