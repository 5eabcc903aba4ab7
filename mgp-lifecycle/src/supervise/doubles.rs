//! What the tests are arranged with: services and servers that do as they are told.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Error, Request, Response};
use tower_service::Service;

/// A service that answers by a function.
#[derive(Clone)]
pub(super) struct Answering(
    Arc<dyn Fn(Request) -> BoxFuture<'static, Result<Response, Error>> + Send + Sync>,
);

impl Answering {
    pub(super) fn new<F>(answer: impl Fn(Request) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Response, Error>> + Send + 'static,
    {
        Self(Arc::new(move |request| Box::pin(answer(request))))
    }
}

impl Service<Request> for Answering {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        (self.0)(request)
    }
}
