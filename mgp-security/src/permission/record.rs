//! The record of an operator's decision about a permission, and the decision that is about to be made, with the audit
//! events that record it.

use std::sync::{Arc, Weak};

use mgp_types::mgp::{
    Actor, AgentId, AuditEvent, AuditTarget, Decision, EventType, Outcome, Permission, Scope, ServerId,
    Timestamp, TraceId,
};
use mgp_types::{Context, Principal, Session};
use serde::{Deserialize, Serialize};

use super::ApprovalAnswer;

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

/// A decision that is to be made.
pub(super) struct Ruling {
    pub(super) operator: Principal,
    /// The decision; its time is set when it is made.
    pub(super) record: GrantRecord,
    /// The session for which a grant holds, if it lasts for a session.
    pub(super) session: Option<Weak<Session>>,
    /// True if a grant is taken back by this denial, rather than refused from the start.
    pub(super) revoked: bool,
    pub(super) trace: Option<TraceId>,
}

impl Ruling {
    /// Returns a decision for the calls of `agent`, or of all agents if it is `None`.
    pub(super) fn new(
        operator: &Principal,
        agent: Option<AgentId>,
        server: &ServerId,
        permission: &Permission,
        verdict: GrantVerdict,
    ) -> Self {
        let record = GrantRecord {
            server: server.clone(),
            permission: permission.clone(),
            agent,
            verdict,
            approver: operator.id().into(),
            decided_at: Timestamp::EPOCH,
            question: None,
        };
        Self { operator: operator.clone(), record, session: None, revoked: false, trace: None }
    }

    /// Returns the decision of an operator's answer, for the agent of `call` or for all agents; `None` if the answer
    /// decides nothing.
    ///
    /// A grant that lasts for a session holds for that of `call`. In the era without sessions, it holds for the
    /// agent.
    pub(super) fn of_answer(
        answer: &ApprovalAnswer,
        server: &ServerId,
        permission: &Permission,
        call: Option<&Context>,
    ) -> Option<Self> {
        let mut terms = answer.terms.clone();
        if call.is_none() && terms.lasts == GrantLifetime::Once {
            // Without a call, the server itself is the only user of the permission, so a grant cannot be for one call.
            terms.lasts = GrantLifetime::Session;
        }
        let verdict = match answer.decision {
            Decision::Approved => GrantVerdict::Approved(terms),
            Decision::Denied => GrantVerdict::Denied { until: answer.terms.expires_at },
            Decision::Deferred => return None,
        };
        let asker = call.and_then(|call| call.principal.as_ref());
        let asker = asker.filter(|_| answer.granted_to == GrantedTo::Asker);
        let is_for_session =
            matches!(&verdict, GrantVerdict::Approved(terms) if terms.lasts == GrantLifetime::Session);
        let session = call.and_then(|call| call.session.as_ref());
        let session = session.filter(|session| is_for_session && asker.is_some() && session.lasts());
        let agent = asker.map(|asker| AgentId::new(&*asker.access_id()));
        let mut ruling = Self::new(&answer.approver, agent, server, permission, verdict);
        ruling.session = session.map(Arc::downgrade);
        ruling.trace = call.and_then(|call| call.trace);
        ruling.record.question = answer.question.as_ref().map(|id| id.as_str().into());
        Some(ruling)
    }

    pub(super) fn event(&self, outcome: Outcome) -> AuditEvent {
        let GrantRecord { server, permission, agent, verdict, decided_at, .. } = &self.record;
        let actor = Actor::of(&self.operator);
        let mut event = event(actor, server, permission, verdict, *decided_at, self.trace, outcome);
        if self.revoked {
            event.event_type = EventType::PermissionRevoked;
        }
        with_some(event, "agent_id", agent.as_ref())
    }

    /// Returns the event that reports the removal of all decisions about the permission.
    pub(super) fn reset_event(&self, at: Timestamp) -> AuditEvent {
        let GrantRecord { server, permission, agent, .. } = &self.record;
        let target = AuditTarget::new(Some(server.clone()), None);
        let (kind, actor) = (EventType::read("PERMISSION_RESET"), Actor::of(&self.operator));
        let event = AuditEvent::new(at, TraceId::random(), kind, actor, target, Outcome::Success);
        with_some(event.with_detail("permission", permission), "agent_id", agent.as_ref())
    }
}

/// Adds a detail to an event, if there is one.
fn with_some(event: AuditEvent, name: &'static str, value: Option<&impl Serialize>) -> AuditEvent {
    match value {
        Some(value) => event.with_detail(name, value),
        None => event,
    }
}

/// Returns the event of a decision about a permission.
pub(super) fn event(
    actor: Actor,
    server: &ServerId,
    permission: &Permission,
    verdict: &GrantVerdict,
    at: Timestamp,
    trace: Option<TraceId>,
    outcome: Outcome,
) -> AuditEvent {
    let kind = match verdict {
        GrantVerdict::Approved(_) => EventType::PermissionGranted,
        GrantVerdict::Denied { .. } => EventType::PermissionDenied,
    };
    let target = AuditTarget::new(Some(server.clone()), None);
    let event = AuditEvent::new(at, trace.unwrap_or_else(TraceId::random), kind, actor, target, outcome)
        .with_detail("permission", permission)
        .with_detail("risk_level", &permission.risk());
    let event = with_some(event, "expires_at", verdict.end().as_ref());
    let GrantVerdict::Approved(terms) = verdict else { return event };
    let event = with_some(event, "scope", terms.scope.as_ref());
    with_some(event, "lasts", Some(&terms.lasts).filter(|lasts| **lasts != GrantLifetime::Always))
}
