//! Who is told what servers say to nobody in particular.

use std::sync::Arc;

use mgp_types::mgp::ServerId;
use mgp_types::{Principal, Request, Session};

/// Whence something comes that a server says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) server: &'a ServerId,
    /// Whose own connection it came on, where agents have their own.
    pub(crate) agent: Option<&'a str>,
}

impl Source<'_> {
    /// Whether it came on a connection that carries calls of this agent.
    pub(crate) fn serves(&self, agent: &Principal) -> bool {
        self.agent.is_none_or(|own| own == agent.as_str())
    }
}

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

    /// How a task does, for the sessions whose task it is.
    fn task(&self, from: Source<'_>, status: Request) {
        tracing::debug!(server = %from.server, method = %status.method, "the status of a task is for nobody");
    }

    /// A notification for this session alone.
    fn one(&self, session: &Arc<Session>, message: Request) {
        tracing::debug!(?session, method = %message.method, "a session is not told");
    }

    /// A log message that belongs to no call, for the sessions that want messages of its level.
    fn log(&self, from: Source<'_>, message: Request) {
        tracing::debug!(server = %from.server, method = %message.method, "a log message is for nobody");
    }

    /// What the kernel lists has changed.
    fn changed(&self, server: &ServerId, what: What) {
        tracing::debug!(%server, ?what, "a list changed");
    }

    /// A resource has changed.
    fn updated(&self, from: Source<'_>, uri: &str) {
        tracing::debug!(server = %from.server, uri, "a resource changed");
    }

    /// The one client that the server can have a question for; `None` if there are more or none.
    fn only_client(&self, from: Source<'_>) -> Option<Arc<Session>> {
        tracing::debug!(server = %from.server, "there is no client to ask");
        None
    }
}
