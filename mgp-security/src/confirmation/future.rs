use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use pin_project_lite::pin_project;

use super::service::{Shared, Unconfirmed};

pin_project! {
    /// The answer of [`Confirmation`](super::Confirmation).
    #[project = Projection]
    pub enum ConfirmationFuture<F> {
        /// The call is refused.
        #[doc(hidden)]
        Refused { error: Option<Error> },
        /// The service behind the layer answers.
        #[doc(hidden)]
        Called { #[pin] future: F },
        /// A human is asked first.
        #[doc(hidden)]
        Waiting { future: BoxFuture<'static, Result<Response, Error>> },
    }
}

impl<F: Future<Output = Result<Response, Error>> + Send> ConfirmationFuture<F> {
    /// Waits for a human, then calls `inner` when that is ready.
    pub(super) fn wait<S: RpcService<Future = F>>(
        shared: Arc<Shared>,
        mut inner: S,
        request: Request,
        call: Unconfirmed,
    ) -> Self {
        let future = async move {
            shared.confirm(&call, &request).await?;
            poll_fn(|cx| inner.poll_ready(cx)).await?;
            inner.call(request).await
        };
        Self::Waiting { future: Box::pin(future) }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for ConfirmationFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Projection::Refused { error } => {
                Poll::Ready(Err(error.take().expect("a future is not polled again after it was ready")))
            }
            Projection::Called { future } => future.poll(cx),
            Projection::Waiting { future } => future.as_mut().poll(cx),
        }
    }
}

impl<F> fmt::Debug for ConfirmationFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfirmationFuture").finish_non_exhaustive()
    }
}
