//! The audit events that tell of changes of access.

use mgp_types::Principal;
use mgp_types::mgp::{
    Actor, ActorType, AuditEvent, AuditTarget, DefaultPolicy, EventType, Outcome, Timestamp, TraceId,
};

use super::AccessEntry;
use super::entry::EntryKey;
use crate::random;

/// The author of a change of access, its trace and its time.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeOrigin<'a> {
    pub(super) by: &'a Principal,
    pub(super) trace: Option<TraceId>,
    pub(super) now: Timestamp,
}

impl ChangeOrigin<'_> {
    pub(super) fn granted(self, entry: &AccessEntry) -> AuditEvent {
        self.event(EventType::AccessGranted, Some(&entry.key()))
            .with_detail("agent_id", &entry.agent_id)
            .with_detail("entry_type", &entry.entry_type())
            .with_detail("permission", &entry.permission)
            .with_detail("granted_by_label", &entry.label)
            .with_detail("justification", &entry.justification)
            .with_detail("expires_at", &entry.expires_at)
    }

    pub(super) fn revoked(self, key: &EntryKey, count: usize) -> AuditEvent {
        self.event(EventType::AccessRevoked, Some(key))
            .with_detail("agent_id", &key.agent_id)
            .with_detail("deleted_count", &count)
    }

    pub(super) fn default_policy(self, policy: DefaultPolicy) -> AuditEvent {
        self.event(EventType::Custom(DEFAULT_CHANGED.into()), None).with_detail("default_policy", &policy)
    }

    fn event(self, kind: EventType, key: Option<&EntryKey>) -> AuditEvent {
        let (server, tool) = key.map_or((None, None), |key| (Some(&key.server_id), key.tool_name.as_ref()));
        let target = AuditTarget::new(server.cloned(), tool.cloned());
        let actor = Actor::new(ActorType::Operator, self.by.id());
        let trace = self.trace.unwrap_or_else(random::trace_id);
        AuditEvent::new(self.now, trace, kind, actor, target, Outcome::Success)
    }
}

/// The name of the event that reports a change of the default policy.
const DEFAULT_CHANGED: &str = "dev.cloto.mgp.access_default_changed";
