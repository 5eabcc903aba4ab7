//! The interface by which servers notify clients of what belongs to no call.

use std::sync::Arc;

use mgp_types::{Object, Request, Session, Severity};

use super::connection_key::ConnectionKey;

/// A kind of list that a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
}

/// A receiver of the servers' notifications beside their calls, for the clients of the kernel. No method may wait: a
/// client that reads slowly must not hold up a server.
pub(crate) trait ServerNotifications: Send + Sync + 'static {
    /// Notes that a server can be called from now on. If the connection `is_new` and was not merely made again, the
    /// server knows nothing of earlier requests.
    fn connected(&self, line: &ConnectionKey, is_new: bool) {
        tracing::debug!(server = %line.server, is_new, "a server is connected");
    }

    /// Returns the log level to ask a server of these capabilities for before its clients' first call; `None` if there is
    /// no need to ask.
    fn log_level(&self, line: &ConnectionKey, capabilities: &Object) -> Option<Severity> {
        tracing::debug!(server = %line.server, ?capabilities, "nobody wants log messages");
        None
    }

    /// Notes that a connection has ended for good.
    fn ended(&self, line: &ConnectionKey) {
        tracing::debug!(server = %line.server, "a connection has ended");
    }

    /// Passes the status of a task to the sessions whose task it is.
    fn task(&self, from: &ConnectionKey, status: Request) {
        tracing::debug!(server = %from.server, method = %status.method, "the status of a task is for nobody");
    }

    /// Passes a notification to this session alone.
    fn one(&self, session: &Arc<Session>, message: Request) {
        tracing::debug!(?session, method = %message.method, "a session is not told");
    }

    /// Passes a log message that belongs to no call to the sessions that want messages of its level.
    fn log(&self, from: &ConnectionKey, message: Request) {
        tracing::debug!(server = %from.server, method = %message.method, "a log message is for nobody");
    }

    /// Reports that a list of the kernel has changed.
    fn changed(&self, line: &ConnectionKey, what: ListKind) {
        tracing::debug!(server = %line.server, ?what, "a list changed");
    }

    /// Reports that a resource has changed.
    fn updated(&self, from: &ConnectionKey, uri: &str) {
        tracing::debug!(server = %from.server, uri, "a resource changed");
    }

    /// Returns whether a client wants to know of a resource or a task on this connection.
    fn is_watched(&self, line: &ConnectionKey) -> bool {
        tracing::debug!(server = %line.server, "nobody wants to be told");
        false
    }

    /// Drops the subscriptions of sessions that are gone.
    fn forget_gone(&self) {}

    /// Returns the only client that the server can have a question for; `None` if there are more or none.
    fn only_client(&self, from: &ConnectionKey) -> Option<Arc<Session>> {
        tracing::debug!(server = %from.server, "there is no client to ask");
        None
    }
}
