//! The future of a call whose result may be cached.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::{Error, Response};
use pin_project_lite::pin_project;

use super::store::PendingCacheEntry;

pin_project! {
    /// The future of [`Cache`](super::Cache).
    #[derive(Debug)]
    pub struct CacheFuture<F> {
        #[pin]
        inner: Option<F>,
        kept: Option<Response>,
        keep: Option<PendingCacheEntry>,
    }
}

impl<F> CacheFuture<F> {
    pub(super) fn pass(inner: F) -> Self {
        Self { inner: Some(inner), kept: None, keep: None }
    }

    pub(super) fn kept(kept: Response) -> Self {
        Self { inner: None, kept: Some(kept), keep: None }
    }

    pub(super) fn keeping(inner: F, keep: PendingCacheEntry) -> Self {
        Self { inner: Some(inner), kept: None, keep: Some(keep) }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for CacheFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Some(inner) = this.inner.as_pin_mut() else {
            return this.kept.take().map_or(Poll::Pending, |kept| Poll::Ready(Ok(kept)));
        };
        let response = ready!(inner.poll(cx))?;
        if let Some(keep) = this.keep.take() {
            keep.store(&response);
        }
        Poll::Ready(Ok(response))
    }
}
