//! The operator behind a request, and the record of what is about to be done.

use std::sync::Arc;

use mgp_types::mgp::{Actor, AuditEvent, AuditPort as _, AuditTarget, EventType, Outcome, TraceId};
use mgp_types::{Error, Principal};

use super::proof::OperatorConnection;
use crate::record::{AuditTrail, random};

/// A request of an operator: the operator and the chain of requests, for the record.
pub(super) struct OperatorRequest {
    pub(super) audit: Arc<AuditTrail>,
    pub(super) by: Principal,
    pub(super) trace: Option<TraceId>,
    /// The connection, if it may have to prove that a person is there.
    pub(super) connection: Option<Arc<OperatorConnection>>,
}

impl OperatorRequest {
    /// Records an act before it is done, where the section that does it records nothing itself.
    pub(super) async fn record(
        &self,
        what: &str,
        target: AuditTarget,
        details: &[(&'static str, &str)],
    ) -> Result<(), Error> {
        let trace = self.trace.unwrap_or_else(|| TraceId::from_random(random()));
        let actor = Actor::of(&self.by);
        let (now, kind) = (self.audit.clock.now(), EventType::read(what));
        let event = AuditEvent::new(now, trace, kind, actor, target, Outcome::Success);
        let event = details.iter().fold(event, |event, (name, value)| event.with_detail(*name, *value));
        self.audit.log.record(event).await
    }
}
