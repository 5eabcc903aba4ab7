//! The service trait of MGP, and a boxed service.

use std::future::poll_fn;
use std::task::{Context, Poll};

use tower_service::Service;

use crate::{BoxFuture, Error, Request, Response};

/// A service that answers requests: the one trait that all of MGP flows through.
///
/// The trait is an alias, implemented for every `tower::Service` of the right shape. A server is such a service, the
/// connection to a server is one, and a layer turns one into another, so the same layer serves clients, servers and
/// gateways.
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

/// Calls `service` once it has the capacity.
///
/// # Errors
/// The error of `service`.
pub async fn call_once<S>(mut service: S, request: Request) -> Result<Response, Error>
where
    S: Service<Request, Response = Response, Error = Error>,
{
    poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(request).await
}

/// A service behind a pointer, for fields and signatures that should not name the type of a stack of layers.
///
/// Each call costs an allocation more, and so does a clone. A struct without the box needs a type parameter.
///
/// ```
/// use mgp_types::{BoxedService, RpcService};
///
/// struct Gateway {
///     servers: Vec<BoxedService>,
/// }
///
/// impl Gateway {
///     fn add(&mut self, server: impl RpcService + Sync) {
///         self.servers.push(BoxedService::new(server));
///     }
/// }
/// # let mut gateway = Gateway { servers: Vec::new() };
/// # fn shared<T: Send + Sync>(_: &T) {}
/// # shared(&gateway);
/// # fn add(gateway: &mut Gateway, server: BoxedService) { gateway.add(server) }
/// ```
pub struct BoxedService(Box<dyn Boxable>);

impl BoxedService {
    /// Boxes `service`.
    pub fn new(service: impl RpcService + Sync) -> Self {
        Self(Box::new(service))
    }
}

/// [`RpcService`] in the form of a trait object.
trait Boxable: Send + Sync {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>>;
    fn call(&mut self, request: Request) -> BoxFuture<'static, Result<Response, Error>>;
    fn clone_boxed(&self) -> Box<dyn Boxable>;
}

impl<S: RpcService + Sync> Boxable for S {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Service::poll_ready(self, cx)
    }

    fn call(&mut self, request: Request) -> BoxFuture<'static, Result<Response, Error>> {
        Box::pin(Service::call(self, request))
    }

    fn clone_boxed(&self) -> Box<dyn Boxable> {
        Box::new(self.clone())
    }
}

impl Service<Request> for BoxedService {
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

impl Clone for BoxedService {
    fn clone(&self) -> Self {
        Self(self.0.clone_boxed())
    }
}

crate::partial_debug!(BoxedService);
