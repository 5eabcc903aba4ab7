//! The answers of the gate with which clients settle permissions.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_types::mgp::{
    Decision, Extension, Grant, Permission, PermissionRequest, PermissionResponse, Timestamp, method,
};
use mgp_types::{Error, Flow, Gate, Request, Response, Session};

use super::super::gate;
use super::ledger::holds;
use super::{HeldPermissionsGate, HeldPermissionsShared};

impl HeldPermissionsShared {
    /// Returns the answer to a request about permissions; `None` for another request.
    fn answer(&self, request: &Request) -> Option<Result<Response, Error>> {
        let name = request.method.as_str();
        if !gate::is_about_permissions(name) {
            return None;
        }
        let Some(session) = &request.context.session else {
            return Some(Err(Error::invalid_request("the request belongs to no session")));
        };
        if !session.mgp.as_ref().is_some_and(|mgp| mgp.has(&Extension::Permissions)) {
            return Some(Err(Error::method_not_found(&request.method)));
        }
        let asks = matches!(name, method::PERMISSION_REQUEST | method::PERMISSION_AWAIT);
        Some(if asks { self.await_decision(request, session) } else { self.take(request, session) })
    }

    /// Returns the time of the clock, but never less than a time returned before: setting the clock back revives no
    /// grant.
    fn now(&self) -> Timestamp {
        self.latest.after(self.clock.now())
    }

    /// Returns the grants of the sender of `request`.
    fn held(&self, request: &Request, session: &Arc<Session>, now: Timestamp) -> Option<PermissionResponse> {
        if session.lasts() {
            return self.ledger.held(session, now);
        }
        let grants: PermissionResponse = request.meta(method::GRANTS_META)?.to().ok()?;
        Some(grants).filter(|grants| holds(grants.expires_at, now))
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
        Response::with_body(&answer)
    }

    fn take(&self, request: &Request, session: &Arc<Session>) -> Result<Response, Error> {
        let decided: PermissionResponse = request.body()?;
        if decided.grants.len() > MAX_PERMISSIONS {
            return Err(Error::invalid_params("these are more permissions than there are"));
        }
        if session.lasts() {
            self.ledger.add(session, decided, self.now());
        }
        Ok(Response::empty())
    }
}

impl Gate for HeldPermissionsGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        self.0.answer(request).map_or(Flow::Pass(()), Flow::Answer)
    }
}

/// The largest number of permissions in one request.
const MAX_PERMISSIONS: usize = 64;
