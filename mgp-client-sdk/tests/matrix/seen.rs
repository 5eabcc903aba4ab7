//! A layer that notes the methods of the requests that pass.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{BoxedService, Error, Request, RequestKind, Response, RpcService};
use parking_lot::Mutex;
use tower_layer::Layer;
use tower_service::Service;

/// A layer that notes which methods pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    /// Returns the methods that have passed so far, and forgets them.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl<S> Layer<S> for Seen {
    type Service = Watched<S>;

    fn layer(&self, inner: S) -> Watched<S> {
        Watched { inner, seen: self.clone() }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Watched<S> {
    inner: S,
    seen: Seen,
}

impl<S: RpcService> Service<Request> for Watched<S> {
    type Response = Response;
    type Error = Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> S::Future {
        assert!(request.kind == RequestKind::Notify || !request.method.is_notification());
        self.seen.0.lock().push(request.method.as_str().to_owned());
        self.inner.call(request)
    }
}

/// The outermost layer of all clients here: over any transport they have one type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Erase;

impl<S: RpcService<Future: 'static> + Sync> Layer<S> for Erase {
    type Service = BoxedService;

    fn layer(&self, inner: S) -> BoxedService {
        BoxedService::new(inner)
    }
}
