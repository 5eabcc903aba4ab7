//! The calls that a server has in work, noted in front of its connection.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Context as CallContext, Error, Request, RequestKind, Response, RpcService, StreamId};
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

/// The calls that one server has in work, by which the call of a server's question is found. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct CallsInWork(Arc<Mutex<BTreeMap<StreamId, Box<CallContext>>>>);

impl CallsInWork {
    /// Returns the layer that notes the calls. It belongs directly in front of the service that carries them to the
    /// server.
    pub(crate) fn layer(&self) -> CallsInWorkLayer {
        CallsInWorkLayer(self.clone())
    }

    /// Returns the call that has `stream`.
    pub(crate) fn on(&self, stream: StreamId) -> Option<Box<CallContext>> {
        self.0.lock().get(&stream).cloned()
    }

    /// Returns whether the call that has `stream` is in work.
    pub(crate) fn has(&self, stream: StreamId) -> bool {
        self.0.lock().contains_key(&stream)
    }

    /// Returns all calls, the latest first.
    pub(crate) fn latest_first(&self) -> Vec<CallContext> {
        self.0.lock().values().rev().map(|call| (**call).clone()).collect()
    }

    /// Notes a client's call, for as long as the entry lives. A call without a way back to its client has no stream,
    /// and is noted all the same: a question may be about it.
    fn enter(&self, request: &Request) -> Option<CallInWork> {
        let context = &request.context;
        if request.kind == RequestKind::Notify || context.session.is_none() {
            return None;
        }
        let stream = match context.outbox.stream() {
            StreamId::STANDALONE => StreamId::fresh(),
            stream => stream,
        };
        self.0.lock().insert(stream, context.clone());
        Some(CallInWork { calls: self.clone(), stream })
    }
}

impl fmt::Debug for CallsInWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallsInWork").field(&self.0.lock().len()).finish()
    }
}

/// A guard that keeps a call noted.
#[derive(Debug)]
pub(crate) struct CallInWork {
    calls: CallsInWork,
    stream: StreamId,
}

impl Drop for CallInWork {
    fn drop(&mut self) {
        let ended = self.calls.0.lock().remove(&self.stream);
        // Dropped without the lock: the way back to a client may end with it.
        drop(ended);
    }
}

/// Makes [`CallsInWorkService`] services.
#[derive(Debug, Clone)]
pub(crate) struct CallsInWorkLayer(CallsInWork);

impl<S> Layer<S> for CallsInWorkLayer {
    type Service = CallsInWorkService<S>;

    fn layer(&self, inner: S) -> CallsInWorkService<S> {
        CallsInWorkService { inner, calls: self.0.clone() }
    }
}

/// A service that notes the calls that a server has in work.
///
/// Sits directly in front of the service that carries calls to the server. Reads `context.session` and
/// `context.outbox`: a call without a session is no client's. Costs a lock at the beginning and at the end of a call.
#[derive(Debug, Clone)]
pub(crate) struct CallsInWorkService<S> {
    inner: S,
    calls: CallsInWork,
}

impl<S: RpcService> Service<Request> for CallsInWorkService<S> {
    type Response = Response;
    type Error = Error;
    type Future = CallsInWorkFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let entry = self.calls.enter(&request);
        CallsInWorkFuture { inner: self.inner.call(request), entry }
    }
}

pin_project! {
    /// The future of [`CallsInWorkService`].
    #[derive(Debug)]
    pub(crate) struct CallsInWorkFuture<F> {
        #[pin]
        inner: F,
        // The entry ends with the future, however that ends.
        entry: Option<CallInWork>,
    }
}

impl<F: Future> Future for CallsInWorkFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let outcome = std::task::ready!(this.inner.poll(cx));
        this.entry.take();
        Poll::Ready(outcome)
    }
}
