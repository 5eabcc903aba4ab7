//! The audit events of registrations. The specification has no types for them, so that these are our own.

use mgp_types::mgp::{Actor, AuditEvent, AuditTarget, EventType, Outcome, ServerId, Timestamp, TraceId};

use super::{LaunchMethod, Lifetime, RegistryError, ServerRegistration};

/// An action on a registered server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RegistrationAction {
    Register,
    Approve,
    Deny,
    Deregister,
    Keep,
    /// The server waits again because its code has changed.
    Hold,
}

/// A change of the registered servers: the action and the principal that acts, the chain of requests to which the action belongs, and
/// the reason that the principal gives.
#[derive(Debug, Clone)]
pub(super) struct RegistrationChange {
    action: RegistrationAction,
    actor: Actor,
    trace: TraceId,
    /// The reason of the action, in the words of the principal.
    pub(super) reason: Option<String>,
}

impl RegistrationChange {
    pub(super) fn new(actor: Actor, trace: Option<TraceId>, action: RegistrationAction) -> Self {
        Self { action, actor, trace: trace.unwrap_or_else(TraceId::random), reason: None }
    }

    /// Returns the event of a change that was made, or failed.
    pub(super) fn done(&self, server: &ServerRegistration, outcome: Outcome) -> AuditEvent {
        let event = self
            .event(self.action.kind(), &server.id, outcome)
            .with_detail("trust_level", &server.trust)
            .with_detail("registrant", &server.registrant)
            .with_detail("session_only", &(server.lifetime != Lifetime::Kept));
        let event = match &self.reason {
            Some(reason) => event.with_detail("reason", reason),
            None => event,
        };
        if !matches!(
            self.action,
            RegistrationAction::Register | RegistrationAction::Approve | RegistrationAction::Hold
        ) {
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
            other => {
                self.event(self.action.kind(), id, Outcome::Blocked).with_detail("reason", &other.to_string())
            }
        }
    }

    fn event(&self, kind: EventType, id: &ServerId, outcome: Outcome) -> AuditEvent {
        let target = AuditTarget::new(Some(id.clone()), None);
        AuditEvent::new(Timestamp::now(), self.trace, kind, self.actor.clone(), target, outcome)
    }
}

impl RegistrationAction {
    fn kind(self) -> EventType {
        let name = match self {
            Self::Register => "dev.cloto.mgp.server_registered",
            Self::Approve => "dev.cloto.mgp.server_approved",
            Self::Deny => "dev.cloto.mgp.server_denied",
            Self::Deregister => "dev.cloto.mgp.server_deregistered",
            Self::Keep => "dev.cloto.mgp.server_kept",
            Self::Hold => "dev.cloto.mgp.server_held",
        };
        EventType::Custom(name.into())
    }
}
