//! The identity of a connection to a server.

use mgp_security::definition::pinned_for;
use mgp_types::mgp::ServerId;
use mgp_types::{ClientSessionId, Principal, agent_family};

/// The key of a connection to a server, whichever incarnation it is in: that of the shared connection, of an agent's
/// own, or of a client's own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ConnectionKey {
    pub(crate) server: ServerId,
    /// The agent whose connection it is, if agents have their own, with lists and credentials of their own.
    pub(crate) agent: Option<Principal>,
    /// The client whose connection it is, if clients have their own; `None` for the first one, which lists for all.
    pub(crate) client: Option<ClientKey>,
}

/// The client that a connection belongs to: an agent in one client session. Clients of an agent over HTTP without
/// sessions count as one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClientKey {
    pub(crate) agent: Principal,
    pub(crate) session: Option<ClientSessionId>,
}

impl ClientKey {
    pub(crate) fn of(caller: &Principal) -> Self {
        Self { agent: caller.clone(), session: caller.client() }
    }
}

impl ConnectionKey {
    /// Returns the key of the connection that all agents share, or that lists for all.
    pub(crate) fn shared(server: ServerId) -> Self {
        Self { server, agent: None, client: None }
    }

    /// Returns the key of the connection of `agent`.
    pub(crate) fn of_agent(server: ServerId, agent: &Principal) -> Self {
        Self { server, agent: Some(agent.clone()), client: None }
    }

    /// Returns whether the connection is an agent's or a client's own.
    pub(crate) const fn is_own(&self) -> bool {
        self.agent.is_some() || self.client.is_some()
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
        let is_its = |own: &Principal| own == agent || agent_family(agent.as_str()) == Some(own.as_str());
        self.agent.as_ref().is_none_or(is_its)
            && self.client.as_ref().is_none_or(|own| *own == ClientKey::of(agent))
    }
}

mgp_types::write_as!(Display of ConnectionKey, self => "{}", self.server);

#[cfg(test)]
impl From<&str> for ConnectionKey {
    fn from(server: &str) -> Self {
        Self::shared(server.into())
    }
}
