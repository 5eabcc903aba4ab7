//! The layer in front of the service that answers the server: it writes the session.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{Error, Method, Request, RequestKind, Response, RpcService};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::Agreement;

/// Puts the session on the server's requests to the client, and answers `ping`.
///
/// The layer sits right behind the connection, in front of all others that answer the server. The layer writes
/// `context.session`; during the handshake the slot stays empty, so that no request has to be queued: a layer that
/// needs the session refuses, others go on. The layer never refuses and allocates nothing.
#[derive(Debug, Clone)]
pub struct ClientInbound<S> {
    inner: S,
    agreement: Agreement,
}

impl<S> ClientInbound<S> {
    /// Creates the layer that puts the session of `agreement` on requests to `inner`.
    pub fn new(inner: S, agreement: Agreement) -> Self {
        Self { inner, agreement }
    }

    /// Returns the service behind.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the service behind.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: RpcService> Service<Request> for ClientInbound<S> {
    type Response = Response;
    type Error = Error;
    type Future = InboundFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        if request.kind == RequestKind::Call && request.method == Method::PING {
            return InboundFuture { state: State::Pong };
        }
        request.context.session = self.agreement.session();
        InboundFuture { state: State::Inner { inner: self.inner.call(request) } }
    }
}

pin_project! {
    /// The future of [`ClientInbound`].
    #[derive(Debug)]
    pub struct InboundFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = Projection]
    #[derive(Debug)]
    enum State<F> {
        Pong,
        Inner { #[pin] inner: F },
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for InboundFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            Projection::Pong => Poll::Ready(Ok(Response::empty())),
            Projection::Inner { inner } => inner.poll(cx),
        }
    }
}
