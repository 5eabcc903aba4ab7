//! The cache of what resources contained when they were read.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::{CacheHint, CacheScope, Principal, RawJson, Request, Revision};
use parking_lot::Mutex;
use tokio::time::Instant;

/// A cache of the contents of resources, bounded in number and size, for resources that are slow to read.
///
/// Clones are of the same cache. Contents stay for the time, and for the audience, that the resource's
/// [`cache`](crate::Resource::cache) states: private ones only for the principal that read them, and not at all where no
/// principal is known. The entry that was not asked for the longest goes first. A change that the
/// [`ServerHandle`](crate::ServerHandle) reports removes what it concerns.
///
/// ```
/// use std::time::Duration;
///
/// use mgp_server_sdk::{Resource, ResourceCache, Server, mcp::CacheScope};
///
/// let cache = ResourceCache::new(100, 1 << 20);
/// let report = Resource::new("report://today", "today").cache(Duration::from_mins(1), CacheScope::Public).cached_in(&cache);
/// let server = Server::new("reports", "1.0.0").resource(report, async || "a slow report");
/// assert_eq!((cache.hits(), cache.misses()), (0, 0));
/// # drop(server);
/// ```
#[derive(Clone)]
pub struct ResourceCache {
    contents: Arc<Mutex<CachedContents>>,
    max_entries: usize,
    max_bytes: usize,
}

#[derive(Default)]
struct CachedContents {
    entries: HashMap<ContentsKey, Entry>,
    uses: u64,
    hits: u64,
    misses: u64,
    /// The number of reported changes: contents that were read before a change are not cached after it.
    changes: u64,
}

/// The key of cached contents: the form of the answer depends on the revision.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ContentsKey {
    uri: String,
    owner: Option<Principal>,
    revision: Revision,
}

struct Entry {
    result: RawJson,
    until: Instant,
    last_use: u64,
}

/// The intent to cache contents that are still being read.
pub(super) struct PendingContents {
    cache: ResourceCache,
    key: ContentsKey,
    lifetime: Duration,
    changes: u64,
}

/// The outcome of a look into the cache.
pub(super) enum Lookup {
    /// The contents, and for how long they are still valid.
    Hit(RawJson, Duration),
    /// The contents are read, and cached then.
    Miss(PendingContents),
    /// The request is not one whose contents are cached.
    Bypass,
}

impl ResourceCache {
    /// Creates a cache of so many contents, and of so many bytes together.
    pub fn new(max_entries: usize, max_bytes: usize) -> Self {
        Self { contents: Arc::default(), max_entries, max_bytes }
    }

    /// Returns how many reads were answered from the cache.
    pub fn hits(&self) -> u64 {
        self.contents.lock().hits
    }

    /// Returns how many reads could have been answered from the cache and were not.
    pub fn misses(&self) -> u64 {
        self.contents.lock().misses
    }

    /// Removes all contents.
    pub fn clear(&self) {
        self.drop_all(|_| true);
    }

    /// Removes the contents of a resource, and of those that it is a part of.
    pub(crate) fn invalidate(&self, uri: &str) {
        self.drop_all(|key| uri.starts_with(&key.uri));
    }

    /// Looks for the contents of the resource that a request asks for.
    pub(super) fn look_up(
        &self,
        request: &Request,
        uri: &str,
        hint: &CacheHint,
        revision: Revision,
    ) -> Lookup {
        // Another member, like the answer to a question, may change what is read.
        let is_plain = request.params.iter().all(|(name, _)| name == "uri" || name == "_meta");
        let owner = request.context.principal.clone();
        let owner = match (&hint.scope, owner) {
            (CacheScope::Public, _) => None,
            (_, Some(owner)) => Some(owner),
            (_, None) => return Lookup::Bypass,
        };
        if !is_plain || hint.ttl_ms == 0 {
            return Lookup::Bypass;
        }
        let key = ContentsKey { uri: uri.to_owned(), owner, revision };
        let mut contents = self.contents.lock();
        if let Some((result, left)) = contents.take_use(&key) {
            contents.hits += 1;
            return Lookup::Hit(result, left);
        }
        contents.misses += 1;
        let lifetime = Duration::from_millis(hint.ttl_ms).min(MAX_LIFETIME);
        Lookup::Miss(PendingContents { cache: self.clone(), key, lifetime, changes: contents.changes })
    }

    fn drop_all(&self, is_stale: impl Fn(&ContentsKey) -> bool) {
        let mut contents = self.contents.lock();
        contents.changes += 1;
        contents.entries.retain(|key, _| !is_stale(key));
    }
}

impl PendingContents {
    /// Caches the contents, unless something changed since they were asked for.
    pub(super) fn store(self, result: &RawJson) {
        let size = result.as_bytes().len();
        let mut contents = self.cache.contents.lock();
        if contents.changes != self.changes || size > self.cache.max_bytes || self.cache.max_entries == 0 {
            return;
        }
        contents.entries.remove(&self.key);
        let mut bytes: usize = contents.entries.values().map(|entry| entry.result.as_bytes().len()).sum();
        while contents.entries.len() >= self.cache.max_entries || bytes + size > self.cache.max_bytes {
            let oldest = contents.entries.iter().min_by_key(|(_, entry)| entry.last_use);
            let oldest = oldest.map(|(key, _)| key.clone());
            let Some(entry) = oldest.and_then(|oldest| contents.entries.remove(&oldest)) else { break };
            bytes -= entry.result.as_bytes().len();
        }
        contents.uses += 1;
        let (until, last_use) = (Instant::now() + self.lifetime, contents.uses);
        contents.entries.insert(self.key, Entry { result: result.detached(), until, last_use });
    }
}

impl CachedContents {
    /// Returns valid contents, which are thereby used last.
    fn take_use(&mut self, key: &ContentsKey) -> Option<(RawJson, Duration)> {
        self.uses += 1;
        let entry = self.entries.get_mut(key)?;
        let left = entry.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.entries.remove(key);
            return None;
        }
        entry.last_use = self.uses;
        Some((entry.result.clone(), left))
    }
}

mgp_types::partial_debug!(ResourceCache, self => max_entries: self.max_entries, max_bytes: self.max_bytes);

/// The longest time for which contents are cached, which also keeps the clock from overflowing.
const MAX_LIFETIME: Duration = Duration::from_hours(24);
