//! The future that the layers of this crate return.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

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
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F>
    where
        F: Future,
    {
        Passed { #[pin] future: F },
        Answered { answer: Option<F::Output> },
        Waiting { future: BoxFuture<'static, F::Output> },
    }
}

impl<F: Future> GateFuture<F> {
    /// Returns a future that resolves to the answer of the inner service.
    pub const fn passed(future: F) -> Self {
        Self { state: State::Passed { future } }
    }

    /// Returns a future that resolves to `answer`, without calling the inner service.
    pub const fn answered(answer: F::Output) -> Self {
        Self { state: State::Answered { answer: Some(answer) } }
    }

    /// Returns a future for a layer that has to wait before the request is answered.
    pub fn waiting(future: impl Future<Output = F::Output> + Send + 'static) -> Self {
        Self { state: State::Waiting { future: Box::pin(future) } }
    }
}

impl<F: Future<Output = Result<Response, Error>>> GateFuture<F> {
    /// Returns a future that refuses the request with `error`.
    pub const fn refused(error: Error) -> Self {
        Self::answered(Err(error))
    }
}

impl<F: Future> Future for GateFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Passed { future } => future.poll(cx),
            StateProj::Answered { answer } => {
                Poll::Ready(answer.take().expect("a future is not polled again after it was ready"))
            }
            StateProj::Waiting { future } => future.as_mut().poll(cx),
        }
    }
}

impl<F: Future> fmt::Debug for GateFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Passed { .. } => "passed",
            State::Answered { .. } => "answered",
            State::Waiting { .. } => "waiting",
        };
        f.debug_struct("GateFuture").field("state", &state).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, pending, ready};

    use super::*;

    #[tokio::test]
    async fn it_is_answered_by_whoever_the_layer_said() {
        assert_eq!(GateFuture::passed(ready(1)).await, 1);
        assert_eq!(GateFuture::<Ready<_>>::answered(2).await, 2);
        assert_eq!(GateFuture::<Ready<_>>::waiting(async { 3 }).await, 3);
    }

    #[test]
    fn it_waits_as_long_as_what_it_holds_does() {
        let mut context = Context::from_waker(std::task::Waker::noop());
        let waiting = GateFuture::<Ready<()>>::waiting(pending());
        assert!(std::pin::pin!(waiting).poll(&mut context).is_pending());
        let passed = GateFuture::passed(pending::<()>());
        assert!(std::pin::pin!(passed).poll(&mut context).is_pending());
    }
}
