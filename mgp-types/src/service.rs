use tower_service::Service;

use crate::{Error, Request, Response};

/// A service that answers requests: the one trait all of MGP flows through.
///
/// It is an alias, implemented for every `tower::Service` of the right shape. A server is one, the
/// connection to a server is one, and a layer turns one into another, so the same layer serves clients,
/// servers and gateways.
///
/// `poll_ready` is for capacity, never for policy: a gate that is shut answers in `call`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not answer MGP requests",
    label = "expected a `tower_service::Service<Request, Response = Response, Error = mgp_types::Error>`",
    note = "the service must also be `Clone + Send + 'static` and its future `Send`"
)]
pub trait RpcService:
    Service<Request, Response = Response, Error = Error, Future: Send> + Clone + Send + 'static
{
}

impl<S> RpcService for S where
    S: Service<Request, Response = Response, Error = Error, Future: Send> + Clone + Send + 'static
{
}
