//! The future that the layers of this crate return.

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::Either;
use mgp_types::{BoxFuture, Error, Response};
use pin_project_lite::pin_project;

pin_project! {
    /// The future of a layer that decides whether a request goes on: the future of the inner service, an answer of the
    /// layer's own, or a wait that ends in one of them.
    ///
    /// Only a wait is boxed. Dropping this future drops the future it holds, and nothing else.
    #[must_use = "futures do nothing unless polled"]
    pub struct GateFuture<F>
    where
        F: Future,
    {
        #[pin]
        state: Either<F, Either<Ready<F::Output>, BoxFuture<'static, F::Output>>>,
    }
}

impl<F: Future> GateFuture<F> {
    /// Returns a future that resolves to the answer of the inner service.
    pub const fn passed(future: F) -> Self {
        Self { state: Either::Left(future) }
    }

    /// Returns a future that resolves to `answer`, without calling the inner service.
    pub fn answered(answer: F::Output) -> Self {
        Self { state: Either::Right(Either::Left(ready(answer))) }
    }

    /// Returns a future for a layer that has to wait before the request is answered.
    pub fn waiting(future: impl Future<Output = F::Output> + Send + 'static) -> Self {
        Self { state: Either::Right(Either::Right(Box::pin(future))) }
    }
}

impl<F: Future<Output = Result<Response, Error>>> GateFuture<F> {
    /// Returns a future that refuses the request with `error`.
    pub fn refused(error: Error) -> Self {
        Self::answered(Err(error))
    }
}

impl<F: Future> Future for GateFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().state.poll(cx)
    }
}

mgp_types::partial_debug!([F: Future] GateFuture<F>, self => state: match self.state {
    Either::Left(_) => "passed",
    Either::Right(Either::Left(_)) => "answered",
    Either::Right(Either::Right(_)) => "waiting",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_answered_by_whoever_the_layer_said() {
        assert_eq!(GateFuture::passed(ready(1)).await, 1);
        assert_eq!(GateFuture::<Ready<_>>::answered(2).await, 2);
        assert_eq!(GateFuture::<Ready<_>>::waiting(async { 3 }).await, 3);
    }
}
