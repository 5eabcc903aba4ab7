//! The side of permissions that asks a server for them and holds calls to them: the gate on the way to one server.

mod ask;
mod judge;
mod negotiate;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use foldhash::fast::RandomState;
use mgp_types::mgp::{Permission, PermissionResponse, ServerId, method};
use mgp_types::{AskedRule, Error, Flow, Gate, Request, Session};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;

use self::ask::WaitedPermissions;
use self::judge::RequestAdmission;
use self::negotiate::AttachedGrants;
use super::{Approver, GrantBook, PermissionSettings};

/// The gate that enforces the permissions of one server: its needs, the settings, and the decisions of operators.
///
/// One gate is made for each connection to a server. [`negotiate`](Self::negotiate) settles what the server needs to
/// operate before the first call; as a [`Gate`] it holds each call to the granted permissions; and
/// [`follow`](Self::follow) tells the server about later decisions. Clones share it.
#[derive(Clone)]
pub struct PermissionGate(Arc<PermissionGateInner>);

struct PermissionGateInner {
    server: ServerId,
    settings: PermissionSettings,
    book: GrantBook,
    approver: Arc<dyn Approver>,
    /// The permissions for which the decision of the settings is in the audit trail; only then does it count.
    settled: ArcSwap<SettledPermissions>,
    settling: tokio::sync::Mutex<()>,
    /// The connected server; `None` until its needs are known.
    connected: ArcSwapOption<ConnectedServer>,
    /// True while the needs of the server are settled.
    negotiating: watch::Sender<bool>,
    attached: ArcSwapOption<AttachedGrants>,
}

type SettledPermissions = HashSet<Permission, RandomState>;

/// The facts about the server that are known once it is connected.
struct ConnectedServer {
    /// The permissions that the server needs to operate, as it names them and as parsed.
    required: Vec<(Box<str>, Permission)>,
    session: Arc<Session>,
    /// The id of the request that the decisions answer.
    request_id: String,
    /// True if grants travel with each call.
    attaches: bool,
    last_sent: Mutex<Option<PermissionResponse>>,
}

impl PermissionGate {
    /// Returns the gate to `server`, whose permissions are decided by `settings` and `book`, and by operators whom
    /// `approver` asks.
    pub fn new(
        server: ServerId,
        settings: PermissionSettings,
        book: GrantBook,
        approver: Arc<dyn Approver>,
    ) -> Self {
        Self(Arc::new(PermissionGateInner {
            server,
            settings,
            book,
            approver,
            settled: ArcSwap::default(),
            settling: tokio::sync::Mutex::default(),
            connected: ArcSwapOption::empty(),
            negotiating: watch::Sender::new(false),
            attached: ArcSwapOption::empty(),
        }))
    }

    /// Returns the id of the server behind the gate.
    pub fn server(&self) -> &ServerId {
        &self.0.server
    }

    /// Waits until the needs of the server are settled, and returns what is undecided about the request then.
    async fn undecided_after_negotiation(&self, request: &Request) -> Vec<Permission> {
        let mut negotiating = self.0.negotiating.subscribe();
        // Who has waited long enough is told how things stand.
        let _ = timeout(NEGOTIATED_WITHIN, negotiating.wait_for(|is_so| !is_so)).await;
        if let Ok(RequestAdmission::Wait(undecided)) = self.admit(request) { undecided } else { Vec::new() }
    }

    /// Waits for an operator, and returns the guard for what was granted for the call alone.
    async fn permit(
        &self,
        request: &mut Request,
        undecided: &[Permission],
    ) -> Result<Option<OnceGrantGuard>, Error> {
        let mut waited = self.settle_all(undecided, Some(request)).await?;
        let once = std::mem::take(&mut waited.once);
        let running = OnceGrantGuard::begin(&self.0.book, self.server(), once, request);
        self.admit_late(request, &waited)?;
        if waited.was_shown
            && let Some(flow) = &mut request.context.flow
        {
            // Whoever said yes to the permission was shown the flow, too.
            Arc::make_mut(flow).is_new = false;
        }
        self.attach(request);
        Ok(running)
    }
}

