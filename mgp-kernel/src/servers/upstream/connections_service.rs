//! The service of a server, which sends each request to the connection of its sender.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Error, Request, Response, code};
use tower_service::Service;

use super::connections::{ConnectionRoute, UpstreamConnections};
use super::first_start::WaitingCall;

/// The service of a server: it sends each call to the connection of the agent or client that makes it. It is always ready:
/// requests that have to wait do so inside of a call.
#[derive(Clone)]
pub(crate) struct UpstreamService {
    pub(super) connections: Arc<UpstreamConnections>,
    #[cfg(test)]
    pub(super) fake: Option<crate::call::erased::ErasedService>,
}

impl Service<Request> for UpstreamService {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        #[cfg(test)]
        if let Some(fake) = &mut self.fake {
            return fake.call(request);
        }
        match self.connections.route(&request) {
            Ok(ConnectionRoute::To(mut service)) => service.call(request),
            Ok(ConnectionRoute::Refusing(mut service)) => service.call(request),
            Ok(ConnectionRoute::After(start)) => {
                let connections = Arc::clone(&self.connections);
                Box::pin(async move {
                    start.awaited_by(&WaitingCall::of(&request)).await;
                    let own = connections.connection_for(&request)?;
                    own.service().call(request).await
                })
            }
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

/// The service behind the access gate for agents that may use nothing of the server; the gate refuses them before they
/// reach it.
#[derive(Clone)]
pub(super) struct NoConnection;

impl Service<Request> for NoConnection {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        std::future::ready(Err(Error::new(code::ACCESS_DENIED, "no access to this server")))
    }
}
