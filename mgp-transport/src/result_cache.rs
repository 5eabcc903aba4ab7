//! A cache of results that may be used again for a time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::RawJson;
use parking_lot::Mutex;
use tokio::time::Instant;

/// A cache of results, bounded in number and size. The result that was not asked for the longest goes first.
///
/// Clones are of the same cache.
#[derive(Clone)]
pub struct ResultCache<K> {
    results: Arc<Mutex<CachedResults<K>>>,
    max_entries: usize,
    max_bytes: usize,
}

struct CachedResults<K> {
    entries: HashMap<K, CachedResult>,
    uses: u64,
    /// The number of reported changes: a result that was asked for before a change is not cached after it.
    changes: u64,
}

struct CachedResult {
    result: RawJson,
    until: Instant,
    last_use: u64,
}

/// The intent to cache a result that is still to come.
pub struct PendingResult<K> {
    cache: ResultCache<K>,
    key: K,
    changes: u64,
}

impl<K: Clone + Eq + Hash> ResultCache<K> {
    /// Creates a cache of so many results, and of so many bytes together.
    pub fn new(max_entries: usize, max_bytes: usize) -> Self {
        let results = CachedResults { entries: HashMap::new(), uses: 0, changes: 0 };
        Self { results: Arc::new(Mutex::new(results)), max_entries, max_bytes }
    }

    /// Returns a result, and the time for which it may still be used.
    pub fn get(&self, key: &K) -> Option<(RawJson, Duration)> {
        let mut results = self.results.lock();
        results.uses += 1;
        let last_use = results.uses;
        let entry = results.entries.get_mut(key)?;
        let left = entry.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            results.entries.remove(key);
            return None;
        }
        entry.last_use = last_use;
        Some((entry.result.clone(), left))
    }

    /// Returns the intent to cache the result for `key`, which is asked for now.
    pub fn pending(&self, key: K) -> PendingResult<K> {
        PendingResult { cache: self.clone(), key, changes: self.results.lock().changes }
    }

    /// Removes the results that a reported change concerns.
    pub fn remove(&self, is_stale: impl Fn(&K) -> bool) {
        let mut results = self.results.lock();
        results.changes += 1;
        results.entries.retain(|key, _| !is_stale(key));
    }
}

/// The longest time for which a result is cached, which also keeps the clock from overflowing.
const MAX_LIFETIME: Duration = Duration::from_hours(24);

impl<K: Clone + Eq + Hash> PendingResult<K> {
    /// Returns the key under which the result is cached.
    pub const fn key(&self) -> &K {
        &self.key
    }

    /// Caches the result for a time, a day at most, unless something changed since it was asked for.
    pub fn store(self, result: &RawJson, lifetime: Duration) {
        let ResultCache { results, max_entries, max_bytes } = &self.cache;
        let size = result.as_bytes().len();
        let mut results = results.lock();
        if results.changes != self.changes || size > *max_bytes || *max_entries == 0 {
            return;
        }
        results.entries.remove(&self.key);
        let mut bytes: usize = results.entries.values().map(|entry| entry.result.as_bytes().len()).sum();
        while results.entries.len() >= *max_entries || bytes + size > *max_bytes {
            let oldest = results.entries.iter().min_by_key(|(_, entry)| entry.last_use);
            let oldest = oldest.map(|(key, _)| key.clone());
            let Some(entry) = oldest.and_then(|oldest| results.entries.remove(&oldest)) else { break };
            bytes -= entry.result.as_bytes().len();
        }
        results.uses += 1;
        let (until, last_use) = (Instant::now() + lifetime.min(MAX_LIFETIME), results.uses);
        // The frame may hold more than the result.
        results.entries.insert(self.key, CachedResult { result: result.detached(), until, last_use });
    }
}

mgp_types::partial_debug!(
    [K] ResultCache<K>, self => max_entries: self.max_entries, max_bytes: self.max_bytes
);
mgp_types::partial_debug!([K] PendingResult<K>);
