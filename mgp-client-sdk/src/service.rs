//! The client as a service, for gateways and supervisors.

use std::task::{Context, Poll};

use mgp_types::{Error, Request, Response, RpcService};
use tower_service::Service;

use crate::Client;

/// A client is the service that carries requests to its server. Gateways pass requests on with it, and the
/// [gate](crate::Supervised::gate) of a supervised server leads to it.
///
/// Requests go through all layers, as typed calls do, but have no time limit of their own.
impl<S: RpcService> Service<Request> for Client<S> {
    type Response = Response;
    type Error = Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.stack.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> S::Future {
        self.stack.call(request)
    }
}
