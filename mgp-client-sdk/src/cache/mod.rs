//! Results that may be kept for a while, by what the server says about them.

mod future;
mod store;

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Error, Request, Response, RpcService};
use tower_service::Service;

pub use self::future::CacheFuture;
pub(crate) use self::store::CacheStore;

/// Keeps lists, resources and the server's description as long as the server allows.
///
/// Sits under whatever answers questions of results, so that what was answered with the help of the user is
/// never kept. Reads `context.principal`: what is private is not kept where callers differ. Allocates for
/// the methods that can be kept only.
#[derive(Debug, Clone)]
pub struct Cache<S> {
    inner: S,
    store: Option<Arc<CacheStore>>,
}

impl<S> Cache<S> {
    pub(crate) fn new(inner: S, store: Option<Arc<CacheStore>>) -> Self {
        Self { inner, store }
    }

    /// The service whose results are kept.
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
