//! Facts about a connection beside its principal, such as that its client is an operator's.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{ClientFolders, ClientSession, Error, Request, Response, RpcService};
use tower_service::Service;

use crate::admin::is_for_agents;
use crate::policies::Policies;
use crate::proof::OperatorConnection;

/// The role of a connection, beside its principal.
#[derive(Clone)]
pub(crate) enum ConnectionRole {
    Nothing,
    /// The connection of an operator, who may have to give the operator passphrase.
    Operator(Arc<OperatorConnection>, Arc<Policies>),
    /// The connection of a client that another client may have started: nobody is taken for the human in front of it.
    Unattended,
}

/// The client at a connection: its session, if it has one, and the folders in which it works.
#[derive(Debug, Clone)]
pub(crate) struct ConnectedClient {
    pub(crate) session: Option<Arc<ClientSession>>,
    pub(crate) folders: Arc<ClientFolders>,
}

/// A service that writes the role of its connection, and its client, into each request. It lies in front of everything
/// else, waits for nothing and allocates for operators only.
///
/// Sends requests that agents make too, such as calls, through `as_client` while the operator has not given the passphrase:
/// the rules for clients of the user apply there. Later ones on the connection follow, even if it is given meanwhile.
#[derive(Clone)]
pub(crate) struct ConnectionRoleService<S> {
    pub(crate) inner: S,
    pub(crate) as_client: Option<S>,
    pub(crate) mark: ConnectionRole,
    pub(crate) client: ConnectedClient,
}

impl<S: RpcService> Service<Request> for ConnectionRoleService<S> {
    type Response = Response;
    type Error = Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        std::task::ready!(self.inner.poll_ready(cx))?;
        self.as_client.as_mut().map_or(Poll::Ready(Ok(())), |as_client| as_client.poll_ready(cx))
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        request.context.client.clone_from(&self.client.session);
        request.context.folders = Some(Arc::clone(&self.client.folders));
        match &self.mark {
            ConnectionRole::Nothing => {}
            ConnectionRole::Operator(connection, policies) => {
                request.extensions.insert_shared(Arc::clone(connection));
                if let Some(as_client) = &mut self.as_client
                    && is_for_agents(&request)
                    && policies.proofs.is_client(connection)
                {
                    request.context.unattended = true;
                    return as_client.call(request);
                }
            }
            ConnectionRole::Unattended => {
                request.context.unattended =
                    !self.client.session.as_ref().is_some_and(|session| session.is_trusted());
            }
        }
        self.inner.call(request)
    }
}