mgp_types::partial_debug!(PermissionGate, self =>
    server: self.0.server,
    policy: self.0.settings.policy,
    connected: self.0.connected.load().is_some(),
);

/// Lets through the calls that the server's permissions allow, and refuses the others with 1000 and advice.
///
/// The gate stands on the way to one server: further in than the layers that check arguments, so that a scope and a
/// human see checked arguments; further out than every timeout, because a call may wait for a human; and further out
/// than the translation between protocol eras. It reads `context.tool`, and refuses a call without it. It writes
/// `context.trail` and, in the era without sessions, the grants into the request's `_meta`, from which it removes a
/// value put there by the caller. The methods that ask for and grant permissions do not pass: only the gate itself
/// sends them.
///
/// A call that is allowed by decisions without a scope passes without a lock and without an allocation. A call that
/// has to wait for an operator boxes its future; dropping it withdraws the question.
impl Gate for PermissionGate {
    /// The guard that ends one-call grants when it is dropped.
    type Pass = Option<OnceGrantGuard>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        match self.admit(request) {
            Ok(RequestAdmission::Pass) => {
                self.attach(request);
                return Flow::Pass(None);
            }
            Ok(RequestAdmission::Wait(_) | RequestAdmission::Negotiating) => {}
            Err(error) => return Flow::refuse(error),
        }
        let (gate, mut request) = (self.clone(), request.take());
        Flow::wait(async move {
            let undecided = gate.undecided_after_negotiation(&request).await;
            let flow = gate.permit(&mut request, &undecided).await.into();
            (request, flow)
        })
    }

    /// Refuses a call whose permission was taken away while it waited, and updates the grants that it carries.
    fn recheck(&self, _: &mut Self::Pass, request: &mut Request) -> Result<(), Error> {
        self.admit_late(request, &WaitedPermissions::default())?;
        self.attach(request);
        Ok(())
    }

    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        let undecided = self.questions(request).map(|permissions| {
            let names = permissions.iter().map(|permission| format!("`{permission}`"));
            names.collect::<Vec<_>>().join(", ")
        });
        answers.push(match undecided {
            Ok(names) if !names.is_empty() => {
                AskedRule::asks("permissions", format!("nobody decided about {names}"))
            }
            decided => AskedRule::judged("permissions", decided),
        });
    }
}

/// The longest time that a call waits for the end of a negotiation in which nobody is asked.
const NEGOTIATED_WITHIN: Duration = Duration::from_secs(5);

/// Returns whether the method asks for permissions or grants them.
pub(super) fn is_about_permissions(name: &str) -> bool {
    let asks = matches!(name, method::PERMISSION_REQUEST | method::PERMISSION_AWAIT);
    asks || matches!(name, method::PERMISSION_RESPONSE | method::PERMISSION_GRANT)
}

/// The permissions that were granted for the request that carries them, and for no other. The gate puts them into the
/// request; no code outside this crate can.
#[derive(Debug)]
pub(crate) struct GrantedOnce(Vec<Permission>);

/// A guard for a running call with permissions granted for it alone; the server has them until the guard is dropped.
pub struct OnceGrantGuard {
    book: GrantBook,
    server: ServerId,
    permissions: Vec<Permission>,
}

impl GrantedOnce {
    /// Returns whether `permission` was granted for this request.
    pub(crate) fn holds(request: &Request, permission: &Permission) -> bool {
        request.extensions.get::<Self>().is_some_and(|once| once.0.contains(permission))
    }
}

impl OnceGrantGuard {
    /// Lets `request` go on with `permissions`, until the returned guard is dropped.
    fn begin(
        book: &GrantBook,
        server: &ServerId,
        permissions: Vec<Permission>,
        request: &mut Request,
    ) -> Option<Self> {
        if permissions.is_empty() {
            return None;
        }
        book.count_once(server, &permissions, true);
        request.extensions.insert(GrantedOnce(permissions.clone()));
        Some(Self { book: book.clone(), server: server.clone(), permissions })
    }
}

mgp_types::partial_debug!(OnceGrantGuard, self => permissions: self.permissions);

impl Drop for OnceGrantGuard {
    fn drop(&mut self) {
        self.book.count_once(&self.server, &self.permissions, false);
    }
}

#[cfg(test)]
mod tests;
