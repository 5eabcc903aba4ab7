//! The audit events for changes of access.

use mgp_types::Principal;
use mgp_types::mgp::{
    Actor, ActorType, AuditEvent, AuditTarget, DefaultPolicy, EventType, Outcome, Timestamp, TraceId,
};

use super::AccessEntry;
use super::entry::EntryKey;
use crate::random;

/// A change of access, with all that its audit event reports.
#[derive(Debug)]
pub(super) struct AccessChange {
    trace: TraceId,
    kind: EventType,
    by: String,
    details: AccessChangeDetails,
}

#[derive(Debug)]
enum AccessChangeDetails {
    Granted(Box<AccessEntry>),
    Revoked { key: EntryKey, count: usize },
    Default(DefaultPolicy),
}

impl AccessChange {
    pub(super) fn granted(by: &Principal, trace: Option<TraceId>, entry: &AccessEntry) -> Self {
        let details = AccessChangeDetails::Granted(Box::new(entry.clone()));
        Self::new(by, trace, EventType::AccessGranted, details)
    }

    pub(super) fn revoked(by: &Principal, trace: Option<TraceId>, key: &EntryKey, count: usize) -> Self {
        Self::new(
            by,
            trace,
            EventType::AccessRevoked,
            AccessChangeDetails::Revoked { key: key.clone(), count },
        )
    }

    pub(super) fn default_policy(by: &Principal, trace: Option<TraceId>, policy: DefaultPolicy) -> Self {
        Self::new(by, trace, EventType::Custom(DEFAULT_CHANGED.into()), AccessChangeDetails::Default(policy))
    }

    /// Returns the audit event of the change, with `outcome` as its result.
    pub(super) fn event(&self, now: Timestamp, outcome: Outcome) -> AuditEvent {
        let actor = Actor::new(ActorType::Operator, &*self.by);
        let event = |key: Option<&EntryKey>| {
            let target = AuditTarget::new(
                key.map(|key| key.server_id.clone()),
                key.and_then(|key| key.tool_name.clone()),
            );
            AuditEvent::new(now, self.trace, self.kind.clone(), actor, target, outcome)
        };
        match &self.details {
            AccessChangeDetails::Granted(entry) => event(Some(&entry.key()))
                .with_detail("agent_id", &entry.agent_id)
                .with_detail("entry_type", &entry.entry_type())
                .with_detail("permission", &entry.permission)
                .with_detail("granted_by_label", &entry.label)
                .with_detail("justification", &entry.justification)
                .with_detail("expires_at", &entry.expires_at),
            AccessChangeDetails::Revoked { key, count } => {
                event(Some(key)).with_detail("agent_id", &key.agent_id).with_detail("deleted_count", count)
            }
            AccessChangeDetails::Default(policy) => event(None).with_detail("default_policy", policy),
        }
    }

    fn new(by: &Principal, trace: Option<TraceId>, kind: EventType, details: AccessChangeDetails) -> Self {
        let trace = trace.unwrap_or_else(random::trace_id);
        Self { trace, kind, by: by.id().into_owned(), details }
    }
}

/// The type of the audit event for a change of the default policy.
const DEFAULT_CHANGED: &str = "dev.cloto.mgp.access_default_changed";
