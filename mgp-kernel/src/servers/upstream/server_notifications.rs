//! The interface by which servers notify clients of what belongs to no call.

use std::sync::Arc;

use mgp_types::{Object, Principal, Request, Session, Severity};

use super::connection_key::ConnectionKey;
use super::stale_lists::ListKind;

/// A receiver of the servers' notifications beside their calls, for the clients of the kernel. No method may wait: a
/// client that reads slowly must not hold up a server.
pub(crate) trait ServerNotifications: Send + Sync {
    /// Notes that a server is connected, for the first time if this connection to it `is_new`.
    fn connected(self: Arc<Self>, line: &ConnectionKey, is_new: bool);

    /// Returns the level of logging to ask a server of these capabilities for, on a connection that was just made; `None`
    /// if there is no need to ask.
    fn log_level(&self, line: &ConnectionKey, capabilities: &Object) -> Option<Severity>;

    /// Notes that a connection has ended for good.
    fn ended(&self, line: &ConnectionKey);

    /// Passes the status of a task to the sessions of its owner.
    fn task(&self, from: &ConnectionKey, owner: &Principal, status: &Request);

    /// Passes a notification to this session alone.
    fn one(&self, session: &Arc<Session>, message: Request);

    /// Passes a log message that belongs to no call to the sessions that want messages of its level.
    fn log(&self, from: &ConnectionKey, message: &Request);

    /// Notifies the clients that reach the connection of a change of one of its lists.
    fn changed(&self, line: &ConnectionKey, what: ListKind);

    /// Notifies the clients of a changed resource.
    fn updated(&self, from: &ConnectionKey, uri: &str);

    /// Returns whether a client wants to know of a resource or a task on this connection.
    fn watches_on(&self, line: &ConnectionKey) -> bool;

    /// Drops the subscriptions of sessions that are gone.
    fn forget_gone(&self);

    /// Returns the session of the only client that a message can be meant for. A client that has not begun yet counts as
    /// well, although it cannot be asked.
    fn only_client(&self, from: &ConnectionKey) -> Option<Arc<Session>>;
}
