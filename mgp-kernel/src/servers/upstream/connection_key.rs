//! The identity of a connection to a server.

use std::fmt;

use mgp_security::definition::pinned_for;
use mgp_types::Principal;
use mgp_types::mgp::ServerId;

/// The key of a connection to a server, whichever incarnation it is in: that of the shared connection, or of an agent's
/// own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ConnectionKey {
    pub(crate) server: ServerId,
    /// The agent whose connection it is, if agents have their own.
    pub(crate) agent: Option<Principal>,
}

impl ConnectionKey {
    /// Returns the key of the connection that all agents share.
    pub(crate) fn shared(server: ServerId) -> Self {
        Self { server, agent: None }
    }

    /// Returns the key of the connection of `agent`.
    pub(crate) fn of_agent(server: ServerId, agent: &Principal) -> Self {
        Self { server, agent: Some(agent.clone()) }
    }

    /// Returns the id under which the definitions on this connection are pinned.
    pub(crate) fn holder(&self) -> ServerId {
        match &self.agent {
            None => self.server.clone(),
            Some(agent) => pinned_for(&self.server, &agent.access_id()),
        }
    }

    /// Returns whether messages on the connection concern this agent.
    pub(crate) fn is_for(&self, agent: &Principal) -> bool {
        self.agent.as_ref().is_none_or(|own| own == agent)
    }
}

impl fmt::Display for ConnectionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.server.fmt(f)
    }
}

#[cfg(test)]
impl From<&str> for ConnectionKey {
    fn from(server: &str) -> Self {
        Self::shared(server.into())
    }
}
