//! The gate that answers a server's own requests for permissions.

use mgp_types::mgp::{Extension, Permission, PermissionRequest};
use mgp_types::{Error, Flow, Gate, Method, RawJson, Request, RequestKind, Response};

use super::PermissionGate;
use super::judge::PermissionJudgement;
use super::negotiate::{MAX_NAME_BYTES, MAX_REQUIRED};
use crate::permission::QUESTION_META;
use crate::permission::book::GrantUse;

/// A gate that answers a server that asks for a permission in the middle of a call, as [`HeldPermissions`] does when
/// one is missing: by an existing decision, or by asking an operator.
///
/// The gate stands in the stack that answers the server's own requests, behind the layer that sets the session. It
/// answers only an elicitation whose `_meta` says that it asks for permissions, and only where permissions were
/// negotiated; other requests go on. A permission granted within a scope is not confirmed to a server that does not
/// say what it wants it for. The gate reads `context.session`, writes nothing, and refuses nothing: a denial is part
/// of the answer. It boxes the future of its answer; dropping the future withdraws the questions to operators.
///
/// [`HeldPermissions`]: crate::permission::HeldPermissionsGate
#[derive(Debug, Clone)]
pub struct PermissionAnswerGate {
    gate: PermissionGate,
}

impl PermissionAnswerGate {
    /// Returns a gate that answers the server behind `gate`.
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
    /// Returns the answer to a server that asks for all of `permissions`.
    async fn answer_for(&self, permissions: &[Permission]) -> Result<&'static str, Error> {
        // A server that is not connected yet has been granted nothing, and may not ask.
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

/// Returns the permissions that the request asks for; `None` if it asks for something else.
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
