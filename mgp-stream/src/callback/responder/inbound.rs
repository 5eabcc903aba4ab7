//! The client's layer that takes callbacks out of the notifications of a server.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::mgp::{Extension, method};
use mgp_types::{Error, Request, RequestKind, Response, RpcService};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::ServerResponder;
use crate::negotiated;

/// Takes the questions that a server asks in the middle of calls. The layer makes [`CallbackInbound`] services.
#[derive(Debug, Clone)]
pub struct CallbackInboundLayer {
    desk: ServerResponder,
}

impl CallbackInboundLayer {
    /// Creates a layer that gives the questions of the server to `desk`.
    pub const fn new(desk: ServerResponder) -> Self {
        Self { desk }
    }
}

impl<S> Layer<S> for CallbackInboundLayer {
    type Service = CallbackInbound<S>;

    fn layer(&self, inner: S) -> CallbackInbound<S> {
        CallbackInbound { inner, desk: self.desk.clone() }
    }
}

/// The service of [`CallbackInboundLayer`].
///
/// The service sits in the stack that answers the server, behind the layer that knows the session. The service takes
/// `notifications/mgp.callback.request` where callbacks were negotiated and lets everything else go on. The desk
/// answers in a task of its own: the connection goes on at once. The service reads `context.session` and the stream of
/// `context.outbox`, writes and refuses nothing, and allocates and locks for its own notification only.
#[derive(Debug, Clone)]
pub struct CallbackInbound<S> {
    inner: S,
    desk: ServerResponder,
}

impl<S> CallbackInbound<S> {
    /// Returns the inner service.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the inner service.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: RpcService> Service<Request> for CallbackInbound<S> {
    type Response = Response;
    type Error = Error;
    type Future = CallbackInboundFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let is_ours = request.kind == RequestKind::Notify && request.method == *method::CALLBACK_REQUEST;
        let session = request.context.session.as_ref();
        if let Some(session) = session
            && is_ours
            && negotiated::have(Some(session), &Extension::Callbacks)
        {
            self.desk.take(session, &request, (*request.context).clone());
            return CallbackInboundFuture { state: State::Taken };
        }
        CallbackInboundFuture { state: State::Passed { future: self.inner.call(request) } }
    }
}

pin_project! {
    /// The future of [`CallbackInbound`].
    #[must_use = "futures do nothing unless polled"]
    pub struct CallbackInboundFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = Projection]
    enum State<F> {
        Passed { #[pin] future: F },
        Taken,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for CallbackInboundFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            Projection::Passed { future } => future.poll(cx),
            Projection::Taken => Poll::Ready(Ok(Response::empty())),
        }
    }
}

mgp_types::partial_debug!([F] CallbackInboundFuture<F>);
