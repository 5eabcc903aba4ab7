use mgp_types::Principal;
use mgp_types::mgp::{Actor, ActorType, AuditEvent, AuditTarget, EventType, Outcome, Timestamp, TraceId};

use super::AccessEntry;
use super::entry::EntryKey;
use crate::random;

/// A change of access, as the audit trail tells it.
#[derive(Debug)]
pub(super) struct Change {
    trace: TraceId,
    kind: EventType,
    by: String,
    key: EntryKey,
    details: Details,
}

#[derive(Debug)]
enum Details {
    Granted(Box<AccessEntry>),
    Revoked { count: usize },
}

impl Change {
    pub(super) fn granted(by: &Principal, trace: Option<TraceId>, entry: &AccessEntry) -> Self {
        let details = Details::Granted(Box::new(entry.clone()));
        Self::new(by, trace, EventType::AccessGranted, entry.key(), details)
    }

    pub(super) fn revoked(by: &Principal, trace: Option<TraceId>, key: &EntryKey, count: usize) -> Self {
        Self::new(by, trace, EventType::AccessRevoked, key.clone(), Details::Revoked { count })
    }

    /// The event, with whether the change was made.
    pub(super) fn event(&self, now: Timestamp, outcome: Outcome) -> AuditEvent {
        let actor = Actor::new(ActorType::Operator, &*self.by);
        let target = AuditTarget::new(Some(self.key.server_id.clone()), self.key.tool_name.clone());
        let event = AuditEvent::new(now, self.trace, self.kind.clone(), actor, target, outcome)
            .with_detail("agent_id", &self.key.agent_id);
        match &self.details {
            Details::Granted(entry) => event
                .with_detail("entry_type", &entry.entry_type())
                .with_detail("permission", &entry.permission)
                .with_detail("granted_by_label", &entry.label)
                .with_detail("justification", &entry.justification)
                .with_detail("expires_at", &entry.expires_at),
            Details::Revoked { count } => event.with_detail("deleted_count", count),
        }
    }

    fn new(by: &Principal, trace: Option<TraceId>, kind: EventType, key: EntryKey, details: Details) -> Self {
        let trace = trace.unwrap_or_else(random::trace_id);
        Self { trace, kind, by: by.as_str().to_owned(), key, details }
    }
}
