//! The cache of results, which keeps each as long as the server allows.

use std::time::Duration;

use mgp_transport::mrtr::AnsweredQuestions;
use mgp_transport::{PendingResult, ResultCache};
use mgp_types::ext::{DEFAULT_MANIFEST_TTL_SECONDS, MAX_MANIFEST_TTL_SECONDS};
use mgp_types::mcp::notification_name;
use mgp_types::mgp::method as mgp;
use mgp_types::{Error, Flow, Gate, Gated, Method, Object, Request, RequestKind, Response, ResultKind};

/// Caches lists, resources and the server's description as long as the server allows.
///
/// A result that was made with the help of the user ([`AnsweredQuestions`](mgp_transport::mrtr::AnsweredQuestions)) is
/// never cached. The layer reads `context.principal`: private results are not cached where callers differ. The layer
/// allocates for cacheable methods only.
pub type Cache<S> = Gated<CacheGate, S>;

/// The gate of a [`Cache`]: it answers what is cached, and caches what others answer.
#[derive(Debug, Clone)]
pub struct CacheGate(pub(crate) Option<CacheStore>);

const MAX_ENTRY_BYTES: usize = 1 << 20;

impl Gate for CacheGate {
    type Pass = Option<PendingCacheEntry>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let Self(Some(store)) = self else { return Flow::Pass(None) };
        let Some(key) = CacheStore::key(request) else { return Flow::Pass(None) };
        if let Some((kept, _)) = store.0.get(&key) {
            return Flow::answer(Response::new(kept));
        }
        let callers_differ = request.context.principal.is_some();
        Flow::Pass(Some(PendingCacheEntry { result: store.0.pending(key), callers_differ }))
    }

    fn leave(&self, pending: Self::Pass, outcome: &mut Result<Response, Error>) {
        let (Some(entry), Ok(response)) = (pending, outcome) else { return };
        let Some((ttl, private)) = lifetime(&entry.result.key().method, response) else { return };
        if response.result.as_bytes().len() <= MAX_ENTRY_BYTES && !(private && entry.callers_differ) {
            entry.result.store(&response.result, ttl);
        }
    }
}

/// The cached results of one client, bounded in number and size.
#[derive(Debug, Clone)]
pub(crate) struct CacheStore(ResultCache<Key>);

const MAX_ENTRIES: usize = 256;
const MAX_BYTES: usize = 8 << 20;

impl Default for CacheStore {
    fn default() -> Self {
        Self(ResultCache::new(MAX_ENTRIES, MAX_BYTES))
    }
}

/// The key of a cached result: a method and the one member of its params that the result depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    method: Method,
    selector: Option<Box<str>>,
}

/// The intent to cache a result that is still to come.
#[derive(Debug)]
pub struct PendingCacheEntry {
    result: PendingResult<Key>,
    callers_differ: bool,
}

impl CacheStore {
    /// Returns the key under which the result of a request is cached; `None` if it is not.
    fn key(request: &Request) -> Option<Key> {
        let selector = match request.method.as_str() {
            "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list" => "cursor",
            "resources/read" => "uri",
            "server/discover" | mgp::MANIFEST_GET => "",
            _ => return None,
        };
        // Another member may change the result in an unknown way.
        let known = request.params.iter().all(|(name, _)| name == "_meta" || name == selector);
        if !known || request.kind == RequestKind::Notify {
            return None;
        }
        let selector = request.params.text(selector).map(Into::into);
        Some(Key { method: request.method.clone(), selector })
    }

    /// Removes the results that a notification reports as changed.
    pub(crate) fn invalidate(&self, method: &Method, params: &Object) {
        let stale: &dyn Fn(&Key) -> bool = match method.as_str() {
            // A manifest tells of all tools.
            notification_name::TOOLS_CHANGED => {
                &|key| key.method == Method::TOOLS_LIST || key.method.as_str() == mgp::MANIFEST_GET
            }
            MANIFEST_CHANGED => &|key| key.method.as_str() == mgp::MANIFEST_GET,
            notification_name::PROMPTS_CHANGED => &|key| key.method == Method::PROMPTS_LIST,
            notification_name::RESOURCES_CHANGED => {
                &|key| key.method == Method::RESOURCES_LIST || key.method == Method::RESOURCES_TEMPLATES_LIST
            }
            notification_name::RESOURCE_UPDATED => {
                let uri = params.text("uri").unwrap_or_default();
                // The changed resource may be a part of the one that was read.
                let read = |key: &Key| key.selector.as_deref().is_some_and(|read| uri.starts_with(read));
                return self.0.remove(|key| key.method == Method::RESOURCES_READ && read(key));
            }
            _ => return,
        };
        self.0.remove(stale);
    }

    /// Removes all results.
    pub(crate) fn clear(&self) {
        self.0.remove(|_| true);
    }
}

/// Returns how long a result may be cached, and whether only for the same authorization; `None` for not at all.
fn lifetime(method: &Method, response: &Response) -> Option<(Duration, bool)> {
    let is_for_this_call = response.extensions.get::<AnsweredQuestions>().is_some();
    if is_for_this_call || response.result.kind() != ResultKind::Complete {
        return None;
    }
    let result = Object::from_raw(&response.result).ok()?;
    let ttl = match result.get("ttlMs") {
        Some(ttl) => ttl.to().ok()?,
        None if method.as_str() == mgp::MANIFEST_GET => manifest_lifetime_ms(&result)?,
        None => return None,
    };
    let private = result.text("cacheScope").is_none_or(|scope| scope != "public");
    (ttl > 0).then(|| (Duration::from_millis(ttl), private))
}

fn manifest_lifetime_ms(manifest: &Object) -> Option<u64> {
    let seconds = match manifest.get("manifest_ttl_seconds") {
        Some(seconds) => seconds.to().ok()?,
        None => DEFAULT_MANIFEST_TTL_SECONDS,
    };
    Some(seconds.min(MAX_MANIFEST_TTL_SECONDS) * 1000)
}

/// Tells that the service manifest changed.
const MANIFEST_CHANGED: &str = "notifications/mgp.manifest.changed";
