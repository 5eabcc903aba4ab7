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

/// The outcome of a look into the cache.
pub(super) enum Lookup {
    /// The contents, and for how long they are still valid.
    Hit(RawJson, Duration),
    /// The contents are read, and cached then for a time.
    Miss(PendingResult<ContentsKey>, Duration),
    /// The request is not one whose contents are cached.
    Bypass,
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
        if let Some((result, left)) = self.contents.get(&key) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Lookup::Hit(result, left);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        Lookup::Miss(self.contents.pending(key), Duration::from_millis(hint.ttl_ms))
    }
}

mgp_types::partial_debug!(ResourceCache, self => contents: self.contents);
