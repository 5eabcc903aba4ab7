//! The decisions of the gate by which a server holds calls to the permissions that clients granted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{
    ApprovalPolicy, Decision, Extension, Grant, Permission, PermissionRequest, PermissionResponse, Refusal,
    Timestamp, code, method,
};
use mgp_types::{
    Context, Error, Flow, Gate, Method, Object, Params, RawJson, Request, RequestKind, Response, Session,
    random_name,
};

use super::super::approval;
use super::super::{QUESTION_META, gate};
use super::{HeldPermissionsGate, HeldPermissionsShared};
use crate::refusal::advice;

enum HeldAdmission {
    Pass,
    Answer(Result<Response, Error>),
    /// The client can be asked for these missing permissions.
    Ask(Vec<Permission>),
}

impl HeldPermissionsShared {
    fn admit(&self, request: &mut Request) -> HeldAdmission {
        let name = request.method.as_str();
        let about = gate::is_about_permissions(name);
        if !about && request.method != Method::TOOLS_CALL {
            return HeldAdmission::Pass;
        }
        let negotiated = |session: &&Arc<Session>| {
            session.mgp.as_ref().is_some_and(|mgp| mgp.has(&Extension::Permissions))
        };
        let Some(session) = request.context.session.clone() else {
            return HeldAdmission::Answer(Err(Error::invalid_request("the request belongs to no session")));
        };
        if !negotiated(&&session) {
            if about {
                return HeldAdmission::Answer(Err(Error::method_not_found(&request.method)));
            }
            return HeldAdmission::Pass;
        }
        if about {
            let asks = matches!(name, method::PERMISSION_REQUEST | method::PERMISSION_AWAIT);
            let answer =
                if asks { self.await_decision(request, &session) } else { self.take(request, &session) };
            return HeldAdmission::Answer(answer);
        }
        let now = self.now();
        request.context.grants = self.held(request, &session, now);
        let needed = request.params.text("name").map(|name| (self.needed)(&name)).unwrap_or_default();
        let grants = request.context.grants.as_deref();
        let approved = |permission: &&Permission| {
            let grant = grants.and_then(|grants| grants.decision(permission, now));
            grant.is_some_and(|grant| grant.decision == Decision::Approved)
        };
        let missing: Vec<Permission> =
            needed.iter().filter(|permission| !approved(permission)).cloned().collect();
        if missing.is_empty() {
            return HeldAdmission::Pass;
        }
        let denied = |permission: &&Permission| {
            let grant = grants.and_then(|grants| grants.decision(permission, now));
            grant.is_some_and(|grant| grant.decision == Decision::Denied)
        };
        if let Some(denied) = missing.iter().find(denied) {
            return HeldAdmission::Answer(Err(refuse(denied, Decision::Denied, request)));
        }
        if request.kind == RequestKind::Call && can_ask(&request.context, &session) {
            return HeldAdmission::Ask(missing);
        }
        HeldAdmission::Answer(Err(refuse(&missing[0], Decision::Deferred, request)))
    }

    /// Returns the time of the clock, but never less than a time returned before: setting the clock back revives no
    /// grant.
    fn now(&self) -> Timestamp {
        self.latest.after(self.clock.now())
    }

    /// Returns the grants of the sender of `request`.
    fn held(
        &self,
        request: &Request,
        session: &Arc<Session>,
        now: Timestamp,
    ) -> Option<Arc<PermissionResponse>> {
        if session.lasts() {
            return self.ledger.held(session, now);
        }
        let value = request.meta(method::GRANTS_META)?;
        if let Some(handle) = value.to_text() {
            let principal = request.context.principal.as_ref();
            return self.handles.as_ref()?.open(&handle, principal, now).map(Arc::new);
        }
        let grants: PermissionResponse = value.to().ok()?;
        grants.expires_at.is_none_or(|end| now < end).then(|| Arc::new(grants))
    }

    /// Answers at once with the known decisions; the client reports the others when its operator has decided.
    fn await_decision(&self, request: &Request, session: &Arc<Session>) -> Result<Response, Error> {
        let asked: PermissionRequest = request.body()?;
        if asked.permissions.len() > MAX_PERMISSIONS {
            return Err(Error::invalid_params("these are more permissions than there are"));
        }
        let now = self.now();
        let held = self.held(request, session, now);
        let decision = |name: &str| {
            let held = held.as_ref().and_then(|held| held.decision(&Permission::read(name), now));
            held.cloned().unwrap_or(Grant::new(Decision::Deferred))
        };
        let grants: BTreeMap<_, _> =
            asked.permissions.iter().map(|name| (name.clone(), decision(name))).collect();
        let answer = PermissionResponse::new(asked.request_id, grants);
        let answer = answer.with_expires_at(held.as_ref().and_then(|held| held.expires_at));
        Ok(plain(&answer))
    }

