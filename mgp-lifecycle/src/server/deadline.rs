//! The server's layer for deadlines of calls.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::mgp::CallOptions;
use mgp_types::{Error, Method, Request, RequestKind, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tower_layer::Layer;
use tower_service::Service;

use crate::refusal::timed_out;

/// Ends calls whose deadline is over. The layer makes [`CallerDeadline`]s.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallerDeadlineLayer;

impl CallerDeadlineLayer {
    /// Creates the layer; it needs no settings.
    pub const fn new() -> Self {
        Self
    }
}

impl<S> Layer<S> for CallerDeadlineLayer {
    type Service = CallerDeadline<S>;

    fn layer(&self, inner: S) -> CallerDeadline<S> {
        CallerDeadline { inner }
    }
}

/// The service of [`CallerDeadlineLayer`].
///
/// The service sits anywhere around the router. A `tools/call` with `_mgp.deadline_ms`, in a session with MGP, is
/// answered with 3003 when that time is over, and its handler is dropped; a call without any time left never reaches
/// the handler. The service reads `context.session`. The service allocates for such calls only. Dropping the future
/// drops the inner future.
#[derive(Debug, Clone)]
pub struct CallerDeadline<S> {
    inner: S,
}

impl<S: RpcService> Service<Request> for CallerDeadline<S> {
    type Response = Response;
    type Error = Error;
    type Future = CallerDeadlineFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match time_left(&request) {
            Some(Duration::ZERO) => CallerDeadlineFuture { call: None, deadline: None },
            left => CallerDeadlineFuture {
                call: Some(self.inner.call(request)),
                deadline: left.map(|left| Box::pin(sleep(left))),
            },
        }
    }
}

pin_project! {
    /// The future of [`CallerDeadline`].
    #[must_use = "futures do nothing unless polled"]
    pub struct CallerDeadlineFuture<F> {
        // The inner future; `None` once the time is over.
        #[pin]
        call: Option<F>,
        deadline: Option<Pin<Box<Sleep>>>,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for CallerDeadlineFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(call) = this.call.as_mut().as_pin_mut() else {
            return Poll::Ready(Err(too_late()));
        };
        if let Poll::Ready(outcome) = call.poll(cx) {
            return Poll::Ready(outcome);
        }
        if this.deadline.as_mut().is_none_or(|deadline| deadline.as_mut().poll(cx).is_pending()) {
            return Poll::Pending;
        }
        // The handler is dropped before the call is answered.
        this.call.set(None);
        Poll::Ready(Err(too_late()))
    }
}

mgp_types::partial_debug!([F] CallerDeadlineFuture<F>, self => has_deadline: self.deadline.is_some());

/// Returns the time until the deadline of a call, if it has one.
fn time_left(request: &Request) -> Option<Duration> {
    if request.kind != RequestKind::Call
        || request.method != Method::TOOLS_CALL
        || !request.params.contains("_mgp")
        || request.context.session.as_ref().is_none_or(|session| session.mgp.is_none())
    {
        return None;
    }
    CallOptions::of(&request.params).deadline_ms.map(Duration::from_millis)
}

fn too_late() -> Error {
    timed_out("the call was not done by its deadline")
}
