//! Services at the seams of the kernel: those with their type erased, and those behind which there is nothing.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use tower_service::Service;

/// A service whose type is erased. A clone is the same service and costs one reference count. Each call costs a box and
/// a clone of the inner service, so there is only one of these at the front, one per server and one per connection to a
/// server.
#[derive(Clone)]
pub(crate) struct ErasedService(Arc<dyn DynService>);

impl ErasedService {
    pub(crate) fn new<S: RpcService<Future: 'static> + Sync>(service: S) -> Self {
        Self(Arc::new(service))
    }
}

trait DynService: Send + Sync {
    fn call(&self, request: Request) -> BoxFuture<'static, Result<Response, Error>>;
}

impl<S: RpcService<Future: 'static> + Sync> DynService for S {
    fn call(&self, request: Request) -> BoxFuture<'static, Result<Response, Error>> {
        let mut service = self.clone();
        // Nearly all services are ready. Then the call is made at once, which keeps calls in their order.
        match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Box::pin(Service::call(&mut service, request)),
            Poll::Ready(Err(error)) => Box::pin(ready(Err(error))),
            Poll::Pending => Box::pin(mgp_types::call_once(service, request)),
        }
    }
}

impl Service<Request> for ErasedService {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    /// Returns ready at once: an inner service that has to wait does so inside of the call.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.0.call(request)
    }
}

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

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};

    use mgp_types::{Method, Object};

    use super::*;

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

    #[tokio::test]
    async fn a_service_is_called_when_it_is_ready() {
        for asked in [false, true] {
            let erased = ErasedService::new(Slow { asked });
            let request = Request::call(Method::PING, Object::new());
            assert!(erased.call(request).await.is_ok());
        }
    }
}
