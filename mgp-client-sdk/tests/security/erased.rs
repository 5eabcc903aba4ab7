//! Stacks whose type is forgotten, and places to get hold of one in the middle of a client.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use parking_lot::Mutex;
use tower_layer::Layer;
use tower_service::Service;

/// A stack whose type is forgotten.
pub(crate) struct Erased(Box<dyn Forgotten>);

impl Erased {
    pub(crate) fn new<S: RpcService<Future: 'static> + Sync>(service: S) -> Self {
        Self(Box::new(service))
    }

    /// Sends one request.
    pub(crate) async fn send(&self, request: Request) -> Result<Response, Error> {
        let mut service = self.clone();
        std::future::poll_fn(|cx| Service::poll_ready(&mut service, cx)).await?;
        Service::call(&mut service, request).await
    }
}

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

/// A layer that does nothing but keep what lies further in, to be used beside the client.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<Mutex<Option<Erased>>>);

impl Held {
    pub(crate) fn service(&self) -> Erased {
        self.0.lock().clone().expect("the client is connected")
    }
}

impl<S: RpcService<Future: 'static> + Sync> Layer<S> for Held {
    type Service = Erased;

    fn layer(&self, inner: S) -> Erased {
        let erased = Erased::new(inner);
        *self.0.lock() = Some(erased.clone());
        erased
    }
}
