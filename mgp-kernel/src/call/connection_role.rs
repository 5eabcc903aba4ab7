//! Connections about which more is known than who is at the other end.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Error, Request, Response, RpcService};
use tower_service::Service;

use crate::operator::proof::OperatorConnection;

/// What is known about a connection beside its principal.
#[derive(Debug, Clone)]
pub(crate) enum ConnectionRole {
    Nothing,
    /// An operator's, which may have to prove that a person is there.
    Operator(Arc<OperatorConnection>),
    /// A client's that may have been started by another client: nobody is taken for the human in front of it.
    Unattended,
}

/// Writes what is known about a connection into each of its requests. Lies in front of everything else, waits for nothing
/// and allocates for operators only.
#[derive(Clone)]
pub(crate) struct ConnectionRoleService<S> {
    inner: S,
    mark: ConnectionRole,
}

impl<S> ConnectionRoleService<S> {
    pub(crate) const fn new(inner: S, mark: ConnectionRole) -> Self {
        Self { inner, mark }
    }
}

impl<S: RpcService> Service<Request> for ConnectionRoleService<S> {
    type Response = Response;
    type Error = Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        match &self.mark {
            ConnectionRole::Nothing => {}
            ConnectionRole::Operator(connection) => request.extensions.insert_shared(Arc::clone(connection)),
            ConnectionRole::Unattended => request.context.unattended = true,
        }
        self.inner.call(request)
    }
}
