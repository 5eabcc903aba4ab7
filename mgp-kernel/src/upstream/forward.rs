use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mgp_types::{Error, Kind, Object, RawJson, Request, Response, RpcService, StreamId};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::reports::Reports;
use crate::parts::Parts;

/// The innermost service of the way to a server: has the server report progress under a number of ours, as callers may
/// choose the same.
///
/// Sits directly in front of what carries calls. Reads `context.outbox`, and replaces `_meta.progressToken`. A call
/// without one takes no lock and allocates nothing.
#[derive(Clone)]
pub(super) struct Forward<S> {
    inner: S,
    reports: Reports,
    parts: Arc<Parts>,
}

impl<S> Forward<S> {
    pub(super) fn new(inner: S, reports: Reports, parts: Arc<Parts>) -> Self {
        Self { inner, reports, parts }
    }

    /// Names the call to the server, if its caller wants to hear of progress.
    fn number(&self, request: &mut Request) -> Option<u64> {
        let mut meta = Object::from_raw(&request.params.get("_meta")?).ok()?;
        // It outlives the frame that it came in.
        let token = meta.get("progressToken")?.detached();
        let number = self.reports.enter(request.context.outbox.clone(), token);
        meta.set("progressToken", RawJson::from_written(number.to_string().into_bytes()));
        request.params.set("_meta", meta.to_raw());
        Some(number)
    }
}

impl<S: RpcService> Service<Request> for Forward<S> {
    type Response = Response;
    type Error = Error;
    type Future = ForwardFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let in_work = (request.kind == Kind::Call).then(|| InWork {
            number: self.number(&mut request),
            stream: request.context.outbox.stream(),
            reports: self.reports.clone(),
            parts: Arc::clone(&self.parts),
        });
        ForwardFuture { inner: self.inner.call(request), in_work }
    }
}

/// A call; forgets what the server says about it when it is over.
struct InWork {
    number: Option<u64>,
    stream: StreamId,
    reports: Reports,
    parts: Arc<Parts>,
}

impl Drop for InWork {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.reports.leave(number);
        }
        if self.reports.end(self.stream) {
            self.parts.fleet.callbacks().lock().end_of_call(self.stream);
        }
    }
}

pin_project! {
    /// The answer of [`Forward`].
    pub(super) struct ForwardFuture<F> {
        #[pin]
        inner: F,
        // Over with the future, however it ends.
        in_work: Option<InWork>,
    }
}

impl<F: Future> Future for ForwardFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let outcome = ready!(this.inner.poll(cx));
        *this.in_work = None;
        Poll::Ready(outcome)
    }
}
