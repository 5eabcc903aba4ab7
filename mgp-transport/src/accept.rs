//! The factory of the services that answer connections.

use mgp_types::{Outbox, RpcService};

/// A factory of services, one for each connection.
///
/// A transport calls it once per connection or session. The outbox leads to the peer for as long as the connection
/// lasts, and is closed where the peer cannot be reached unasked. Any closure from an [`Outbox`] to an [`RpcService`]
/// is such a factory.
pub trait Accept: Clone + Send + Sync + 'static {
    /// The service that answers one connection.
    type Service: RpcService;

    /// Returns the service for a new connection.
    fn accept(&self, outbox: Outbox) -> Self::Service;

    /// Takes a line of the peer that is no message, such as a greeting, and returns whether it was taken. The peer gets
    /// an error for a line that is not taken, which is what a client deserves: the default. A server that writes such
    /// lines may take the error for input, and answer it with the next one.
    fn take_stray(&self, line: &[u8]) -> bool {
        let _ = line;
        false
    }
}

impl<F: Fn(Outbox) -> S + Clone + Send + Sync + 'static, S: RpcService> Accept for F {
    type Service = S;

    fn accept(&self, outbox: Outbox) -> S {
        self(outbox)
    }
}
