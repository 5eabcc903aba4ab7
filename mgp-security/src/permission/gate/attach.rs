//! The grants that travel with each call to a server of the era without sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mgp_types::mgp::{Decision, Grant, Permission, PermissionResponse, Scope, Timestamp, method};
use mgp_types::{Method, RawJson, Request};

use super::{ConnectedServer, PermissionGate};
use crate::permission::book::GrantsByServer;
use crate::permission::settings::PermissionJudgement;

/// The value that travels with each call, and the decisions that it was made from.
pub(super) struct AttachedGrants {
    made_of: GrantSource,
    until: Option<Timestamp>,
    value: RawJson,
}

/// The decisions that an attached value was made from: those of operators, and the number of those of the settings, which
/// only grows.
type GrantSource = (Arc<GrantsByServer>, usize);

impl PermissionGate {
    /// Attaches the grants to a call to a server that keeps none, and removes a value that the caller put in their
    /// place.
    pub(super) fn attach(&self, request: &mut Request) {
        let connected = self.0.connected.load();
        let attaches = connected.as_ref().filter(|connected| connected.attaches);
        if let Some(connected) = attaches.filter(|_| request.method == Method::TOOLS_CALL) {
            let value = self.attached(connected);
            request.meta_mut_or_new().set(method::GRANTS_META, value);
        } else if let Some(meta) = request.meta_mut() {
            meta.remove(method::GRANTS_META);
        }
    }

    fn attached(&self, connected: &ConnectedServer) -> RawJson {
        let now = self.0.book.now();
        let last = self.0.attached.load();
        if let Some(last) = &*last
            && self.0.book.is_still(&last.made_of.0)
            && last.made_of.1 == self.0.settled.load().len()
            && last.until.is_none_or(|until| now < until)
        {
            return last.value.clone();
        }
        // The source is taken before the decisions are made, so that changes meanwhile are noticed.
        let made_of = (self.0.book.moment(), self.0.settled.load().len());
        let response = self.decisions(connected);
        // Grants that cannot be written count as none.
        let value = RawJson::from_value(&response).unwrap_or_else(|_| RawJson::empty_object());
        let until = response.expires_at;
        let attached = AttachedGrants { made_of, until, value: value.clone() };
        self.0.attached.store(Some(Arc::new(attached)));
        value
    }

    /// Returns all current decisions about the server, under the server's own names of the permissions.
    pub(super) fn decisions(&self, connected: &ConnectedServer) -> PermissionResponse {
        let standing = self.0.book.standing();
        let now = self.0.book.now();
        let settled = self.0.settled.load();
        let mut grants = BTreeMap::new();
        let mut approvers = BTreeSet::new();
        let mut end = None;
        let known: BTreeSet<&Permission> =
            standing.permissions(self.server()).chain(settled.iter()).collect();
        let required = connected.required.iter().map(|(spelling, permission)| (&**spelling, permission));
        for (name, permission) in
            known.into_iter().map(|known| (connected.spelling(known), known)).chain(required)
        {
            let grant = match self.judge(&standing, permission, None, now) {
                PermissionJudgement::Approved { terms, by, .. } => {
                    approvers.insert(by.to_owned());
                    end = [end, terms.expires_at].into_iter().flatten().min();
                    let grant = Grant::new(Decision::Approved);
                    match &terms.scope {
                        Some(scope) => grant.with_scope(Scope::clone(scope)),
                        None => grant,
                    }
                }
                PermissionJudgement::Denied { .. } | PermissionJudgement::Expired => {
                    Grant::new(Decision::Denied)
                }
                // The server is told that it has the permission; the gate lets through only the call for which it was
                // granted.
                _ if standing.is_used_once(self.server(), permission) => Grant::new(Decision::Approved),
                PermissionJudgement::Unsettled | PermissionJudgement::Undecided { .. } => {
                    Grant::new(Decision::Deferred)
                }
            };
            grants.insert(name.to_owned(), grant);
        }
        let response = PermissionResponse::new(connected.request_id.clone(), grants).with_expires_at(end);
        if approvers.is_empty() {
            return response;
        }
        response.with_approved_by(approvers.into_iter().collect::<Vec<_>>().join(", "))
    }
}
