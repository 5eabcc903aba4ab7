use std::fmt;
use std::future::Future;

use mgp_types::{BoxFuture, Error};

use crate::Ended;

/// How one server is connected to: starting its process or opening its connection, and the handshake.
///
/// Any function that returns a future of a [`Connected`] is one. The future may be dropped at any time, and has to take
/// back what it began.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not connect to a server",
    label = "expected a function that returns a future of `Result<Connected<_>, Error>`",
    note = "the service must be `Clone + Send + Sync + 'static` and the future `Send`"
)]
pub trait Connect: Send + Sync + 'static {
    /// The way to the server: an `RpcService`, or a typed client.
    type Service: Clone + Send + Sync + 'static;

    /// Connects once.
    fn connect(&self) -> impl Future<Output = Result<Connected<Self::Service>, Error>> + Send;
}

impl<M, F, T> Connect for M
where
    M: Fn() -> F + Send + Sync + 'static,
    F: Future<Output = Result<Connected<T>, Error>> + Send,
    T: Clone + Send + Sync + 'static,
{
    type Service = T;

    fn connect(&self) -> impl Future<Output = Result<Connected<T>, Error>> + Send {
        self()
    }
}

/// A server that is connected to. Dropping it ends the connection, and the process behind it, at once.
///
/// What holds the connection belongs into the two futures, not into the service alone: clones of the service may be kept
/// by whoever called it.
pub struct Connected<T> {
    pub(super) service: T,
    pub(super) ended: BoxFuture<'static, Ended>,
    pub(super) close: Close,
}

pub(super) type Close = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

impl<T> Connected<T> {
    /// A connection that `service` leads through. `ended` is done when no answer will come any more: the connection is
    /// closed, the process is gone, or the server has forgotten the session; that last is an end in error, as somebody has
    /// to connect again.
    pub fn new(service: T, ended: impl Future<Output = Ended> + Send + 'static) -> Self {
        Self { service, ended: Box::pin(ended), close: Box::new(|| Box::pin(std::future::ready(()))) }
    }

    /// With a way to end gracefully, after what was said before. What `close` owns is dropped if it takes too long.
    #[must_use]
    pub fn with_close<F>(mut self, close: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.close = Box::new(|| Box::pin(close()));
        self
    }
}

impl<T> fmt::Debug for Connected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connected").finish_non_exhaustive()
    }
}
