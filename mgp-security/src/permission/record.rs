use std::fmt;

use mgp_types::mgp::{AgentId, Decision, Permission, Scope, ServerId, Timestamp};
use serde::{Deserialize, Serialize};

/// What an operator decided about a permission of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantRecord {
    /// The server.
    pub server: ServerId,
    /// The permission.
    pub permission: Permission,
    /// The agent for whose calls it was decided, by its id in access control; `None` for all, and for what the server does
    /// by itself.
    pub agent: Option<AgentId>,
    /// Whether it is granted or denied; nothing is recorded while nobody has decided.
    pub verdict: GrantVerdict,
    /// The operator.
    pub approver: Box<str>,
    /// When it was decided.
    pub decided_at: Timestamp,
}

/// A decision that has been made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification: what is deferred is not decided")]
pub enum GrantVerdict {
    /// It is granted, so far and for so long.
    Approved(GrantTerms),
    /// It is not; until then, if the denial has an end.
    Denied {
        /// When it may be asked for again.
        until: Option<Timestamp>,
    },
}

/// How far and for how long something is granted; by default without bounds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantTerms {
    /// How far; `None` for all the way.
    pub scope: Option<Box<Scope>>,
    /// Until when.
    pub expires_at: Option<Timestamp>,
    /// How often, or how long beside that.
    pub lasts: GrantLifetime,
}

/// How long a grant lasts that is not taken back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GrantLifetime {
    /// For one call: the one that it was asked for.
    Once,
    /// Until the session ends in which it was asked for; where there is none, until the process does.
    Session,
    /// Until its end, if it has one.
    #[default]
    Always,
}

/// For whose calls an answer holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GrantedTo {
    /// For those of the agent whose call was asked about; where none was, for all.
    #[default]
    Asker,
    /// For those of all agents.
    AllAgents,
}

impl GrantRecord {
    /// What `approver` decided at `decided_at`.
    pub fn new(
        server: ServerId,
        permission: Permission,
        verdict: GrantVerdict,
        approver: impl Into<Box<str>>,
        decided_at: Timestamp,
    ) -> Self {
        Self { server, permission, agent: None, verdict, approver: approver.into(), decided_at }
    }

    /// Limits the decision to the calls of `agent`, if there is one.
    #[must_use]
    pub fn for_agent(mut self, agent: Option<AgentId>) -> Self {
        self.agent = agent;
        self
    }
}

impl GrantVerdict {
    /// The word for it.
    pub const fn decision(&self) -> Decision {
        match self {
            Self::Approved(_) => Decision::Approved,
            Self::Denied { .. } => Decision::Denied,
        }
    }

    /// Until when it holds, if it has an end.
    pub fn end(&self) -> Option<Timestamp> {
        match self {
            Self::Approved(terms) => terms.expires_at,
            Self::Denied { until } => *until,
        }
    }

    /// Whether it holds at `now`, made at `decided_at`.
    ///
    /// One that seems to have been made in the future says that the clock went back, and then its end cannot be told
    /// either: a grant is over then, and a denial is not.
    pub(crate) fn holds_at(&self, decided_at: Timestamp, now: Timestamp) -> bool {
        match self {
            Self::Approved(terms) => terms.hold_at(decided_at, now),
            Self::Denied { until } => until.is_none_or(|end| now < decided_at || now < end),
        }
    }
}

impl GrantTerms {
    /// Within `scope`.
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = Some(Box::new(scope));
        self
    }

    /// Until `end`.
    pub const fn until(mut self, end: Timestamp) -> Self {
        self.expires_at = Some(end);
        self
    }

    /// For as long as `lasts` says.
    pub const fn lasting(mut self, lasts: GrantLifetime) -> Self {
        self.lasts = lasts;
        self
    }

    /// Whether a grant of these terms, made at `decided_at`, holds at `now`.
    ///
    /// One that seems to have been made in the future says that the clock went back, and then its end cannot be
    /// told either.
    pub(crate) fn hold_at(&self, decided_at: Timestamp, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| decided_at <= now && now < end)
    }
}

impl fmt::Display for GrantVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Approved(_) => "approved",
            Self::Denied { .. } => "denied",
        })
    }
}
