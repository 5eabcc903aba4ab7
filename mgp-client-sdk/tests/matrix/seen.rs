use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Error, Kind, Request, Response, RpcService};
use parking_lot::Mutex;
use tower_layer::Layer;
use tower_service::Service;

/// A layer that notes which methods pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    /// What has passed so far, and is forgotten.
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
        assert!(request.kind == Kind::Notify || !request.method.is_notification());
        self.seen.0.lock().push(request.method.as_str().to_owned());
        self.inner.call(request)
    }
}

/// The outermost layer of all clients here: over any transport they have one type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Erase;

impl<S: RpcService<Future: 'static> + Sync> Layer<S> for Erase {
    type Service = Erased;

    fn layer(&self, inner: S) -> Erased {
        Erased(Box::new(inner))
    }
}

/// A stack whose type is forgotten.
pub(crate) struct Erased(Box<dyn Forgotten>);

trait Forgotten: Send + Sync {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>>;
    fn call(&mut self, request: Request) -> BoxFuture<'static, Result<Response, Error>>;
    fn boxed(&self) -> Box<dyn Forgotten>;
}

impl<S: RpcService<Future: 'static> + Sync> Forgotten for S {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Service::poll_ready(self, cx)
    }

    fn call(&mut self, request: Request) -> BoxFuture<'static, Result<Response, Error>> {
        Box::pin(Service::call(self, request))
    }

    fn boxed(&self) -> Box<dyn Forgotten> {
        Box::new(self.clone())
    }
}

impl Service<Request> for Erased {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.0.call(request)
    }
}

impl Clone for Erased {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}
