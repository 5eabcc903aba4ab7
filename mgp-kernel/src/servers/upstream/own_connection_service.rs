//! The service in front of the connections of agents and clients, which sends each request to the one of its sender.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Error, Request, Response, code};
use tower_service::Service;

use super::first_start::WaitingCall;
use super::own_connections::{ConnectionRoute, OwnConnections};

/// A service that sends each call to the connection of the agent or client that makes it.
#[derive(Clone)]
pub(super) struct OwnConnectionService(pub(super) Arc<OwnConnections>);

impl Service<Request> for OwnConnectionService {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Some(agent) = &request.context.principal else {
            return Box::pin(std::future::ready(Err(Error::internal("nobody calls"))));
        };
        if !self.0.reaches(agent) && self.0.admits(agent) {
            return self.0.refusing().call(request);
        }
        match self.0.route(agent, &request) {
            Ok(ConnectionRoute::To(instance)) => instance.service().call(request),
            Ok(ConnectionRoute::After(start)) => {
                let connections = Arc::clone(&self.0);
                Box::pin(async move {
                    start.awaited_by(&WaitingCall::of(&request)).await;
                    let caller =
                        request.context.principal.as_ref().map(|agent| connections.connection(agent));
                    let own = caller.ok_or_else(|| Error::internal("nobody calls"))??;
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
