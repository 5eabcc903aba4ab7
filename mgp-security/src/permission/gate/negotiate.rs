//! The negotiation of a server's permissions: settling its needs before the first call, and telling it about
//! decisions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mgp_types::mgp::{
    ApprovalPolicy, Decision, Extension, Grant, Permission, PermissionRequest, PermissionResponse, Recovery,
    Scope, Timestamp, Version, code, method,
};
use mgp_types::{
    Error, Method, Object, Origin, RawJson, Request, RpcService, Session, call_once, random_name,
};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;

use super::{ConnectedServer, PermissionGate};
use crate::permission::book::GrantsByServer;
use crate::permission::settings::PermissionJudgement;

/// A guard that ends a negotiation when it is dropped.
struct NegotiationGuard<'a>(&'a watch::Sender<bool>);

impl Drop for NegotiationGuard<'_> {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

impl PermissionGate {
    /// Settles the permissions that the server behind `service` needs to operate, as it declared in `session`, and
    /// tells it the outcome (§3.4). To be called when the connection is agreed on and before the first call;
    /// `service` is the way to the server below the gate.
    ///
    /// The answer of the server does not count as a decision; only an operator's does.
    ///
    /// # Errors
    /// Fails if the connection is to be rejected: the server may not have what it needs (1000), it declares more than
    /// can be checked, or the decisions cannot be recorded. Also fails if the connection is lost.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the questions to operators, and leaves the gate shut.
    pub async fn negotiate<S: RpcService>(
        &self,
        service: &mut S,
        session: &Arc<Session>,
    ) -> Result<(), Error> {
        self.0.connected.store(None);
        self.0.attached.store(None);
        self.0.negotiating.send_replace(true);
        let _negotiating = NegotiationGuard(&self.0.negotiating);
        let required = required(session)?;
        let mut permissions: Vec<Permission> =
            required.iter().map(|(_, permission)| permission.clone()).collect();
        permissions.sort_unstable();
        permissions.dedup();
        let speaks = session.has(&Extension::Permissions);
        let connected = ConnectedServer {
            required,
            session: session.clone(),
            request_id: format!("perm-{}", random_name()),
            attaches: speaks && session.describes_each_request(),
            last_sent: Mutex::default(),
        };
        let asks = |permission| self.undecided(permission, None).is_some();
        let waits = speaks && session.lasts() && permissions.iter().any(asks);
        let mut hears = speaks && !permissions.is_empty();
        if waits {
            hears = self.send_request(service, &connected).await?;
        }
        //= mgp §3.4
        //# (client checks policy)
        self.settle_all(&permissions, None).await?;
        if hears {
            self.send_decisions(service, &connected).await?;
        }
        let (standing, now) = (self.0.book.standing(), self.0.book.now());
        permissions.retain(|permission| {
            let judged = self.judge(&standing, permission, None, now);
            matches!(judged, PermissionJudgement::Denied { .. } | PermissionJudgement::Expired)
        });
        //= mgp §3.4
        //# (connection proceeds or is rejected)
        if !permissions.is_empty() {
            return Err(self.rejected(&permissions));
        }
        self.0.connected.store(Some(Arc::new(connected)));
        Ok(())
    }

    /// Tells the server about all further decisions, until the connection is lost. To be polled beside the
    /// connection.
    ///
    /// # Errors
    /// Fails when the connection is lost.
    pub async fn follow<S: RpcService>(&self, mut service: S) -> Result<(), Error> {
        let mut changes = self.0.book.changes();
        loop {
            // Decisions made before anybody listened are told first.
            let connected = self.0.connected.load_full();
            if let Some(connected) = connected.filter(|connected| connected.last_sent.lock().is_some()) {
                self.send_decisions(&mut service, &connected).await?;
            }
            // The sender belongs to the book, which is held here, so it cannot be dropped.
            let _ = changes.changed().await;
        }
    }

    /// Asks the server to wait for approval, and returns whether it knows the method.
    //= mgp §3.5
    //# Direction: Client → Server (the client asks the server to wait for approval)
    async fn send_request<S: RpcService>(
        &self,
        service: &mut S,
        connected: &ConnectedServer,
    ) -> Result<bool, Error> {
        let names = connected.required.iter().map(|(spelling, _)| spelling.clone().into_string()).collect();
        // An exception under `auto_approve` is asked about as under `interactive`.
        let body = PermissionRequest::new(connected.request_id.clone(), names, ApprovalPolicy::Interactive)
            .with_message("Waiting for operator approval");
        let name = spoken(&connected.session, method::PERMISSION_REQUEST, method::PERMISSION_AWAIT);
        let answer = send(service, connected, name, &body).await?;
        if let Some(Ok(answer)) = answer.as_ref().map(RawJson::to::<PermissionResponse>) {
            let own = answer.grants.values().any(|grant| grant.decision == Decision::Approved);
            tracing::debug!(server = %self.server(), own, "the server answered the request for approval");
        }
        Ok(answer.is_some())
    }

