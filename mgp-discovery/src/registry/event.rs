//! The audit events of registrations. The specification has no types for them, so that these are our own.

use mgp_types::mgp::{Actor, AuditEvent, AuditTarget, EventType, Outcome, ServerId, Timestamp, TraceId};

use super::{LaunchMethod, Lifetime, RegistryError, ServerRegistration};

/// A change of the registered servers: the action and the principal that acts, the chain of requests to which the action belongs, and
/// the reason that the principal gives.
#[derive(Debug, Clone)]
pub(super) struct RegistrationChange {
    /// The end of the name of the action's event, such as `registered`.
    action: &'static str,
    actor: Actor,
    trace: TraceId,
    /// The reason of the action, in the words of the principal.
    pub(super) reason: Option<String>,
}

impl RegistrationChange {
    pub(super) fn new(actor: Actor, trace: Option<TraceId>, action: &'static str) -> Self {
        Self { action, actor, trace: trace.unwrap_or_else(TraceId::random), reason: None }
    }

    /// Returns the event of a change that was made, or failed.
    pub(super) fn done(&self, server: &ServerRegistration, outcome: Outcome) -> AuditEvent {
        let event = self
            .event(self.kind(), &server.id, outcome)
            .with_detail("trust_level", &server.trust)
            .with_detail("registrant", &server.registrant)
            .with_detail("session_only", &(server.lifetime != Lifetime::Kept));
        let event = self.reason.iter().fold(event, |event, reason| event.with_detail("reason", reason));
        if !["registered", "approved", "held"].contains(&self.action) {
            return event;
        }
        let event = match &server.launch {
            LaunchMethod::Program { command, env, .. } => event
                .with_detail("command", command)
                .with_detail("command_line", &server.launch.line())
                .with_detail("folder", &std::env::current_dir().ok())
                .with_detail("env", env)
                .with_detail("inline_code", &server.inline_code())
                .with_detail("unconfined", &server.unconfined),
            LaunchMethod::Web { transport, .. } => event.with_detail("transport", transport),
        };
        event
            .with_detail("approval", &server.approval)
            .with_detail("permissions_required", &server.permissions)
            .with_detail("code_digest", &server.digest)
            .with_detail("code_files", &server.files)
            .with_detail("created_by_label", &server.label)
            .with_detail("justification", &server.justification)
    }

    /// Returns the event of a change that was refused.
    pub(super) fn refused(&self, id: &ServerId, why: &RegistryError) -> AuditEvent {
        match why {
            RegistryError::Code(rejection) => self
                .event(EventType::CodeRejected, id, Outcome::Blocked)
                .with_detail("violations", &rejection.violations),
            other => self.event(self.kind(), id, Outcome::Blocked).with_detail("reason", &other.to_string()),
        }
    }

    fn event(&self, kind: EventType, id: &ServerId, outcome: Outcome) -> AuditEvent {
        let target = AuditTarget::new(Some(id.clone()), None);
        AuditEvent::new(Timestamp::now(), self.trace, kind, self.actor.clone(), target, outcome)
    }

    fn kind(&self) -> EventType {
        EventType::Custom(format!("dev.cloto.mgp.server_{}", self.action).into())
    }
}
