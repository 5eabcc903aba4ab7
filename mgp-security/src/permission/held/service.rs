use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mgp_types::mgp::{
    ApprovalPolicy, Decision, Extension, Grant, Permission, PermissionRequest, PermissionResponse, Refusal,
    Timestamp, code, method,
};
use mgp_types::{
    Context, Error, Kind, Method, Object, Params, RawJson, Request, Response, RpcService, Session,
};
use tower_service::Service;

use super::super::approval;
use super::super::{QUESTION_META, gate};
use super::Shared;
use crate::refusal::advice;
use crate::{GateFuture, random};

/// Takes what clients grant, and refuses the calls of tools that need more with 1000.
///
/// Sits behind the layers that know the session and the principal, and around the router; where it is to ask a client
/// that cannot be asked directly, inside the layer that carries such questions. Reads `context.session`, refuses
/// what needs a permission without it, and writes `context.grants`.
///
/// It answers `mgp/permission/request`: the decision lies with the client, so what it has not told is deferred. What
/// it tells by `mgp/permission/response` holds for the session; without sessions, each request carries its grants or
/// the handle made of them in `_meta`, and one that carries none has none. A tool that lacks a permission asks for it
/// where the client can ask a human, and a yes is one for this call. Where permissions were not negotiated these
/// methods do not exist, and no tool is held back: a client that does not know them cannot grant them.
///
/// A call of a tool that needs nothing costs no lock and no allocation. One that has to ask boxes its future; dropping
/// it takes the question back.
#[derive(Clone)]
pub struct HeldPermissions<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S> HeldPermissions<S> {
    pub(super) fn new(inner: S, shared: Arc<Shared>) -> Self {
        Self { inner, shared }
    }
}

enum Admission {
    Pass,
    Answer(Result<Response, Error>),
    /// These are missing, and the client can be asked.
    Ask(Vec<Permission>),
}

impl Shared {
    fn admit(&self, request: &mut Request) -> Admission {
        let name = request.method.as_str();
        let about = gate::is_about_permissions(name);
        if !about && request.method != Method::TOOLS_CALL {
            return Admission::Pass;
        }
        let negotiated = |session: &&Arc<Session>| {
            session.mgp.as_ref().is_some_and(|mgp| mgp.has(&Extension::Permissions))
        };
        let Some(session) = request.context.session.clone() else {
            return Admission::Answer(Err(Error::invalid_request("the request belongs to no session")));
        };
        if !negotiated(&&session) {
            if about {
                return Admission::Answer(Err(Error::method_not_found(&request.method)));
            }
            return Admission::Pass;
        }
        if about {
            let asks = matches!(name, method::PERMISSION_REQUEST | method::PERMISSION_AWAIT);
            let answer =
                if asks { self.await_decision(request, &session) } else { self.take(request, &session) };
            return Admission::Answer(answer);
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
            return Admission::Pass;
        }
        let denied = |permission: &&Permission| {
            let grant = grants.and_then(|grants| grants.decision(permission, now));
            grant.is_some_and(|grant| grant.decision == Decision::Denied)
        };
        if let Some(denied) = missing.iter().find(denied) {
            return Admission::Answer(Err(refuse(denied, Decision::Denied, request)));
        }
        if request.kind == Kind::Call && can_ask(&request.context, &session) {
            return Admission::Ask(missing);
        }
        Admission::Answer(Err(refuse(&missing[0], Decision::Deferred, request)))
    }

    /// What the clock says, and never less than it said before: a clock that is put back revives nothing.
    fn now(&self) -> Timestamp {
        self.latest.after(self.clock.now())
    }

    /// What the sender of `request` granted.
    fn held(
        &self,
        request: &Request,
        session: &Arc<Session>,
        now: Timestamp,
    ) -> Option<Arc<PermissionResponse>> {
        if !session.revision.is_stateless() {
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

    /// Answers at once what is known; the rest the client tells when its operator has decided.
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
        if !session.revision.is_stateless() {
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

impl<S: RpcService> Service<Request> for HeldPermissions<S> {
    type Response = Response;
    type Error = Error;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        // Grants change here and not in the future, so that the calls behind them find them.
        match self.shared.admit(&mut request) {
            Admission::Pass => GateFuture::passed(self.inner.call(request)),
            Admission::Answer(answer) => GateFuture::answered(answer),
            Admission::Ask(missing) => {
                let mut inner = self.inner.clone();
                GateFuture::waiting(async move {
                    ask(&request, &missing).await?;
                    poll_fn(|cx| inner.poll_ready(cx)).await?;
                    inner.call(request).await
                })
            }
        }
    }
}

/// Asks the client for what is missing, for this call.
async fn ask(request: &Request, missing: &[Permission]) -> Result<(), Error> {
    let names: Vec<String> = missing.iter().map(|permission| permission.as_str().to_owned()).collect();
    let list: Vec<_> = names.iter().map(|name| approval::line(name)).collect();
    let list = list.join("`, `");
    let tool = approval::line(&request.params.text("name").unwrap_or_default());
    let message = format!("The tool `{tool}` needs the permission `{list}`. Grant it?");
    // The name has to be the same in each round of one request.
    let key = format!("mgp-permission-{}", names.join("-"));
    let body =
        PermissionRequest::new(format!("perm-{}", random::name()?), names, ApprovalPolicy::Interactive);
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

/// Whether the client can ask a human.
fn can_ask(context: &Context, session: &Session) -> bool {
    let reachable = context.input.is_some() || (!session.revision.is_stateless() && context.outbox.is_open());
    let unspecific = session.peer_can(&["elicitation"]) && !session.peer_can(&["elicitation", "url"]);
    reachable && (unspecific || session.peer_can(&["elicitation", "form"]))
}

fn refuse(permission: &Permission, decision: Decision, request: &Request) -> Error {
    let (reason, next) = match decision {
        Decision::Denied => ("denied", "call a tool that does without"),
        _ => ("not_granted", "grant it by `mgp/permission/response`, or with the request, and call again"),
    };
    if let Some(trail) = &request.context.trail {
        trail.note_refusal(Refusal::new("permission", "permission-not-held"));
    }
    let details = [("reason", reason), ("permission", permission.as_str()), ("next", next)];
    let recovery = advice(code::PERMISSION_DENIED, &details);
    let message = format!("the tool needs the permission `{permission}`, which the client has not granted");
    Error::new(code::PERMISSION_DENIED, message).with_recovery(recovery)
}

fn plain<T: serde::Serialize>(result: &T) -> Response {
    RawJson::from_value(result).map_or_else(|_| Response::empty(), Response::plain)
}

impl<S> fmt::Debug for HeldPermissions<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldPermissions").finish_non_exhaustive()
    }
}

const HANDLE_TTL: Duration = Duration::from_hours(1);
const MAX_PERMISSIONS: usize = 64;
