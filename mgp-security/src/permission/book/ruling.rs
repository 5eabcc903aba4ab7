//! A decision that is about to be made, with the audit events that record it.

use std::sync::{Arc, Weak};

use mgp_types::mgp::{
    Actor, AgentId, AuditEvent, AuditTarget, Decision, EventType, Outcome, Permission, ServerId, Timestamp,
    TraceId,
};
use mgp_types::{Context, Principal, Session};
use serde::Serialize;

use crate::permission::{ApprovalAnswer, GrantLifetime, GrantRecord, GrantVerdict, GrantedTo};

/// A decision that is to be made.
pub(in crate::permission) struct Ruling {
    pub(super) operator: Principal,
    /// The decision; its time is set when it is made.
    pub(super) record: GrantRecord,
    /// The session for which a grant holds, if it lasts for a session.
    pub(super) session: Option<Weak<Session>>,
    /// True if a grant is taken back, rather than refused from the start.
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
    pub(in crate::permission) fn of_answer(
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
        let kind = match verdict {
            GrantVerdict::Approved(_) => EventType::PermissionGranted,
            GrantVerdict::Denied { .. } if self.revoked => EventType::PermissionRevoked,
            GrantVerdict::Denied { .. } => EventType::PermissionDenied,
        };
        let actor = Actor::of(&self.operator);
        let event = event(kind, actor, server, permission, verdict, *decided_at, self.trace, outcome);
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
