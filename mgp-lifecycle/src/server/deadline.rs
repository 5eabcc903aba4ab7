//! The server's layer for deadlines of calls.

use std::future::ready;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::Either;
use mgp_types::mgp::CallOptions;
use mgp_types::{BoxFuture, Error, Method, Request, RequestKind, Response, RpcService};
use tokio::time::timeout;
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
    type Future = Either<S::Future, BoxFuture<'static, Result<Response, Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match time_left(&request) {
            None => Either::Left(self.inner.call(request)),
            Some(Duration::ZERO) => Either::Right(Box::pin(ready(Err(too_late())))),
            Some(left) => {
                let call = timeout(left, self.inner.call(request));
                // The handler is dropped before the call is answered.
                Either::Right(Box::pin(async { call.await.unwrap_or_else(|_| Err(too_late())) }))
            }
        }
    }
}

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
