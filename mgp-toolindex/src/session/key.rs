use std::sync::Arc;

use mgp_types::mgp::AgentId;

/// Whose tools: a connection, and the agent on it if there is more than one, or one that is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionKey {
    session: Arc<str>,
    agent: Option<AgentId>,
}

impl SessionKey {
    /// The agent `agent` in the session that the connection calls `session`.
    pub fn new(session: impl Into<Arc<str>>, agent: Option<AgentId>) -> Self {
        Self { session: session.into(), agent }
    }

    /// The session's name.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The agent.
    pub const fn agent(&self) -> Option<&AgentId> {
        self.agent.as_ref()
    }
}
