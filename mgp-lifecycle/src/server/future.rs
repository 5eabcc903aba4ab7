//! The future of the life cycle's layer.

use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::Either;
use mgp_types::{BoxFuture, Error, Response, RpcService};
use pin_project_lite::pin_project;

use super::admitted_call::AdmittedCall;

pin_project! {
    /// The future of [`LifecycleService`](super::LifecycleService).
    ///
    /// Dropping it drops the inner call, which then counts no more.
    #[must_use = "futures do nothing unless polled"]
    pub struct LifecycleFuture<S: RpcService> {
        // The answer of the inner service or of the layer; `None` once the call was cut off.
        #[pin]
        pub(super) answer: Option<Either<S::Future, BoxFuture<'static, Result<Response, Error>>>>,
        #[pin]
        pub(super) visit: Option<AdmittedCall>,
    }
}

impl<S: RpcService> LifecycleFuture<S> {
    /// Creates a future that refuses the call.
    pub(super) fn refused(error: Error) -> Self {
        Self::answering(Box::pin(ready(Err(error))))
    }

    /// Creates a future for an answer of the layer.
    pub(super) fn answering(answer: BoxFuture<'static, Result<Response, Error>>) -> Self {
        Self { answer: Some(Either::Right(answer)), visit: None }
    }
}

impl<S: RpcService> Future for LifecycleFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let answer = this.answer.as_mut().as_pin_mut();
        let answer = answer.expect("a future is not polled again after it was ready");
        if let Poll::Ready(outcome) = answer.poll(cx) {
            if let Some(visit) = this.visit.as_mut().as_pin_mut() {
                visit.ended(&outcome);
            }
            this.visit.set(None);
            return Poll::Ready(outcome);
        }
        let end = this.visit.as_mut().as_pin_mut().map_or(Poll::Pending, |visit| visit.poll_end(cx));
        if end.is_ready() {
            // The handler is dropped before the call is answered, and no longer counts once it is.
            this.answer.set(None);
            this.visit.set(None);
        }
        end
    }
}

mgp_types::partial_debug!([S: RpcService] LifecycleFuture<S>);
