use std::fmt;

use mgp_types::mgp::Timestamp;
use serde::{Deserialize, Serialize};

use super::chain::LogHead;
use super::entry::LogEntry;
use super::filter::{Filter, GroupBy, Query};
use crate::StoreError;

/// Where the entries of a log are kept. One log writes to it; whoever likes may read.
///
/// Everything here blocks for as long as the medium takes.
pub trait LogStore: Send + Sync + fmt::Debug + 'static {
    /// What is known of the end of the log.
    fn tail(&self) -> Result<Tail, StoreError>;

    /// Adds `entries`, which continue the log, all or none. They are durable when this returns.
    fn append(&self, entries: &[LogEntry]) -> Result<(), StoreError>;

    /// The entries that a query asks for.
    fn read(&self, query: &Query) -> Result<Vec<LogEntry>, StoreError>;

    /// How many events `filter` asks for, and how many of them each group has: the largest groups first, hours in
    /// their order, at most [`MAX_GROUPS`].
    fn count(&self, filter: &Filter, by: GroupBy) -> Result<Counts, StoreError>;

    /// The oldest entries beyond `bound`, at most `at_most` of them: where they end and how many they are.
    fn beyond(&self, bound: RemovalBound, at_most: u64) -> Result<Option<(LogHead, u64)>, StoreError>;

    /// Adds `note`, which tells of `checkpoint`, keeps the checkpoint, and removes the entries up to it; all or none.
    fn forget(&self, checkpoint: &Checkpoint, note: &LogEntry) -> Result<(), StoreError>;
}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Tail {
    /// The end as it was noted with the last entries; `None` in a new store.
    pub head: Option<LogHead>,
    /// The last entry.
    pub last: Option<LogEntry>,
    /// Up to where the log was forgotten.
    pub checkpoint: Option<Checkpoint>,
}

/// What stays of entries that were removed: the rest of the chain is verified from here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The last entry that was removed.
    pub end: LogHead,
    /// How many were removed with it.
    pub removed: u64,
    /// Why.
    pub reason: RemovalReason,
    /// The number of the event that tells of it, which is in the chain like any other.
    pub told_by: u64,
}

/// Why entries were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemovalReason {
    /// They were too old.
    TimeBased,
    /// The log was too large.
    SizeBased,
}

impl RemovalReason {
    /// The word that is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TimeBased => "time_based",
            Self::SizeBased => "size_based",
        }
    }
}

/// What entries have to be beyond to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "one for each reason")]
pub enum RemovalBound {
    /// The entries before the first one that is not before this time.
    Before(Timestamp),
    /// The entries before the last so many bytes of events.
    Bytes(u64),
}

/// How many events there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// All that were asked for.
    pub total: u64,
    /// Those of each group.
    pub groups: Vec<(String, u64)>,
}

/// How many groups are given at most.
pub const MAX_GROUPS: usize = 1_000;

/// The beginning of the hour a time lies in, as it is written.
pub(crate) fn hour(millis: i64) -> String {
    let start = millis.div_euclid(HOUR_MILLIS).saturating_mul(HOUR_MILLIS);
    Timestamp::from_millis(start).unwrap_or(Timestamp::EPOCH).to_string()
}

pub(crate) const HOUR_MILLIS: i64 = 3_600_000;
