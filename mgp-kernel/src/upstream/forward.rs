use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Error, Kind, Object, RawJson, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::calls::{Caller, Calls, Entered};
use crate::parts::Parts;

/// The innermost service of the way to a server: notes who calls, and has the server report progress under a number of
/// ours, as callers may choose the same.
///
/// Sits directly in front of what carries calls. Reads `context.session`, `context.principal` and `context.outbox`, and
/// replaces `_meta.progressToken`. Costs a lock at the beginning and at the end of a call, and allocates for a token only.
#[derive(Clone)]
pub(super) struct Forward<S> {
    inner: S,
    calls: Calls,
    parts: Arc<Parts>,
}

impl<S> Forward<S> {
    pub(super) fn new(inner: S, calls: Calls, parts: Arc<Parts>) -> Self {
        Self { inner, calls, parts }
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
        let guard = (request.kind == Kind::Call).then(|| {
            let caller = Caller::of(&request.context);
            let meta = request.params.get("_meta").and_then(|meta| Object::from_raw(&meta).ok());
            let named = meta.and_then(|meta| Some((meta.get("progressToken")?, meta)));
            let Some((token, mut meta)) = named else { return self.calls.enter(caller, None) };
            let entered = self.calls.enter(caller, Some(token.detached()));
            meta.set("progressToken", RawJson::from_written(entered.number().to_string().into_bytes()));
            request.params.set("_meta", meta.to_raw());
            entered
        });
        let guard = guard.map(|entered| Guard { entered, parts: Arc::clone(&self.parts) });
        ForwardFuture { inner: self.inner.call(request), guard }
    }
}

/// Forgets the call, and what the server has called back about it.
struct Guard {
    entered: Entered,
    parts: Arc<Parts>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(stream) = self.entered.leave() {
            self.parts.fleet.callbacks().lock().end_of_call(stream);
        }
    }
}

pin_project! {
    /// The answer of [`Forward`].
    pub(super) struct ForwardFuture<F> {
        #[pin]
        inner: F,
        // Forgotten with the future, however it ends.
        guard: Option<Guard>,
    }
}

impl<F: Future> Future for ForwardFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let outcome = std::task::ready!(this.inner.poll(cx));
        *this.guard = None;
        Poll::Ready(outcome)
    }
}
