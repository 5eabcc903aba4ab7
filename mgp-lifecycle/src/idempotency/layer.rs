//! The layer that carries calls with a key out once.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::book::IdempotencyBook;
use super::keyed_call::KeyedCall;

/// A layer that carries calls of tools with an idempotency key out once.
///
/// It sits behind all that decides whether the caller may make the call, because a result that is told again passes those as
/// any call does; and in front of the execution. It reads `context.principal` and `context.tool`, if they are there. A call
/// without a key passes untouched. A call with one is made in a task of its own, which goes on when the caller gives up.
#[derive(Debug, Clone)]
pub struct IdempotencyLayer(IdempotencyBook);

impl IdempotencyLayer {
    /// Returns the layer that notes the keys of calls in `book`.
    pub const fn new(book: IdempotencyBook) -> Self {
        Self(book)
    }
}

impl<S> Layer<S> for IdempotencyLayer {
    type Service = IdempotencyService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        IdempotencyService { book: self.0.clone(), inner }
    }
}

/// The service of an [`IdempotencyLayer`].
#[derive(Debug, Clone)]
pub struct IdempotencyService<S> {
    book: IdempotencyBook,
    inner: S,
}

impl<S: RpcService> Service<Request> for IdempotencyService<S> {
    type Response = Response;
    type Error = Error;
    type Future = IdempotencyFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let state = match KeyedCall::of(&request) {
            Ok(None) => State::Passed { future: self.inner.call(request) },
            Ok(Some(call)) => {
                let work = self.book.clone().call(call, request, self.inner.clone());
                State::Keyed { future: Box::pin(work) }
            }
            Err(error) => State::Refused { error: Some(error) },
        };
        IdempotencyFuture { state }
    }
}

pin_project! {
    /// The future of an [`IdempotencyService`].
    #[must_use = "futures do nothing unless polled"]
    pub struct IdempotencyFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Passed { #[pin] future: F },
        Keyed { future: BoxFuture<'static, Result<Response, Error>> },
        Refused { error: Option<Error> },
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for IdempotencyFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Passed { future } => future.poll(cx),
            StateProj::Keyed { future } => future.as_mut().poll(cx),
            StateProj::Refused { error } => {
                Poll::Ready(Err(error.take().expect("a future is not polled again after it was ready")))
            }
        }
    }
}

impl<F> fmt::Debug for IdempotencyFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyFuture").finish_non_exhaustive()
    }
}
