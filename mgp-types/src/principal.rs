//! The proved identity of a caller.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ClientSessionId;
use crate::macros::words::words;

/// The proved identity of a caller: a [kind](PrincipalKind) and a name.
///
/// Sessions, sealed state, connections and cached answers are bound to both: another principal cannot use them, and a
/// name proves nothing about the kind. An agent's name is its id in access control and audit.
///
/// The principal of a request also knows the client session that the request came through. The session is no part of the
/// identity, so principals of two sessions are equal: what is bound to a principal outlives its connection. The stored
/// form has kind and name alone. It proves nothing: read it only from where the kernel wrote it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Principal {
    kind: PrincipalKind,
    name: Arc<str>,
    #[serde(skip)]
    client: Option<ClientSessionId>,
}

words! {
    /// The way in which a principal came and was recognized. Only the layer that admits callers sets it.
    ///
    /// The words never change, because digests and seals are made with them.
    PrincipalKind {
        /// An agent within the embedding process, which names it.
        Agent = "agent",
        /// The agent whose client started the program, or shares it at a socket of the same user.
        LocalClient = "local client",
        /// The agent that stands for clients over HTTP without a key.
        KeylessClient = "keyless client",
        /// An agent whose client sent an API key.
        KeyHolder = "key holder",
        /// An agent in whose name another principal calls.
        Delegated = "delegated agent",
        /// An operator whom the operating system names, at a socket or at the terminal.
        Operator = "operator",
        /// An operator who sent an API key.
        KeyOperator = "key operator",
        /// The person in front of an agent's client, who answers a question there. The name is the agent's.
        Person = "person",
        /// The configuration, where its text becomes a decision.
        Configuration = "configuration",
    }
}

/// The role of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrincipalRole {
    /// The principal calls tools.
    Agent,
    /// The principal decides what agents may do: a human, or a program in a human's name.
    Operator,
}

impl Principal {
    /// Creates the agent with this stable, unique name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self::of(PrincipalKind::Agent, name)
    }

    /// Creates the operator with this stable, unique name.
    pub fn operator(name: impl Into<Arc<str>>) -> Self {
        Self::of(PrincipalKind::Operator, name)
    }

    /// Creates the principal of this kind and name.
    pub fn of(kind: PrincipalKind, name: impl Into<Arc<str>>) -> Self {
        Self { kind, name: name.into(), client: None }
    }

    crate::setters! { #[must_use] self =>
        /// Returns the principal as it came through this client session, if it came through any.
        pub fn through(client: impl Into<Option<ClientSessionId>>) => self.client = client.into();
    }

    /// Returns the client session that the principal came through.
    pub const fn client(&self) -> Option<ClientSessionId> {
        self.client
    }

    const fn identity(&self) -> (PrincipalKind, &Arc<str>) {
        (self.kind, &self.name)
    }

    /// Returns the name, which says nothing about the kind.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Returns the kind: the way in which the principal was recognized.
    pub const fn kind(&self) -> PrincipalKind {
        self.kind
    }

    /// Returns the role of the principal.
    pub const fn role(&self) -> PrincipalRole {
        self.kind.role()
    }

    /// Returns the name of an agent; `None` for an operator.
    pub fn agent_name(&self) -> Option<&str> {
        (self.role() == PrincipalRole::Agent).then_some(&*self.name)
    }

    /// Returns the id under which records and decisions name the principal: for agents the name; operators of
    /// different kinds never have one id.
    pub fn id(&self) -> Cow<'_, str> {
        match self.kind {
            PrincipalKind::KeyOperator => format!("key:{}", self.name).into(),
            PrincipalKind::Person => format!("human.{}", self.name).into(),
            _ => Cow::Borrowed(&self.name),
        }
    }

    /// Returns the id that access rules compare: the name of an agent, and for an operator `operator:` before its
    /// [id](Self::id), which no agent has.
    pub fn access_id(&self) -> Cow<'_, str> {
        match self.role() {
            PrincipalRole::Agent => Cow::Borrowed(&self.name),
            PrincipalRole::Operator => format!("operator:{}", self.id()).into(),
        }
    }
}

impl PrincipalKind {
    /// Returns the role of principals of this kind.
    pub const fn role(self) -> PrincipalRole {
        match self {
            Self::Agent | Self::LocalClient | Self::KeylessClient | Self::KeyHolder | Self::Delegated => {
                PrincipalRole::Agent
            }
            Self::Operator | Self::KeyOperator | Self::Person | Self::Configuration => {
                PrincipalRole::Operator
            }
        }
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Principal {}

impl PartialOrd for Principal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Principal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

crate::write_as!(Debug of Principal, self => "{} {:?}", self.kind.as_str(), self.name);

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [PrincipalKind; 9] = [
        PrincipalKind::Agent,
        PrincipalKind::LocalClient,
        PrincipalKind::KeylessClient,
        PrincipalKind::KeyHolder,
        PrincipalKind::Delegated,
        PrincipalKind::Operator,
        PrincipalKind::KeyOperator,
        PrincipalKind::Person,
        PrincipalKind::Configuration,
    ];

    #[test]
    fn principals_of_two_kinds_are_never_the_same_whatever_their_names() {
        for one in KINDS {
            for other in KINDS {
                let same = Principal::of(one, "local") == Principal::of(other, "local");
                assert_eq!(same, one == other, "{one:?} {other:?}");
                assert_eq!(one.as_str() == other.as_str(), one == other);
            }
        }
    }

    #[test]
    fn the_stored_form_has_the_kind_and_the_name_alone() {
        let text = r#"{"kind":"key holder","name":"ada"}"#;
        let read: Principal = serde_json::from_str(text).unwrap();
        assert_eq!(read, Principal::of(PrincipalKind::KeyHolder, "ada"));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }

    #[test]
    fn no_operator_is_known_to_access_control_by_an_agents_id() {
        for kind in KINDS {
            let principal = Principal::of(kind, "ada");
            assert_eq!(principal.access_id() == "ada", kind.role() == PrincipalRole::Agent, "{kind:?}");
            assert_eq!(principal.agent_name().is_some(), kind.role() == PrincipalRole::Agent);
        }
        let ids = [PrincipalKind::Operator, PrincipalKind::KeyOperator, PrincipalKind::Person]
            .map(|kind| Principal::of(kind, "ada").id().into_owned());
        assert_eq!(ids, ["ada", "key:ada", "human.ada"]);
    }
}
