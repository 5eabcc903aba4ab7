//! The record of what becomes of keys and transactions.

use std::sync::Arc;

use mgp_types::mgp::{Actor, AuditTarget, EventType, Outcome, ServerId, ToolName, TraceId};
use mgp_types::{Principal, Request};

use crate::record::AuditTrail;

/// The record, for the gates in front of one server.
#[derive(Clone)]
pub(crate) struct EffectRecord {
    audit: Arc<AuditTrail>,
    server: ServerId,
}

/// The request that events are about.
pub(super) struct RecordedEffect {
    record: EffectRecord,
    trace: Option<TraceId>,
    caller: Option<Principal>,
    tool: Option<ToolName>,
}

impl EffectRecord {
    pub(crate) fn new(audit: Arc<AuditTrail>, server: ServerId) -> Self {
        Self { audit, server }
    }

    pub(super) fn of(&self, request: &Request) -> RecordedEffect {
        let context = &request.context;
        RecordedEffect {
            record: self.clone(),
            trace: context.trace,
            caller: context.principal.clone(),
            tool: context.tool.as_ref().map(|tool| tool.name.clone()),
        }
    }
}

impl RecordedEffect {
    /// Records an event with these details. Each of them is an id or a word of a known form: no text of a server is kept.
    pub(super) fn note(&self, event: &str, outcome: Outcome, details: &[(&'static str, &str)]) {
        let (Some(trace), Some(caller)) = (self.trace, &self.caller) else { return };
        let audit = &self.record.audit;
        let mut event = audit.event(EventType::Custom(event.into()), Actor::of(caller), outcome);
        event.trace_id = trace;
        event.target = AuditTarget::new(Some(self.record.server.clone()), self.tool.clone());
        let event = details.iter().fold(event, |event, (name, value)| event.with_detail(*name, value));
        audit.port().record_now(vec![event]);
    }
}
