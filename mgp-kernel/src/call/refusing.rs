//! The service of a way that leads nowhere.

use std::future::{Ready, ready};
use std::task::{Context, Poll};

use mgp_types::{Error, Request, Response};
use tower_service::Service;

/// A service that answers every request with this error.
#[derive(Debug, Clone)]
pub(crate) struct RefusingService(pub(crate) Error);

impl Service<Request> for RefusingService {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        ready(Err(self.0.clone()))
    }
}