    /// Tells the server the current decisions, if it does not know them yet.
    async fn send_decisions<S: RpcService>(
        &self,
        service: &mut S,
        connected: &ConnectedServer,
    ) -> Result<(), Error> {
        let decisions = self.decisions(connected);
        if connected.last_sent.lock().as_ref() == Some(&decisions) {
            return Ok(());
        }
        let name = spoken(&connected.session, method::PERMISSION_RESPONSE, method::PERMISSION_GRANT);
        if send(service, connected, name, &decisions).await?.is_some() {
            *connected.last_sent.lock() = Some(decisions);
        }
        Ok(())
    }

    fn rejected(&self, denied: &[Permission]) -> Error {
        let names: Vec<_> = denied.iter().map(Permission::as_str).collect();
        let denied = RawJson::from_value(&names).unwrap_or_else(|_| RawJson::null());
        let next = "an operator can grant it; then connect again";
        let details = Object::from([("denied", denied), ("next", RawJson::from_text(next))]);
        let (server, names) = (self.server(), names.join(", "));
        let message = format!("the server `{server}` may not have what it needs to operate: {names}");
        let recovery = Recovery::for_code(code::PERMISSION_DENIED).unwrap_or_default();
        Error::new(code::PERMISSION_DENIED, message).with_recovery(recovery.with_details(&details))
    }

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

/// Returns the permissions that the server declared, each once under the first name that it gave.
fn required(session: &Session) -> Result<Vec<(Box<str>, Permission)>, Error> {
    let declared = session.mgp.as_ref().map_or(&[][..], |mgp| &mgp.peer().permissions_required);
    if declared.len() > MAX_REQUIRED || declared.iter().any(|name| name.len() > MAX_NAME_BYTES) {
        return Err(Error::misbehaved("the server declares more permissions than anybody can look at"));
    }
    let mut required: Vec<(Box<str>, Permission)> = Vec::with_capacity(declared.len());
    for name in declared {
        if !required.iter().any(|(spelling, _)| spelling == name) {
            required.push((name.clone(), Permission::read(name)));
        }
    }
    Ok(required)
}

/// Returns the newer method name for peers that declare a version that has it, or else the specified one.
fn spoken(session: &Session, specified: &'static str, later: &'static str) -> &'static str {
    let version = session.mgp.as_ref().map(|mgp| mgp.peer().version);
    if version.is_some_and(|version| version >= RENAMED_IN) { later } else { specified }
}

/// Sends a call; returns `None` if the server does not know the method or refuses it.
async fn send<S: RpcService>(
    service: &mut S,
    connected: &ConnectedServer,
    name: &'static str,
    body: &impl Serialize,
) -> Result<Option<RawJson>, Error> {
    let mut request = Request::with_body(name, body)?;
    request.context.session = Some(connected.session.clone());
    match call_once(service, request).await {
        Ok(response) => Ok(Some(response.to_raw())),
        Err(error) if error.origin() == Origin::Connection => Err(error),
        Err(error) => {
            // Some servers answer an unknown method with the code for wrong parameters.
            if !matches!(error.code(), code::METHOD_NOT_FOUND | code::INVALID_PARAMS) {
                tracing::debug!(%error, method = name, "the server refuses to hear about permissions");
            }
            Ok(None)
        }
    }
}

/// The value that travels with each call, and the decisions that it was made from.
pub(super) struct AttachedGrants {
    /// The decisions of operators, and the number of those of the settings, which only grows.
    made_of: (Arc<GrantsByServer>, usize),
    until: Option<Timestamp>,
    value: RawJson,
}

/// The version of MGP from which on peers know the later method names.
const RENAMED_IN: Version = Version::new(0, 4, 0);

/// The largest number of permissions that a server may declare: more than there are types, with room for custom ones.
const MAX_REQUIRED: usize = 64;

/// The largest length of a permission's name, in bytes.
const MAX_NAME_BYTES: usize = 256;
