//! A table with a value for each session.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use parking_lot::{Mutex, RwLock};

use super::SessionKey;

/// A value for each session. The number of sessions is limited: the least recently active ones make room, and begin
/// anew if they are asked for again. Each value has a lock of its own, held for one operation.
#[derive(Debug)]
pub(crate) struct SessionTable<T> {
    most: usize,
    entries: RwLock<HashMap<SessionKey, Arc<Entry<T>>, RandomState>>,
    /// The count of operations, to find the least recently active sessions.
    clock: AtomicU64,
}

#[derive(Debug)]
struct Entry<T> {
    asked_at: AtomicU64,
    value: Mutex<T>,
}

/// The part of the sessions that are dropped at once, so that one search for idle ones pays for many new ones.
const DROPPED_PART: usize = 16;

impl<T: Default> SessionTable<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, entries: RwLock::default(), clock: AtomicU64::new(0) }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.read().len()
    }

    pub(super) fn has(&self, key: &SessionKey) -> bool {
        self.entries.read().contains_key(key)
    }

    pub(super) fn remove(&self, key: &SessionKey) {
        self.entries.write().remove(key);
    }

    /// Runs `act` on the value of a session, which begins with this.
    pub(crate) fn with<R>(&self, key: &SessionKey, act: impl FnOnce(&mut T) -> R) -> R {
        let entry = self.entry(key);
        let mut value = entry.value.lock();
        act(&mut value)
    }

    fn entry(&self, key: &SessionKey) -> Arc<Entry<T>> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        if let Some(entry) = self.entries.read().get(key) {
            entry.asked_at.store(now, Ordering::Relaxed);
            return Arc::clone(entry);
        }
        let mut entries = self.entries.write();
        if entries.len() >= self.most && !entries.contains_key(key) {
            let mut times: Vec<u64> =
                entries.values().map(|entry| entry.asked_at.load(Ordering::Relaxed)).collect();
            let last_dropped = times.len() / DROPPED_PART;
            let limit = *times.select_nth_unstable(last_dropped).1;
            entries.retain(|_, entry| entry.asked_at.load(Ordering::Relaxed) > limit);
            tracing::debug!(left = entries.len(), "idle sessions were forgotten");
        }
        let fresh = || Arc::new(Entry { asked_at: AtomicU64::new(now), value: Mutex::default() });
        Arc::clone(entries.entry(key.clone()).or_insert_with(fresh))
    }
}
