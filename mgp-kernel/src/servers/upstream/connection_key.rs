use std::fmt;

use mgp_security::definition::pinned_for;
use mgp_types::Principal;
use mgp_types::mgp::ServerId;

/// A connection to a server, whichever incarnation it is in: the one that is everybody's, or an agent's own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ConnectionKey {
    pub(crate) server: ServerId,
    /// Whose it is, if agents have their own.
    pub(crate) agent: Option<Principal>,
}

impl ConnectionKey {
    /// The one that is everybody's.
    pub(crate) fn shared(server: ServerId) -> Self {
        Self { server, agent: None }
    }

    /// That of `agent`.
    pub(crate) fn of_agent(server: ServerId, agent: &Principal) -> Self {
        Self { server, agent: Some(agent.clone()) }
    }

    /// The id under which the definitions of what is listed on it are pinned.
    pub(crate) fn holder(&self) -> ServerId {
        match &self.agent {
            None => self.server.clone(),
            Some(agent) => pinned_for(&self.server, &agent.access_id()),
        }
    }

    /// Whether what is said on it concerns this agent.
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
