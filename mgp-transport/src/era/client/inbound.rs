//! The gate in front of the service that answers the server: it writes the session.

use mgp_types::{Flow, Gate, Gated, Method, Request, RequestKind, Response};

use super::Agreement;

/// A service behind an [`InboundGate`].
pub type ClientInbound<S> = Gated<InboundGate, S>;

/// Puts the session on the server's requests to the client, and answers `ping`.
///
/// The gate sits right behind the connection, in front of all others that answer the server. The gate writes
/// `context.session`; during the handshake the slot stays empty, so that no request has to be queued: a layer that
/// needs the session refuses, others go on. The gate never refuses and allocates nothing.
#[derive(Debug, Clone)]
pub struct InboundGate(Agreement);

impl InboundGate {
    /// Creates the gate that puts the session of `agreement` on requests.
    pub fn new(agreement: Agreement) -> Self {
        Self(agreement)
    }
}

impl Gate for InboundGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        if request.kind == RequestKind::Call && request.method == Method::PING {
            return Flow::answer(Response::empty());
        }
        request.context.session = self.0.session();
        Flow::Pass(())
    }
}