    fn take(&self, request: &Request, session: &Arc<Session>) -> Result<Response, Error> {
        let decided: PermissionResponse = request.body()?;
        if decided.grants.len() > MAX_PERMISSIONS {
            return Err(Error::invalid_params("these are more permissions than there are"));
        }
        let now = self.now();
        if session.lasts() {
            self.ledger.add(session, &decided, now);
            return Ok(Response::empty());
        }
        let Some(key) = &self.handles else { return Ok(Response::empty()) };
        let last = now.saturating_add(HANDLE_TTL);
        let end = decided.expires_at.map_or(last, |end| end.min(last));
        let Some(handle) = key.seal(&decided, request.context.principal.as_ref(), end) else {
            return Ok(Response::empty());
        };
        Ok(plain(&serde_json::json!({ "handle": handle, "expires_at": end })))
    }
}

impl Gate for HeldPermissionsGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        // Grants change here and not in a future, so that the calls that follow see them.
        match self.0.admit(request) {
            HeldAdmission::Pass => Flow::Pass(()),
            HeldAdmission::Answer(answer) => Flow::Answer(answer),
            HeldAdmission::Ask(missing) => {
                let request = request.take();
                Flow::wait(async move {
                    let granted = ask(&request, &missing).await;
                    (request, granted.into())
                })
            }
        }
    }
}

/// Asks the client for the missing permissions, for this call only.
async fn ask(request: &Request, missing: &[Permission]) -> Result<(), Error> {
    let names: Vec<String> = missing.iter().map(|permission| permission.as_str().to_owned()).collect();
    let list: Vec<_> = names.iter().map(|name| approval::line(name)).collect();
    let list = list.join("`, `");
    let tool = approval::line(&request.params.text("name").unwrap_or_default());
    let message = format!("The tool `{tool}` needs the permission `{list}`. Grant it?");
    // The name has to be the same in each round of one request.
    let key = format!("mgp-permission-{}", names.join("-"));
    let body = PermissionRequest::new(format!("perm-{}", random_name()), names, ApprovalPolicy::Interactive);
    let mut meta = Object::new();
    let body =
        RawJson::from_value(&body).map_err(|error| Error::internal("unreadable").with_source(error))?;
    meta.set(QUESTION_META, body);
    let mut params: Params = approval::form(&message);
    params.set("_meta", meta.to_raw());
    let answer = request.context.ask(&key, Method::ELICIT, params).await?;
    match approval::read(&answer) {
        Decision::Approved => Ok(()),
        decision => Err(refuse(&missing[0], decision, request)),
    }
}

/// Returns whether the client can ask a human.
fn can_ask(context: &Context, session: &Session) -> bool {
    let reachable = context.input.is_some() || (session.lasts() && context.outbox.is_open());
    let unspecific = session.peer_can(&["elicitation"]) && !session.peer_can(&["elicitation", "url"]);
    reachable && (unspecific || session.peer_can(&["elicitation", "form"]))
}

fn refuse(permission: &Permission, decision: Decision, request: &Request) -> Error {
    let (reason, next) = match decision {
        Decision::Denied => ("denied", "call a tool that does without"),
        _ => ("not_granted", "grant it by `mgp/permission/response`, or with the request, and call again"),
    };
    request.context.note_refusal(Refusal::new("permission", "permission-not-held"));
    let details = [("reason", reason), ("permission", permission.as_str()), ("next", next)];
    let recovery = advice(code::PERMISSION_DENIED, &details);
    let message = format!("the tool needs the permission `{permission}`, which the client has not granted");
    Error::new(code::PERMISSION_DENIED, message).with_recovery(recovery)
}

fn plain<T: serde::Serialize>(result: &T) -> Response {
    RawJson::from_value(result).map_or_else(|_| Response::empty(), Response::plain)
}

/// The longest time for which a handle is valid.
const HANDLE_TTL: Duration = Duration::from_hours(1);
/// The largest number of permissions in one request.
const MAX_PERMISSIONS: usize = 64;
