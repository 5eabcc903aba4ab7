//! The connection to a supervised server, and the request that asks it to stop.

use mgp_types::mgp::{Shutdown, ShutdownAnswer, method};
use mgp_types::{BoxFuture, Error, Request, RpcService, call_once};

use crate::ServerEnd;

/// The way to connect to one server: starting its process or opening its connection, and the handshake.
///
/// Any function that returns a future of a [`ConnectedServer`] implements this trait. The future may be dropped at any time,
/// and has to undo its work then.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not connect to a server",
    label = "expected a function that returns a future of `Result<Connected<_>, Error>`",
    note = "the service must be `Clone + Send + Sync + 'static` and the future `Send`"
)]
pub trait Connect: Send + Sync + 'static {
    /// The service that leads to the server: an `RpcService`, or a typed client.
    type Service: Clone + Send + Sync + 'static;

    /// Connects once.
    fn connect(&self) -> impl Future<Output = Result<ConnectedServer<Self::Service>, Error>> + Send;
}

impl<M, F, T> Connect for M
where
    M: Fn() -> F + Send + Sync + 'static,
    F: Future<Output = Result<ConnectedServer<T>, Error>> + Send,
    T: Clone + Send + Sync + 'static,
{
    type Service = T;

    fn connect(&self) -> impl Future<Output = Result<ConnectedServer<T>, Error>> + Send {
        self()
    }
}

/// A server with an open connection. Dropping it ends the connection, and the process behind it, at once.
///
/// The owner of the connection belongs into the two futures, not into the service alone: callers may keep clones of the
/// service.
pub struct ConnectedServer<T> {
    pub(super) service: T,
    pub(super) ended: BoxFuture<'static, ServerEnd>,
    pub(super) close: Close,
}

pub(super) type Close = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

impl<T> ConnectedServer<T> {
    /// Creates a connection that `service` leads through. `ended` resolves when no answer will come any more: the
    /// connection is closed, the process is gone, or the server has forgotten the session; the last counts as an end in
    /// error, because a new connection is needed.
    pub fn new(service: T, ended: impl Future<Output = ServerEnd> + Send + 'static) -> Self {
        Self { service, ended: Box::pin(ended), close: Box::new(|| Box::pin(std::future::ready(()))) }
    }

    /// Sets a way to end gracefully, after calls were drained. The future of `close` is dropped if it takes too long.
    #[must_use]
    pub fn with_close<F>(mut self, close: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.close = Box::new(|| Box::pin(close()));
        self
    }
}

mgp_types::partial_debug!([T] ConnectedServer<T>);

/// Asks a server to finish its calls and stop, by `mgp/lifecycle/shutdown` (§11.4).
///
/// # Errors
/// The server does not know the method, refuses, or is gone.
///
/// # Cancel safety
/// Dropping the future takes the request back; the server may stop all the same.
pub async fn ask_to_stop<S: RpcService>(service: S, shutdown: Shutdown) -> Result<ShutdownAnswer, Error> {
    let request = Request::with_body(method::LIFECYCLE_SHUTDOWN, &shutdown)?;
    call_once(service, request).await?.body()
}

#[cfg(test)]
mod tests {
    use mgp_types::mgp::ShutdownReason;
    use mgp_types::{RawJson, Response};

    use super::*;
    use crate::doubles::Upstream;

    // covers: MGP-11.4-01, MGP-11.4-03..04, MGP-11.4-08..12
    #[tokio::test]
    async fn the_server_is_asked_with_reason_and_time() {
        let words =
            ["operator_request", "configuration_change", "resource_limit", "idle_timeout", "kernel_shutdown"];
        assert_eq!(ShutdownReason::ALL.len(), words.len());
        for (&reason, word) in ShutdownReason::ALL.iter().zip(words) {
            let answer = r#"{"accepted":true,"pending_requests":2,"estimated_drain_ms":50}"#;
            let service = Upstream::answering(move |_| Ok(Response::new(RawJson::parse(answer).unwrap())));
            let shutdown = Shutdown::new(reason).with_timeout_ms(1500);
            let answer = ask_to_stop(service.clone(), shutdown).await.unwrap();
            assert_eq!(answer, ShutdownAnswer::accepted(2, 50));
            let asked = service.seen().remove(0);
            assert_eq!(asked.method.as_str(), "mgp/lifecycle/shutdown");
            let expected = format!(r#"{{"reason":"{word}","timeout_ms":1500}}"#);
            assert_eq!(asked.params.to_raw().as_bytes(), expected.as_bytes());
        }
    }
}
