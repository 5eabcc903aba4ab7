use mgp_types::{Outbox, RpcService};

/// Makes the service that answers one connection.
///
/// A transport calls it once per connection or session. The outbox leads to the peer for as long as the
/// connection lasts and is closed where the peer cannot be reached unasked. Any closure from an [`Outbox`]
/// to an [`RpcService`] will do.
pub trait Accept: Clone + Send + Sync + 'static {
    /// The service that answers one connection.
    type Service: RpcService;

    /// The service for a new connection.
    fn accept(&self, outbox: Outbox) -> Self::Service;
}

impl<F, S> Accept for F
where
    F: Fn(Outbox) -> S + Clone + Send + Sync + 'static,
    S: RpcService,
{
    type Service = S;

    fn accept(&self, outbox: Outbox) -> S {
        self(outbox)
    }
}
