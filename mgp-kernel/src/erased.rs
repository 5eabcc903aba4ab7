//! Services whose type is forgotten, at the two seams of the kernel.

use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use tower_service::Service;

/// A service whose type is forgotten. It costs a box for each call, so there is one at the front and one per server.
pub(crate) struct Erased(Box<dyn Forgotten>);

impl Erased {
    pub(crate) fn new<S: RpcService<Future: 'static> + Sync>(service: S) -> Self {
        Self(Box::new(service))
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
