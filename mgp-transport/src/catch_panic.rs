//! The layer that turns panics of handlers into errors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{Error, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tower_service::Service;

/// Turns a panic behind it into the error -32603, so that one broken handler does not end the connection that other
/// requests share. The layer sits outermost; transports put it there themselves. The layer reads and writes no slot.
#[derive(Debug, Clone)]
pub struct CatchPanic<S> {
    inner: S,
}

impl<S> CatchPanic<S> {
    /// Catches the panics of `inner`.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S: RpcService> Service<Request> for CatchPanic<S> {
    type Future = CatchPanicFuture<S::Future>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, request: Request) -> Self::Future {
        let inner = &mut self.inner;
        match catch_unwind(AssertUnwindSafe(|| inner.call(request))) {
            Ok(future) => CatchPanicFuture::Called { future },
            Err(panic) => CatchPanicFuture::Panicked { error: Some(caught(panic)) },
        }
    }
}

pin_project! {
    /// The future of [`CatchPanic`].
    #[project = Projected]
    #[derive(Debug)]
    pub enum CatchPanicFuture<F> {
        /// The call panicked, and the error is its answer.
        #[doc(hidden)]
        Panicked { error: Option<Error> },
        /// The call is in work.
        #[doc(hidden)]
        Called { #[pin] future: F },
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for CatchPanicFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Projected::Panicked { error } => {
                Poll::Ready(Err(error.take().expect("a future is not polled again after it was ready")))
            }
            Projected::Called { future } => catch_unwind(AssertUnwindSafe(|| future.poll(cx)))
                .unwrap_or_else(|panic| Poll::Ready(Err(caught(panic)))),
        }
    }
}

fn caught(panic: Box<dyn Any + Send>) -> Error {
    // The message may quote the peer's input, so it goes to the panic hook only.
    drop(panic);
    tracing::error!("a request handler panicked");
    Error::internal("the request handler panicked")
}
