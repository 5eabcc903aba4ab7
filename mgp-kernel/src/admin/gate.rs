//! The gate that serves the methods under `kernel/`.

use std::sync::Arc;

use mgp_security::audit::trace_of;
use mgp_types::mgp::{
    Actor, AuditEvent, AuditPort, AuditTarget, EventType, Outcome, TraceId, method as name,
};
use mgp_types::{Error, Flow, Gate, Principal, PrincipalRole, Request, RequestKind, Response};

use crate::admin::list::OperationEntry;
use crate::admin::operation::{OperatorCall, ProofNeed};
use crate::proof::OperatorConnection;
use crate::record::AuditTrail;
use crate::sections::Sections;

/// A gate that serves the methods under `kernel/` to operators.
///
/// A request over a connection that has to prove first that a person is there ends here with 1000, unless it only reads
/// or brings the proof; the refusal is recorded.
///
/// Sits behind authentication and the record. Reads `context.principal`. For peers that are no operators none of its
/// methods exists (-32601), so that they learn nothing from how the methods refuse. Methods that only read never wait;
/// those that change something are recorded before they act. Everything else passes untouched.
#[derive(Clone)]
pub(crate) struct OperatorGate(pub(crate) Arc<Sections>);

impl Gate for OperatorGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let connection = request.extensions.get_shared::<OperatorConnection>();
        let proofs = &self.0.policies.proofs;
        let is_operator = |by: &&Principal| by.role() == PrincipalRole::Operator;
        match (&connection, request.context.principal.as_ref().filter(is_operator)) {
            (Some(connection), Some(by)) if !needs_no_proof(request, connection) => {
                if let Err(error) = proofs.admit(connection) {
                    let by = by.clone();
                    let audit = Arc::clone(&self.0.audit);
                    return Flow::answer_later(refuse(audit, request.take(), by, error));
                }
            }
            // A command that proved nothing is a client of the person who typed it, and shows nothing of other clients.
            (None, None) if request.context.principal.is_some() => proofs.note_client(),
            _ => {}
        }
        if !request.method.as_str().starts_with(PREFIX) || request.kind == RequestKind::Notify {
            return Flow::Pass(());
        }
        match &request.context.principal {
            Some(by) if by.role() == PrincipalRole::Operator => {
                let (kernel, by, trace) = (Arc::clone(&self.0), by.clone(), trace_of(request));
                let call = OperatorCall { kernel, by, trace, connection };
                Flow::answer_later(answer(call, request.take()))
            }
            _ => Flow::refuse(Error::method_not_found(&request.method)),
        }
    }
}

async fn answer(call: OperatorCall, request: Request) -> Result<Response, Error> {
    match OperationEntry::named(request.method.as_str()) {
        Some(operation) => (operation.run)(call, request.params).await.map(Response::new),
        None => Err(Error::method_not_found(&request.method)),
    }
}

/// Returns whether a request changes and decides nothing, or brings a proof itself.
fn needs_no_proof(request: &Request, connection: &OperatorConnection) -> bool {
    let method = request.method.as_str();
    if request.kind == RequestKind::Notify {
        return method.starts_with("notifications/");
    }
    match OperationEntry::named(method).map(|operation| operation.proof) {
        Some(ProofNeed::None) => true,
        Some(ProofNeed::Others) => connection.is_own,
        Some(ProofNeed::All) => false,
        None => WITHOUT_PROOF.contains(&method),
    }
}

/// Returns whether a request is one that agents make, and operators as well.
pub(crate) fn is_for_agents(request: &Request) -> bool {
    request.kind != RequestKind::Notify && OF_AGENTS.contains(&request.method.as_str())
}

async fn refuse(
    audit: Arc<AuditTrail>,
    request: Request,
    by: Principal,
    error: Error,
) -> Result<Response, Error> {
    let trace = trace_of(&request).unwrap_or_else(TraceId::random);
    let event = AuditEvent::new(
        audit.clock.now(),
        trace,
        EventType::PermissionDenied,
        Actor::of(&by),
        AuditTarget::new(None, None),
        Outcome::Blocked,
    );
    let event =
        event.with_detail("reason", "no proof of a person").with_detail("method", request.method.as_str());
    tracing::warn!(method = %request.method, "a connection that did not prove that a person is there was refused");
    audit.log.record(event).await?;
    Err(error)
}

const PREFIX: &str = "kernel/";

/// The methods of agents for which an operator is bound by no rule.
const OF_AGENTS: [&str; 7] = [
    "tools/call",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/get",
    "completion/complete",
    name::TOOLS_CALL,
];

/// The methods of MCP and MGP that only read. All others decide something, or may.
const WITHOUT_PROOF: [&str; 12] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    name::ACCESS_QUERY,
    name::DISCOVERY_LIST,
    name::HEALTH_PING,
    name::HEALTH_STATUS,
    name::TOOLS_DISCOVER,
];
