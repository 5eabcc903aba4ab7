//! The gate that serves the access methods of MGP, as methods and as tools.

use std::sync::Arc;

use mgp_types::mgp::{
    AccessGrant, AccessQuery, AccessRevoke, Extension, MethodForm, Refusal, ToolName, TraceId, method,
    written,
};
use mgp_types::{Error, Flow, Gate, Principal, RawJson, Request, RequestKind, Response, Revision, code};
use serde::Serialize;

use super::policy::operator;
use super::{AccessError, AccessPolicy, KnownTargets, StoredEntry, UnmatchedTarget};

/// A gate that serves `mgp/access/query`, `mgp/access/grant` and `mgp/access/revoke` (§5.4).
///
/// The gate stands behind the layers that authenticate and record, and in front of [`AccessGate`](super::AccessGate),
/// because it guards the methods that it serves itself. The same three are served as tools under the names
/// `mgp.access.query`, `mgp/access/query` and `mgp_access_query`, and so on; those names are reserved, so no server's
/// tool is ever called by them. As methods they exist only for a peer with which `access_control` was negotiated. All
/// other requests pass untouched.
///
/// The gate reads `context.session`, `context.principal` and `context.trace`. Only an operator may grant and revoke
/// (1000), an agent may ask about itself only (1001), and a request without a principal is refused (1002); refusals
/// are noted in `context.trail`. It allocates only for requests that it serves. Dropping the future of a grant or a
/// revocation makes the change either whole or not at all.
#[derive(Clone)]
pub struct AccessMethodsGate {
    policy: AccessPolicy,
    targets: Option<Arc<dyn KnownTargets>>,
}

impl AccessMethodsGate {
    /// Returns a gate that queries and changes `policy`.
    pub const fn new(policy: AccessPolicy) -> Self {
        Self { policy, targets: None }
    }

    /// Refuses grants whose server or tool matches nothing that `targets` knows, unless they are forced.
    #[must_use]
    pub fn known_targets(mut self, targets: Arc<dyn KnownTargets>) -> Self {
        self.targets = Some(targets);
        self
    }
}

mgp_types::partial_debug!(AccessMethodsGate, self => policy: self.policy);

impl Gate for AccessMethodsGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        match asked(request) {
            None => Flow::Pass(()),
            Some(asked) => Flow::answer_later(asked.answer(self.clone(), request.take())),
        }
    }
}

/// The access method that is asked for, and whether it came as a method or as a tool call.
#[derive(Debug, Clone, Copy)]
struct AccessRequest {
    operation: Operation,
    form: MethodForm,
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    Query,
    Grant,
    Revoke,
}

fn asked(request: &Request) -> Option<AccessRequest> {
    let (form, method) = MethodForm::of(request)?;
    Some(AccessRequest { operation: Operation::of(method)?, form })
}

impl Operation {
    fn of(method: &str) -> Option<Self> {
        match method {
            method::ACCESS_QUERY => Some(Self::Query),
            method::ACCESS_GRANT => Some(Self::Grant),
            method::ACCESS_REVOKE => Some(Self::Revoke),
            _ => None,
        }
    }
}

impl AccessRequest {
    async fn answer(self, gate: AccessMethodsGate, request: Request) -> Result<Response, Error> {
        self.form.check(&request, &Extension::AccessControl)?;
        if request.kind == RequestKind::Notify {
            return Err(Error::invalid_request("access is changed and told by calls, not by notifications"));
        }
        let outcome = self.result(&gate, &request).await;
        if let (Err(error), Some(trail)) = (&outcome, &request.context.trail)
            && matches!(error.code(), code::PERMISSION_DENIED | code::ACCESS_DENIED | code::AUTH_REQUIRED)
        {
            trail.note_refusal(Refusal::new("access", self.rule()));
        }
        let revision = request.context.session.as_ref().map_or(Revision::LATEST, |session| session.revision);
        self.form.answer(outcome, revision)
    }

    async fn result(self, gate: &AccessMethodsGate, request: &Request) -> Result<RawJson, Error> {
        let by = request.context.principal.as_ref().ok_or(AccessError::Unauthenticated)?;
        if !matches!(self.operation, Operation::Query) {
            operator(by)?; // Before the parameters are read: an agent is not told what is wrong with them.
        }
        let trace = request.context.trace;
        let policy = &gate.policy;
        match self.operation {
            Operation::Query => written(&policy.query(by, &self.form.read::<AccessQuery>(request)?)?),
            Operation::Grant => {
                let wanted: AccessGrant = self.form.read(request)?;
                gate.check(&wanted)?;
                grant(policy, by, trace, wanted).await
            }
            Operation::Revoke => revoke(policy, by, trace, self.form.read(request)?).await,
        }
    }

    const fn rule(self) -> &'static str {
        match self.operation {
            Operation::Query => "access-query",
            Operation::Grant => "access-grant",
            Operation::Revoke => "access-revoke",
        }
    }
}

impl AccessMethodsGate {
    fn check(&self, wanted: &AccessGrant) -> Result<(), UnmatchedTarget> {
        let Some(targets) = self.targets.as_ref().filter(|_| !wanted.force) else { return Ok(()) };
        let tool = wanted.tool_name.as_ref().map(ToolName::as_str).filter(|tool| *tool != "*");
        targets.check(wanted.server_id.as_str(), tool)
    }
}

async fn grant(
    policy: &AccessPolicy,
    by: &Principal,
    trace: Option<TraceId>,
    grant: AccessGrant,
) -> Result<RawJson, Error> {
    let entry = policy.grant(by, trace, grant).await?;
    written(&GrantedResult { status: "granted", flat: &entry, entry: &entry })
}

async fn revoke(
    policy: &AccessPolicy,
    by: &Principal,
    trace: Option<TraceId>,
    revoke: AccessRevoke,
) -> Result<RawJson, Error> {
    let revoked = policy.revoke(by, trace, revoke.clone()).await?;
    let entry = revoked.entries.last().map(|entry| &**entry);
    let deleted_count = revoked.entries.len();
    written(&RevokedResult { status: "revoked", deleted_count, revoke: &revoke, entry })
}

/// The result of a grant. The members of the entry stand both beside the status and under `entry`, because drafts and
/// readers of the protocol differ.
#[derive(Serialize)]
struct GrantedResult<'a> {
    status: &'static str,
    #[serde(flatten)]
    flat: &'a StoredEntry,
    entry: &'a StoredEntry,
}

#[derive(Serialize)]
struct RevokedResult<'a> {
    status: &'static str,
    deleted_count: usize,
    #[serde(flatten)]
    revoke: &'a AccessRevoke,
    entry: Option<&'a StoredEntry>,
}
