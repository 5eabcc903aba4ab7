//! The record of an operator's decision about a permission.

use mgp_types::mgp::{AgentId, Decision, Permission, Scope, ServerId, Timestamp};
use serde::{Deserialize, Serialize};

/// A decision of an operator about a permission of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantRecord {
    /// The server that has or lacks the permission.
    pub server: ServerId,
    /// The permission that was decided about.
    pub permission: Permission,
    /// The agent for whose calls the decision holds, by its id in access control; `None` for all agents, and for the
    /// server's own actions.
    pub agent: Option<AgentId>,
    /// The decision: a grant or a denial. While nobody has decided, there is no record.
    pub verdict: GrantVerdict,
    /// The operator who decided.
    pub approver: Box<str>,
    /// The time of the decision.
    pub decided_at: Timestamp,
    /// The id of the question that the decision answers; `None` if nobody was asked in the queue.
    pub question: Option<Box<str>>,
}

/// A decision that has been made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification: what is deferred is not decided")]
pub enum GrantVerdict {
    /// The permission is granted on these terms.
    Approved(GrantTerms),
    /// The permission is denied, until the given time if the denial has an end.
    Denied {
        /// The time from which the permission may be asked for again.
        until: Option<Timestamp>,
    },
}

/// The bounds of a grant in reach and time; by default there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantTerms {
    /// The arguments for which the grant holds; `None` for all.
    pub scope: Option<Box<Scope>>,
    /// The time from which the grant no longer holds; `None` if it never ends.
    pub expires_at: Option<Timestamp>,
    /// The lifetime of the grant within that time.
    pub lasts: GrantLifetime,
}

/// The lifetime of a grant that is not taken back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GrantLifetime {
    /// The grant is for the one call that it was requested for.
    Once,
    /// The grant lasts until the end of the session in which it was requested or, without a session, of the process.
    Session,
    /// The grant lasts until its end, if it has one.
    #[default]
    Always,
}

/// The agents for whose calls an answer holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GrantedTo {
    /// The answer holds for the agent whose call caused the question; for all agents if no call did.
    #[default]
    Asker,
    /// The answer holds for all agents.
    AllAgents,
}

impl GrantVerdict {
    /// Returns the verdict as a protocol decision.
    pub const fn decision(&self) -> Decision {
        match self {
            Self::Approved(_) => Decision::Approved,
            Self::Denied { .. } => Decision::Denied,
        }
    }

    /// Returns the time from which the verdict no longer holds, if it ends.
    pub fn end(&self) -> Option<Timestamp> {
        match self {
            Self::Approved(terms) => terms.expires_at,
            Self::Denied { until } => *until,
        }
    }

    /// Returns whether the verdict, made at `decided_at`, holds at `now`.
    ///
    /// A decision time in the future shows that the clock was set back, so the end cannot be judged either: a grant
    /// with an end is then over, and a denial is not.
    pub(crate) fn holds_at(&self, decided_at: Timestamp, now: Timestamp) -> bool {
        match self {
            Self::Approved(terms) => terms.hold_at(decided_at, now),
            Self::Denied { until } => until.is_none_or(|end| now < decided_at || now < end),
        }
    }
}

impl GrantTerms {
    /// Returns whether a grant on these terms, made at `decided_at`, holds at `now`.
    ///
    /// A decision time in the future shows that the clock was set back, so a grant with an end is then over.
    pub(crate) fn hold_at(&self, decided_at: Timestamp, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| decided_at <= now && now < end)
    }
}
