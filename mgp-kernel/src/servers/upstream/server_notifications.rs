//! Who is told what servers say to nobody in particular.

use std::sync::Arc;

use mgp_types::{Request, Session};

use super::connection_key::ConnectionKey;

/// A list of a server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
}

/// Tells the clients of the kernel what its servers say beside their calls. None of it may wait: a client that reads
/// slowly must not hold up a server.
pub(crate) trait ServerNotifications: Send + Sync + 'static {
    /// A server can be asked from now on. It knows nothing of what it was asked before if the connection is `new`, and not
    /// one that was there and has been made again.
    fn connected(&self, line: &ConnectionKey, is_new: bool) {
        tracing::debug!(server = %line.server, is_new, "a server is connected");
    }

    /// A connection has ended for good.
    fn ended(&self, line: &ConnectionKey) {
        tracing::debug!(server = %line.server, "a connection has ended");
    }

    /// How a task does, for the sessions whose task it is.
    fn task(&self, from: &ConnectionKey, status: Request) {
        tracing::debug!(server = %from.server, method = %status.method, "the status of a task is for nobody");
    }

    /// A notification for this session alone.
    fn one(&self, session: &Arc<Session>, message: Request) {
        tracing::debug!(?session, method = %message.method, "a session is not told");
    }

    /// A log message that belongs to no call, for the sessions that want messages of its level.
    fn log(&self, from: &ConnectionKey, message: Request) {
        tracing::debug!(server = %from.server, method = %message.method, "a log message is for nobody");
    }

    /// What the kernel lists has changed.
    fn changed(&self, line: &ConnectionKey, what: ListKind) {
        tracing::debug!(server = %line.server, ?what, "a list changed");
    }

    /// A resource has changed.
    fn updated(&self, from: &ConnectionKey, uri: &str) {
        tracing::debug!(server = %from.server, uri, "a resource changed");
    }

    /// Says whether a client wants to be told of a resource or a task on this connection.
    fn is_watched(&self, line: &ConnectionKey) -> bool {
        tracing::debug!(server = %line.server, "nobody wants to be told");
        false
    }

    /// Lets go of what sessions wanted that are gone.
    fn forget_gone(&self) {}

    /// The one client that the server can have a question for; `None` if there are more or none.
    fn only_client(&self, from: &ConnectionKey) -> Option<Arc<Session>> {
        tracing::debug!(server = %from.server, "there is no client to ask");
        None
    }
}
