//! The interface of audit log stores, and the types that it uses.

use std::fmt;

use mgp_types::mgp::Timestamp;
use serde::{Deserialize, Serialize};

use super::chain::LogHead;
use super::entry::LogEntry;
use super::filter::Query;
use crate::StoreError;

/// A store for the entries of a log. Only one log writes to it; any number of readers may read.
///
/// All methods block for as long as the medium takes.
pub trait LogStore: Send + Sync + fmt::Debug + 'static {
    /// Returns the end of the log, as far as it is known.
    fn tail(&self) -> Result<Tail, StoreError>;

    /// Appends `entries`, which continue the log: either all of them or none. They are durable when this returns.
    fn append(&self, entries: &[LogEntry]) -> Result<(), StoreError>;

    /// Returns the entries that a query asks for.
    fn read(&self, query: &Query) -> Result<Vec<LogEntry>, StoreError>;

    /// Returns the end and the number of the oldest entries beyond `bound`, at most `at_most` of them.
    fn beyond(&self, bound: RemovalBound, at_most: u64) -> Result<Option<(LogHead, u64)>, StoreError>;

    /// Appends `note`, which reports `checkpoint`, stores the checkpoint, and removes the entries up to it: either
    /// all of this or nothing.
    fn forget(&self, checkpoint: &Checkpoint, note: &LogEntry) -> Result<(), StoreError>;
}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Tail {
    /// The head that was noted with the last entries; `None` in a new store.
    pub head: Option<LogHead>,
    /// The last entry of the log.
    pub last: Option<LogEntry>,
    /// The point up to which entries were removed.
    pub checkpoint: Option<Checkpoint>,
}

/// The record of removed entries, from which the rest of the chain is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The place of the last entry that was removed.
    pub end: LogHead,
    /// The number of entries that were removed with it.
    pub removed: u64,
    /// The reason for the removal.
    pub reason: RemovalReason,
    /// The number of the event that reports the removal, which is in the chain like any other.
    pub told_by: u64,
}

/// The reason why entries were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemovalReason {
    /// The entries were too old.
    TimeBased,
    /// The log was too large.
    SizeBased,
}

impl RemovalReason {
    /// Returns the word that is stored for the reason.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TimeBased => "time_based",
            Self::SizeBased => "size_based",
        }
    }
}

/// The bound beyond which entries are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "one for each reason")]
pub enum RemovalBound {
    /// The entries in front of the first one that is dated at this time or later.
    Before(Timestamp),
    /// The entries in front of the last ones that together have this number of bytes.
    Bytes(u64),
}
