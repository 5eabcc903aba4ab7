//! The gate at which operators' connections give the operator passphrase, and the answer to the methods under `kernel/`.

use std::sync::Arc;

use mgp_security::audit::trace_of;
use mgp_types::mgp::{TraceId, method as name};
use mgp_types::{Error, Flow, Gate, MethodEffect, Principal, PrincipalRole, Request, RequestKind, Response};

use crate::admin::list::OperationEntry;
use crate::admin::operation::{OperatorCall, ProofNeed};
use crate::proof::OperatorConnection;
use crate::sections::Sections;
use crate::servers::upstream::WaitingCall;

/// A gate that refuses a request with 1000 until its operator's connection has given the operator passphrase or what stands
/// for it, unless the request only reads or brings it. The refusal is recorded.
///
/// Sits behind authentication and the record. Reads `context.principal`.
#[derive(Clone)]
pub(crate) struct ProofGate(pub(crate) Arc<Sections>);

impl Gate for ProofGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let connection = request.extensions.get_shared::<OperatorConnection>();
        let proofs = &self.0.policies.proofs;
        match (&connection, operator(request)) {
            (Some(connection), Some(by)) if !needs_no_proof(request, connection) => {
                if let Err(error) = proofs.admit(connection) {
                    let (method, trace) =
                        (&request.method, trace_of(request).unwrap_or_else(TraceId::random));
                    tracing::warn!(%method, "a command without the operator passphrase was refused");
                    let details = [("reason", "no operator passphrase"), ("method", method.as_str())];
                    return Flow::answer_later(self.0.audit.refused(by, trace, &details, error));
                }
            }
            // A command without the passphrase is a client of the person who typed it, and says nothing about other clients.
            (None, None) if request.context.principal.is_some() => proofs.note_client(),
            _ => {}
        }
        Flow::Pass(())
    }
}

fn operator(request: &Request) -> Option<&Principal> {
    request.context.principal.as_ref().filter(|by| by.role() == PrincipalRole::Operator)
}

/// Answers a method under `kernel/`. For peers that are no operators none of them exists (-32601), so that they learn
/// nothing from how the methods refuse. Methods that only read never wait; those that change something are recorded
/// before they act.
pub(crate) async fn answer(kernel: Arc<Sections>, request: Request) -> Result<Response, Error> {
    let unknown = || Error::method_not_found(&request.method);
    let by = operator(&request).ok_or_else(unknown)?.clone();
    let operation = OperationEntry::named(request.method.as_str()).ok_or_else(unknown)?;
    let connection = request.extensions.get_shared::<OperatorConnection>();
    let (trace, waiting) = (trace_of(&request), WaitingCall::of(&request));
    let call = OperatorCall { kernel, by, trace, connection, waiting };
    (operation.run)(call, request.params).await.map(Response::new)
}

/// Returns whether a request changes and decides nothing, or brings the passphrase itself.
fn needs_no_proof(request: &Request, connection: &OperatorConnection) -> bool {
    let method = request.method.as_str();
    if request.kind == RequestKind::Notify {
        return method.starts_with("notifications/");
    }
    match OperationEntry::named(method).map(|operation| operation.proof) {
        Some(ProofNeed::None) => true,
        Some(ProofNeed::Others) => connection.is_own,
        Some(ProofNeed::All) => false,
        None => request.method.rule().is_some_and(|rule| rule.effect == MethodEffect::Reads),
    }
}

/// Returns whether a request is one that agents make, and operators as well.
pub(crate) fn is_for_agents(request: &Request) -> bool {
    request.kind != RequestKind::Notify && OF_AGENTS.contains(&request.method.as_str())
}

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
