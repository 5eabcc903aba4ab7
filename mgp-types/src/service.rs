//! The service trait of MGP, and a boxed service.

use std::future::{poll_fn, ready};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

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

/// A service whose type is erased, for fields and signatures that should not name the type of a stack of layers.
///
/// A clone is the same service and costs one reference count. Each call costs a box and a clone of the service within.
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
#[derive(Clone)]
pub struct BoxedService(Arc<dyn DynService>);

impl BoxedService {
    /// Erases the type of `service`.
    pub fn new(service: impl RpcService + Sync) -> Self {
        Self(Arc::new(service))
    }
}

/// [`RpcService`] in the form of a trait object.
trait DynService: Send + Sync {
    fn call(&self, request: Request) -> BoxFuture<'static, Result<Response, Error>>;
}

impl<S: RpcService + Sync> DynService for S {
    fn call(&self, request: Request) -> BoxFuture<'static, Result<Response, Error>> {
        let mut service = self.clone();
        // Nearly all services are ready. Then the call is made at once, which keeps calls in their order.
        match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Box::pin(Service::call(&mut service, request)),
            Poll::Ready(Err(error)) => Box::pin(ready(Err(error))),
            Poll::Pending => Box::pin(call_once(service, request)),
        }
    }
}

impl Service<Request> for BoxedService {
    type Future = BoxFuture<'static, Result<Response, Error>>;

    // Returns ready at once: a service within that has to wait does so inside of the call.
    crate::always_ready!();

    fn call(&mut self, request: Request) -> Self::Future {
        self.0.call(request)
    }
}

crate::partial_debug!(BoxedService);

#[cfg(test)]
mod tests {
    use std::future::Ready;

    use super::*;
    use crate::{Method, Object};

    /// Is ready when it is asked for the second time.
    #[derive(Clone)]
    struct Slow {
        asked: bool,
    }

    impl Service<Request> for Slow {
        type Response = Response;
        type Error = Error;
        type Future = Ready<Result<Response, Error>>;

        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
            if std::mem::replace(&mut self.asked, true) {
                return Poll::Ready(Ok(()));
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }

        fn call(&mut self, _: Request) -> Self::Future {
            ready(if self.asked { Ok(Response::empty()) } else { Err(Error::internal("too early")) })
        }
    }

    #[test]
    fn a_service_is_called_when_it_is_ready() {
        for asked in [false, true] {
            let mut erased = BoxedService::new(Slow { asked });
            let request = Request::call(Method::PING, Object::new());
            let mut answer = Service::call(&mut erased, request);
            let mut cx = Context::from_waker(Waker::noop());
            let answered = std::iter::repeat_with(|| answer.as_mut().poll(&mut cx)).find(Poll::is_ready);
            assert!(matches!(answered, Some(Poll::Ready(Ok(_)))), "asked before: {asked}");
        }
    }
}
