//! The newest entries of an audit log in memory, from which its subscriptions are served.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::entry::LogEntry;

/// The newest durable entries of a log, with no gap between them. Their size is bounded: a subscription that is further behind
/// reads the store, which has all of them.
#[derive(Debug, Default)]
pub(super) struct RecentEntries(Mutex<EntryRun>);

#[derive(Debug, Default)]
struct EntryRun {
    entries: VecDeque<LogEntry>,
    /// The size of all entries.
    bytes: usize,
}

impl RecentEntries {
    /// Adds entries behind the last one, and removes the oldest ones until all have `max_bytes` at most.
    pub(super) fn add(&self, new: Vec<LogEntry>, max_bytes: usize) {
        let size = |entry: &LogEntry| size_of::<LogEntry>() + entry.event.as_bytes().len();
        let mut run = self.0.lock();
        run.bytes += new.iter().map(size).sum::<usize>();
        run.entries.extend(new);
        while run.bytes > max_bytes
            && let Some(oldest) = run.entries.pop_front()
        {
            run.bytes -= size(&oldest);
        }
    }

    /// Returns the entries behind the number `after`, at most `at_most` of them; `None` if the next one may be in the store only.
    pub(super) fn behind(&self, after: u64, at_most: usize) -> Option<Vec<LogEntry>> {
        let run = self.0.lock();
        let skipped = after.saturating_add(1).checked_sub(run.entries.front()?.seq)?;
        let behind = run.entries.iter().skip(usize::try_from(skipped).ok()?);
        Some(behind.take(at_most).cloned().collect())
    }
}

/// The size in bytes up to which entries are kept in memory for subscriptions: some thousands of them.
pub(super) const MAX_BYTES: usize = 2 * 1024 * 1024;
