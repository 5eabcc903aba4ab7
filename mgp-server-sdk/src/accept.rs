//! The factory of a server's services, one per connection.

use std::sync::Arc;

use mgp_transport::Accept;
use mgp_transport::era::{ServerEra, ServerEraGate, ServerIdentity};
use mgp_transport::mrtr::Mrtr;
use mgp_types::{Gate as _, Outbox, RpcService};

use crate::Router;

/// The innermost services of a server, around which its layers lie: the router, and the layer that carries questions to
/// clients.
pub type ServerCore = Mrtr<Router>;

/// A factory of services, one per connection: the server behind an era of its own. Any transport takes it.
#[derive(Clone)]
pub struct ServerAccept<S> {
    pub(crate) service: S,
    pub(crate) identity: Arc<ServerIdentity>,
}

impl<S> ServerAccept<S> {
    /// Returns the description of the server that every client gets.
    pub fn identity(&self) -> &Arc<ServerIdentity> {
        &self.identity
    }
}

impl<S: RpcService + Sync> Accept for ServerAccept<S> {
    type Service = ServerEra<S>;

    fn accept(&self, outbox: Outbox) -> ServerEra<S> {
        ServerEraGate::new(self.identity.clone(), outbox).layer(self.service.clone())
    }
}

mgp_types::partial_debug!([S] ServerAccept<S>, self => identity: self.identity);
