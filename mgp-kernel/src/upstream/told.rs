//! Who is told what servers say to nobody in particular.

use std::sync::Arc;

use mgp_types::mgp::ServerId;
use mgp_types::{Request, Session};

/// A list of a server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Tools,
    Prompts,
    Resources,
}

/// Tells the clients of the kernel what its servers say beside their calls. None of it may wait: a client that reads
/// slowly must not hold up a server.
pub(crate) trait Told: Send + Sync + 'static {
    /// A server can be asked from now on, for the first time or again.
    fn connected(&self, server: &ServerId) {
        tracing::debug!(%server, "a server is connected");
    }

    /// A notification that belongs to no call and is none of the others, like the status of a task.
    fn said(&self, server: &ServerId, message: Request) {
        tracing::debug!(%server, method = %message.method, "a notification is for nobody");
    }

    /// A log message that belongs to no call, for the sessions that want messages of its level.
    fn log(&self, server: &ServerId, message: Request) {
        tracing::debug!(%server, method = %message.method, "a log message is for nobody");
    }

    /// What the kernel lists has changed.
    fn changed(&self, server: &ServerId, what: What) {
        tracing::debug!(%server, ?what, "a list changed");
    }

    /// A resource has changed.
    fn updated(&self, server: &ServerId, uri: &str) {
        tracing::debug!(%server, uri, "a resource changed");
    }

    /// The one client that is connected; `None` if there are more or none.
    fn only_client(&self) -> Option<Arc<Session>> {
        None
    }
}
