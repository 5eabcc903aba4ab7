//! The audit log store in memory.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::chain::LogHead;
use super::entry::LogEntry;
use super::filter::{Order, Query};
use super::store::{Checkpoint, LogStore, RemovalBound, Tail};
use crate::StoreError;

/// A store that keeps a log's entries in memory, where they end with the process.
#[derive(Debug)]
pub struct MemoryLogStore {
    kept: Mutex<KeptEntries>,
    max_events: usize,
}

#[derive(Debug, Default)]
struct KeptEntries {
    entries: VecDeque<LogEntry>,
    head: Option<LogHead>,
    checkpoint: Option<Checkpoint>,
}

impl MemoryLogStore {
    /// Returns a store with room for `max_events`. A full store refuses more, and drops no entry by itself.
    pub fn new(max_events: usize) -> Self {
        Self { kept: Mutex::default(), max_events }
    }
}

impl LogStore for MemoryLogStore {
    fn tail(&self) -> Result<Tail, StoreError> {
        let kept = self.kept.lock();
        let last = kept.entries.back().cloned();
        Ok(Tail { head: kept.head, last, checkpoint: kept.checkpoint.clone() })
    }

    fn append(&self, entries: &[LogEntry]) -> Result<(), StoreError> {
        let mut kept = self.kept.lock();
        if kept.entries.len() + entries.len() > self.max_events {
            return Err(StoreError::Full);
        }
        kept.entries.extend(entries.iter().cloned());
        kept.head = entries.last().map(LogEntry::head).or(kept.head);
        drop(kept);
        Ok(())
    }

    fn read(&self, query: &Query) -> Result<Vec<LogEntry>, StoreError> {
        let kept = self.kept.lock();
        let wanted = |entry: &&LogEntry| query.filter.matches(&entry.facets);
        let limit = query.limit.min(Query::MAX_LIMIT);
        Ok(match query.order {
            Order::OldestFirst => {
                let behind = query.behind.unwrap_or(0);
                let from = kept.entries.partition_point(|entry| entry.seq <= behind);
                kept.entries.range(from..).filter(wanted).take(limit).cloned().collect()
            }
            Order::NewestFirst => {
                let behind = query.behind.unwrap_or(u64::MAX);
                let to = kept.entries.partition_point(|entry| entry.seq < behind);
                kept.entries.range(..to).rev().filter(wanted).take(limit).cloned().collect()
            }
        })
    }

    fn beyond(&self, bound: RemovalBound, at_most: u64) -> Result<Option<(LogHead, u64)>, StoreError> {
        let kept = self.kept.lock();
        let entries = &kept.entries;
        let many = match bound {
            RemovalBound::Before(time) => {
                entries.iter().take_while(|entry| entry.facets.millis < time.as_millis()).count()
            }
            RemovalBound::Bytes(most) => {
                let mut room = most;
                let stays = entries.iter().rev().take_while(|entry| {
                    let left = room.checked_sub(entry.event.as_bytes().len() as u64);
                    room = left.unwrap_or(0);
                    left.is_some()
                });
                entries.len() - stays.count()
            }
        };
        let many = many.min(usize::try_from(at_most).unwrap_or(usize::MAX));
        let end = many.checked_sub(1).and_then(|index| entries.get(index)).map(LogEntry::head);
        drop(kept);
        Ok(end.map(|end| (end, many as u64)))
    }

    fn forget(&self, checkpoint: &Checkpoint, note: &LogEntry) -> Result<(), StoreError> {
        let mut kept = self.kept.lock();
        let gone = kept.entries.partition_point(|entry| entry.seq <= checkpoint.end.seq);
        kept.entries.drain(..gone);
        kept.entries.push_back(note.clone());
        kept.head = Some(note.head());
        kept.checkpoint = Some(checkpoint.clone());
        drop(kept);
        Ok(())
    }
}
