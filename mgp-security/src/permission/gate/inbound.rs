use mgp_types::mgp::{Extension, Permission, PermissionRequest};
use mgp_types::{Error, Flow, Gate, Method, RawJson, Request, RequestKind, Response};

use super::PermissionGate;
use super::judge::PermissionJudgement;
use super::negotiate::{MAX_NAME_BYTES, MAX_REQUIRED};
use crate::permission::QUESTION_META;
use crate::permission::book::GrantUse;

/// Answers a server that asks for a permission in the middle of a call, as [`HeldPermissions`] does where one is
/// missing: by what is decided, or by asking an operator.
///
/// Sits in the stack that answers the server's own requests, behind the layer that knows the session. Only an
/// elicitation that says in its `_meta` that it asks for permissions is answered here, and only where permissions were
/// negotiated; everything else goes on. A permission that is granted within a scope is not confirmed to a server that
/// does not say what for. Reads `context.session`, writes nothing, and refuses nothing: who may not have it is told so
/// by the answer. What it answers it boxes; dropping the future takes questions to operators back.
///
/// [`HeldPermissions`]: crate::permission::HeldPermissionsGate
#[derive(Debug, Clone)]
pub struct PermissionAnswerGate {
    gate: PermissionGate,
}

impl PermissionAnswerGate {
    /// Answers what the server behind `gate` asks.
    pub fn new(gate: PermissionGate) -> Self {
        Self { gate }
    }
}

impl Gate for PermissionAnswerGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let Some(permissions) = question(request) else { return Flow::Pass(()) };
        let gate = self.gate.clone();
        Flow::answer_later(async move {
            let answer = gate.answer_for(&permissions).await?;
            Ok(Response::plain(RawJson::parse(answer).unwrap_or_else(|_| RawJson::empty_object())))
        })
    }
}

impl PermissionGate {
    /// What the server is answered that asks for all of `permissions`.
    async fn answer_for(&self, permissions: &[Permission]) -> Result<&'static str, Error> {
        // A server that is not connected has been told nothing yet and may ask for nothing.
        if permissions.is_empty() || self.0.connected.load().is_none() {
            return Ok(CANCELLED);
        }
        self.settle_all(permissions, None).await?;
        let standing = self.0.book.standing();
        let now = self.0.book.now();
        let mut answer = APPROVED;
        for permission in permissions {
            match self.judge(&standing, permission, GrantUse::Server, now) {
                PermissionJudgement::Approved { scope: None, .. } => {}
                PermissionJudgement::Refused(_) => return Ok(DENIED),
                _ => answer = CANCELLED,
            }
        }
        Ok(answer)
    }
}

/// The permissions that the request asks for; `None` if it asks for something else.
fn question(request: &Request) -> Option<Vec<Permission>> {
    if request.kind == RequestKind::Notify || request.method != Method::ELICIT {
        return None;
    }
    let session = request.context.session.as_ref()?;
    session.mgp.as_ref().filter(|mgp| mgp.has(&Extension::Permissions))?;
    let question: PermissionRequest = request.meta(QUESTION_META)?.to().ok()?;
    let is_long = |name: &String| name.len() > MAX_NAME_BYTES;
    if question.permissions.len() > MAX_REQUIRED || question.permissions.iter().any(is_long) {
        return Some(Vec::new());
    }
    let mut permissions: Vec<_> = question.permissions.iter().map(|name| Permission::read(name)).collect();
    permissions.sort_unstable();
    permissions.dedup();
    Some(permissions)
}

const APPROVED: &str = r#"{"action":"accept","content":{"decision":"approve"}}"#;
const DENIED: &str = r#"{"action":"decline"}"#;
const CANCELLED: &str = r#"{"action":"cancel"}"#;
