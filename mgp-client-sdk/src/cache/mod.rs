//! The cache of results, which keeps each as long as the server allows.

mod store;

use std::sync::Arc;

use mgp_types::{Error, Flow, Gate, Gated, Request, Response};

pub(crate) use self::store::CacheStore;
use self::store::PendingCacheEntry;

/// Caches lists, resources and the server's description as long as the server allows.
///
/// A result that was made with the help of the user ([`AnsweredQuestions`](mgp_transport::mrtr::AnsweredQuestions)) is
/// never cached. The layer reads `context.principal`: private results are not cached where callers differ. The layer
/// allocates for cacheable methods only.
pub type Cache<S> = Gated<CacheGate, S>;

/// The gate of a [`Cache`]: it answers what is cached, and caches what others answer.
#[derive(Debug, Clone)]
pub struct CacheGate(pub(crate) Option<Arc<CacheStore>>);

impl Gate for CacheGate {
    type Pass = Option<PendingCacheEntry>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let Self(Some(store)) = self else { return Flow::Pass(None) };
        let Some(key) = CacheStore::key(request) else { return Flow::Pass(None) };
        match store.recall(&key) {
            Some(kept) => Flow::answer(kept),
            None => Flow::Pass(Some(store.keep(key, request.context.principal.is_some()))),
        }
    }

    fn leave(&self, pending: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let (Some(entry), Ok(response)) = (pending, outcome) {
            entry.store(response);
        }
    }
}
