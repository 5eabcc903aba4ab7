//! The server's side of permissions: the grants of its clients.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use mgp_types::mgp::{
    Decision, Extension, Grant, Permission, PermissionRequest, PermissionResponse, Timestamp, method,
};
use mgp_types::{Error, Flow, Gate, Request, Response, Session};
use parking_lot::Mutex;

use super::gate::is_about_permissions;
use crate::Clock;
use crate::latest_time::LatestTime;

/// A gate that takes the grants of clients, and tells clients what they granted.
///
/// The gate stands behind the layer that sets the session. It reads `context.session`, and writes nothing.
///
/// The gate answers `mgp/permission/request`: the client decides, so permissions that it has not reported are
/// deferred. Decisions that the client reports by `mgp/permission/response` hold for the session. Without sessions,
/// each request carries its grants in `_meta`; a request that carries none has none. Where permissions were not negotiated, these methods do not exist. Other requests pass untouched.
///
/// Clones share the grants.
#[derive(Clone)]
pub struct HeldPermissionsGate(Arc<HeldPermissionsShared>);

struct HeldPermissionsShared {
    clock: Clock,
    latest: LatestTime,
    /// The grants of each session by its address, kept as long as the session lasts.
    grants: Mutex<HashMap<usize, SessionGrants, RandomState>>,
}

impl HeldPermissionsGate {
    /// Returns a gate that holds no grants yet, which end by `clock`.
    pub fn new(clock: Clock) -> Self {
        let (latest, grants) = Default::default();
        Self(Arc::new(HeldPermissionsShared { clock, latest, grants }))
    }
}

mgp_types::partial_debug!(HeldPermissionsGate);

impl Gate for HeldPermissionsGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        self.0.answer(request).map_or(Flow::Pass(()), Flow::Answer)
    }
}

impl HeldPermissionsShared {
    /// Returns the answer to a request about permissions; `None` for another request.
    fn answer(&self, request: &Request) -> Option<Result<Response, Error>> {
        let name = request.method.as_str();
        if !is_about_permissions(name) {
            return None;
        }
        let Some(session) = &request.context.session else {
            return Some(Err(Error::invalid_request("the request belongs to no session")));
        };
        if !session.has(&Extension::Permissions) {
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

    /// Returns the grants of the sender of `request` that hold at `now`; those of a session until the first of them ends.
    fn held(&self, request: &Request, session: &Arc<Session>, now: Timestamp) -> Option<PermissionResponse> {
        if !session.lasts() {
            let grants: PermissionResponse = request.meta(method::GRANTS_META)?.to().ok()?;
            return Some(grants).filter(|grants| holds(grants.expires_at, now));
        }
        let accounts = self.grants.lock();
        let held = accounts.get(&key(session))?.grants.iter().filter(|(_, (_, end))| holds(*end, now));
        let ends =
            held.clone().filter_map(|(_, (grant, end))| end.filter(|_| grant.decision == Decision::Approved));
        let first_end = ends.min();
        let grants = held.map(|(name, (grant, _))| (name.clone(), grant.clone())).collect();
        Some(PermissionResponse::new(String::new(), grants).with_expires_at(first_end))
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
            self.add(session, decided, self.now());
        }
        Ok(Response::empty())
    }

    /// Adds the decisions made in `session` at `now`; a newer decision about a permission replaces an older one.
    fn add(&self, session: &Arc<Session>, decided: PermissionResponse, now: Timestamp) {
        let mut accounts = self.grants.lock();
        accounts.retain(|_, account| account.session.strong_count() > 0);
        let account = accounts
            .entry(key(session))
            .or_insert_with(|| SessionGrants { session: Arc::downgrade(session), grants: BTreeMap::new() });
        account.grants.retain(|_, (_, end)| holds(*end, now));
        for (name, grant) in decided.grants {
            if account.grants.len() < MAX_GRANTS || account.grants.contains_key(&name) {
                account.grants.insert(name, (grant, decided.expires_at));
            }
        }
    }
}

/// The grants of one session.
struct SessionGrants {
    /// The session that the grants belong to, whose address no other session gets before they are removed.
    session: Weak<Session>,
    /// The decisions by the permission's requested name, each with its own end.
    grants: BTreeMap<String, (Grant, Option<Timestamp>)>,
}

/// Returns whether a decision with this end holds at `now`.
fn holds(end: Option<Timestamp>, now: Timestamp) -> bool {
    end.is_none_or(|end| now < end)
}

fn key(session: &Arc<Session>) -> usize {
    Arc::as_ptr(session).addr()
}

/// The largest number of grants of a session: more than there are types, with room for custom ones.
const MAX_GRANTS: usize = 256;
/// The largest number of permissions in one request.
const MAX_PERMISSIONS: usize = 64;

#[cfg(test)]
mod tests;
