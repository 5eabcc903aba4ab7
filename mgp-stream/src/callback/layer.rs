//! The server's layer that takes the answers to callbacks.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::mgp::{Extension, method};
use mgp_types::{Error, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::Callbacks;
use crate::negotiated;

/// Takes the answers to the questions that a server asks. The layer makes [`CallbackService`]s.
#[derive(Debug, Clone)]
pub struct CallbackLayer {
    callbacks: Callbacks,
}

impl CallbackLayer {
    /// Creates a layer that takes the answers to the questions of `callbacks`.
    pub const fn new(callbacks: Callbacks) -> Self {
        Self { callbacks }
    }
}

impl<S> Layer<S> for CallbackLayer {
    type Service = CallbackService<S>;

    fn layer(&self, inner: S) -> CallbackService<S> {
        CallbackService { inner, callbacks: self.callbacks.clone() }
    }
}

/// The service of [`CallbackLayer`].
///
/// The service sits behind the layers that authenticate and record, anywhere in front of the router. The service
/// answers `mgp/callback/respond` where callbacks were negotiated and lets everything else go on. The service reads
/// `context.session` and `context.principal`: only the client that was asked may answer; for all others the callback
/// does not exist. The service writes nothing, allocates and locks for its own method only, and never waits, so that
/// dropping the future changes nothing.
#[derive(Debug, Clone)]
pub struct CallbackService<S> {
    inner: S,
    callbacks: Callbacks,
}

impl<S> CallbackService<S> {
    /// Returns the inner service.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the inner service.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: RpcService> Service<Request> for CallbackService<S> {
    type Response = Response;
    type Error = Error;
    type Future = CallbackServiceFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let is_ours = request.method == *method::CALLBACK_RESPOND
            && negotiated::have(request.context.session.as_deref(), &Extension::Callbacks);
        if is_ours {
            let answer = Some(self.callbacks.answer(&request));
            return CallbackServiceFuture { state: State::Answered { answer } };
        }
        CallbackServiceFuture { state: State::Passed { future: self.inner.call(request) } }
    }
}

pin_project! {
    /// The future of [`CallbackService`].
    #[must_use = "futures do nothing unless polled"]
    pub struct CallbackServiceFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = Projection]
    enum State<F> {
        Passed { #[pin] future: F },
        Answered { answer: Option<Result<Response, Error>> },
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for CallbackServiceFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            Projection::Passed { future } => future.poll(cx),
            Projection::Answered { answer } => {
                Poll::Ready(answer.take().expect("a future is not polled again after it was ready"))
            }
        }
    }
}

mgp_types::partial_debug!([F] CallbackServiceFuture<F>);
