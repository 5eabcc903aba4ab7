//! A decision that is about to be made, with the audit events that record it.

use std::sync::{Arc, Weak};

use mgp_types::mgp::{
    Actor, AgentId, AuditEvent, AuditTarget, Decision, EventType, Outcome, Permission, ServerId, Timestamp,
    TraceId,
};
use mgp_types::{Context, Principal, Session};
use serde::Serialize;

use crate::permission::{ApprovalAnswer, GrantLifetime, GrantVerdict, GrantedTo};

/// A decision that is to be made.
pub(in crate::permission) struct Ruling {
    pub(in crate::permission) operator: Principal,
    pub(in crate::permission) server: ServerId,
    pub(in crate::permission) permission: Permission,
    /// The agent for whose calls the decision holds; `None` for all agents.
    pub(in crate::permission) agent: Option<AgentId>,
    /// The session for which a grant holds, if it lasts for a session.
    pub(in crate::permission) session: Option<Weak<Session>>,
    pub(in crate::permission) verdict: GrantVerdict,
    /// True if a grant is taken back, rather than refused from the start.
    pub(in crate::permission) revoked: bool,
    pub(in crate::permission) trace: Option<TraceId>,
    /// The id of the question that the decision answers, if it answers one of the queue.
    pub(in crate::permission) question: Option<Box<str>>,
}

impl Ruling {
    pub(in crate::permission) fn new(
        operator: &Principal,
        server: &ServerId,
        permission: &Permission,
        verdict: GrantVerdict,
    ) -> Self {
        let (operator, server, permission) = (operator.clone(), server.clone(), permission.clone());
        Self {
            operator,
            server,
            permission,
            agent: None,
            session: None,
            verdict,
            revoked: false,
            trace: None,
            question: None,
        }
    }

    /// Returns the decision of an operator's answer, for the agent of `call` or for all agents; `None` if the answer
    /// decides nothing.
    ///
    /// A grant that lasts for a session holds for that of `call`. In the era without sessions, it holds for the
    /// agent.
    pub(in crate::permission) fn of_answer(
        answer: &ApprovalAnswer,
        server: &ServerId,
        permission: &Permission,
        call: Option<&Context>,
    ) -> Option<Self> {
        let verdict = match answer.decision {
            Decision::Approved => GrantVerdict::Approved(answer.terms.clone()),
            Decision::Denied => GrantVerdict::Denied { until: answer.terms.expires_at },
            Decision::Deferred => return None,
        };
        let asker = call.and_then(|call| call.principal.as_ref());
        let asker = asker.filter(|_| answer.granted_to == GrantedTo::Asker);
        let is_for_session =
            matches!(&verdict, GrantVerdict::Approved(terms) if terms.lasts == GrantLifetime::Session);
        let session = call.and_then(|call| call.session.as_ref());
        let session = session.filter(|session| is_for_session && asker.is_some() && session.lasts());
        let mut ruling = Self::new(&answer.approver, server, permission, verdict);
        ruling.agent = asker.map(|asker| AgentId::new(&*asker.access_id()));
        ruling.session = session.map(Arc::downgrade);
        ruling.trace = call.and_then(|call| call.trace);
        ruling.question = answer.question.as_ref().map(|id| id.as_str().into());
        Some(ruling)
    }

    pub(super) fn event(&self, at: Timestamp, outcome: Outcome) -> AuditEvent {
        let kind = match &self.verdict {
            GrantVerdict::Approved(_) => EventType::PermissionGranted,
            GrantVerdict::Denied { .. } if self.revoked => EventType::PermissionRevoked,
            GrantVerdict::Denied { .. } => EventType::PermissionDenied,
        };
        let actor = Actor::of(&self.operator);
        let event =
            event(kind, actor, &self.server, &self.permission, &self.verdict, at, self.trace, outcome);
        with_some(event, "agent_id", self.agent.as_ref())
    }

    /// Returns the event that reports the removal of all decisions about the permission.
    pub(super) fn reset_event(&self, at: Timestamp) -> AuditEvent {
        let target = AuditTarget::new(Some(self.server.clone()), None);
        let trace = self.trace.unwrap_or_else(TraceId::random);
        let (kind, actor) = (EventType::read("PERMISSION_RESET"), Actor::of(&self.operator));
        let event = AuditEvent::new(at, trace, kind, actor, target, Outcome::Success);
        with_some(event.with_detail("permission", &self.permission), "agent_id", self.agent.as_ref())
    }
}

/// Adds a detail to an event, if there is one.
fn with_some(event: AuditEvent, name: &'static str, value: Option<&impl Serialize>) -> AuditEvent {
    match value {
        Some(value) => event.with_detail(name, value),
        None => event,
    }
}

/// Returns an event about a permission.
#[expect(clippy::too_many_arguments, reason = "each is a member of the event")]
pub(in crate::permission) fn event(
    kind: EventType,
    actor: Actor,
    server: &ServerId,
    permission: &Permission,
    verdict: &GrantVerdict,
    at: Timestamp,
    trace: Option<TraceId>,
    outcome: Outcome,
) -> AuditEvent {
    let target = AuditTarget::new(Some(server.clone()), None);
    let event = AuditEvent::new(at, trace.unwrap_or_else(TraceId::random), kind, actor, target, outcome)
        .with_detail("permission", permission)
        .with_detail("risk_level", &permission.risk());
    let event = with_some(event, "expires_at", verdict.end().as_ref());
    let GrantVerdict::Approved(terms) = verdict else { return event };
    let event = with_some(event, "scope", terms.scope.as_ref());
    with_some(event, "lasts", Some(&terms.lasts).filter(|lasts| **lasts != GrantLifetime::Always))
}
