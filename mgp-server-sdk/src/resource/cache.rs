//! The cache of what resources contained when they were read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_transport::{PendingResult, ResultCache};
use mgp_types::{CacheHint, CacheScope, Principal, RawJson, Request, Revision};

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
    contents: ResultCache<ContentsKey>,
    hits: Arc<AtomicU64>,
    misses: Arc<AtomicU64>,
}

/// The key of cached contents: the form of the answer depends on the revision.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ContentsKey {
    uri: String,
    owner: Option<Principal>,
    revision: Revision,
}

impl ContentsKey {
    /// Returns the key of the contents that a request asks for; `None` if the contents are not cached.
    pub(super) fn of(request: &Request, uri: &str, hint: &CacheHint, revision: Revision) -> Option<Self> {
        // Another member, like the answer to a question, may change what is read.
        let is_plain = request.params.iter().all(|(name, _)| name == "uri" || name == "_meta");
        let is_public = hint.scope == CacheScope::Public;
        let owner = if is_public { None } else { Some(request.context.principal.clone()?) };
        (is_plain && hint.ttl_ms > 0).then(|| Self { uri: uri.to_owned(), owner, revision })
    }
}

impl ResourceCache {
    /// Creates a cache of so many contents, and of so many bytes together.
    pub fn new(max_entries: usize, max_bytes: usize) -> Self {
        let contents = ResultCache::new(max_entries, max_bytes);
        Self { contents, hits: Arc::default(), misses: Arc::default() }
    }

    /// Returns how many reads were answered from the cache.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Returns how many reads could have been answered from the cache and were not.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    /// Removes all contents.
    pub fn clear(&self) {
        self.contents.remove(|_| true);
    }

    /// Removes the contents of a resource, and of those that it is a part of.
    pub(crate) fn invalidate(&self, uri: &str) {
        self.contents.remove(|key| uri.starts_with(&key.uri));
    }

    /// Returns contents, and for how long they are still valid.
    pub(super) fn get(&self, key: &ContentsKey) -> Option<(RawJson, Duration)> {
        let found = self.contents.get(key);
        let count = if found.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Returns the place of contents that are being read.
    pub(super) fn pending(&self, key: ContentsKey) -> PendingResult<ContentsKey> {
        self.contents.pending(key)
    }
}

mgp_types::partial_debug!(ResourceCache, self => contents: self.contents);
