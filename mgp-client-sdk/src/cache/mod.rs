//! The cache of results, which keeps each as long as the server allows.

mod future;
mod store;

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Error, Request, Response, RpcService};
use tower_service::Service;

pub use self::future::CacheFuture;
pub(crate) use self::store::CacheStore;

/// Caches lists, resources and the server's description as long as the server allows.
///
/// The layer sits under those that answer the questions in results, so that a result made with the help of the user is
/// never cached. The layer reads `context.principal`: private results are not cached where callers differ. The layer
/// allocates for cacheable methods only.
#[derive(Debug, Clone)]
pub struct Cache<S> {
    inner: S,
    store: Option<Arc<CacheStore>>,
}

impl<S> Cache<S> {
    pub(crate) fn new(inner: S, store: Option<Arc<CacheStore>>) -> Self {
        Self { inner, store }
    }

    /// Returns the service whose results are cached.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S: RpcService> Service<Request> for Cache<S> {
    type Response = Response;
    type Error = Error;
    type Future = CacheFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Some(store) = &self.store else { return CacheFuture::pass(self.inner.call(request)) };
        let Some(key) = CacheStore::key(&request) else { return CacheFuture::pass(self.inner.call(request)) };
        if let Some(kept) = store.recall(&key) {
            return CacheFuture::kept(kept);
        }
        let keep = store.keep(key, request.context.principal.is_some());
        CacheFuture::keeping(self.inner.call(request), keep)
    }
}
