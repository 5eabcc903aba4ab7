//! The client's side: the gate on the way to one server.

mod ask;
mod attach;
mod inbound;
mod judge;
mod negotiate;
mod once;
mod refusal;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use foldhash::fast::RandomState;
use mgp_types::mgp::{Permission, PermissionResponse, ServerId, code, method};
use mgp_types::{Error, Flow, Gate, Origin, Request, Response, Session};
use parking_lot::Mutex;

use self::ask::WaitedPermissions;
use self::attach::{AttachedGrants, CarriedGrants};
pub use self::inbound::PermissionAnswerGate;
use self::judge::RequestAdmission;
pub use self::negotiate::Settlement;
pub(crate) use self::once::GrantedOnce;
use self::once::OnceGrantGuard;
use super::{Approver, GrantBook, PermissionSettings};

/// What the permissions of one server come to: what it needs, what the settings say, and what operators decided.
///
/// One is made for each connection to a server. [`negotiate`](Self::negotiate) settles what the server needs to
/// operate before the first call, as a [`Gate`] it holds each call to what is granted, and
/// [`follow`](Self::follow) tells the server what is decided later. Clones share it.
#[derive(Clone)]
pub struct PermissionGate(Arc<PermissionGateInner>);

struct PermissionGateInner {
    server: ServerId,
    settings: PermissionSettings,
    book: GrantBook,
    approver: Option<Arc<dyn Approver>>,
    /// The permissions for which what the settings say stands in the audit trail; only then does it count.
    settled: ArcSwap<SettledPermissions>,
    settling: tokio::sync::Mutex<()>,
    /// `None` until what the server needs is known.
    connected: ArcSwapOption<ConnectedServer>,
    attached: ArcSwapOption<AttachedGrants>,
}

type SettledPermissions = HashSet<Permission, RandomState>;

/// What is known of the server once it is connected.
struct ConnectedServer {
    /// What it needs to operate, in its own spelling and in ours.
    required: Vec<(Box<str>, Permission)>,
    session: Arc<Session>,
    /// What the decisions answer.
    request_id: String,
    /// Whether grants travel with each call.
    attaches: bool,
    told: Mutex<Option<PermissionResponse>>,
}

impl PermissionGate {
    /// The gate to `server`, whose permissions are decided about by `settings` and `book`.
    ///
    /// Without an [approver](Self::with_approver) nobody is asked, and what needs an operator waits until one decides
    /// in the book.
    pub fn new(server: ServerId, settings: PermissionSettings, book: GrantBook) -> Self {
        Self(Arc::new(PermissionGateInner {
            server,
            settings,
            book,
            approver: None,
            settled: ArcSwap::default(),
            settling: tokio::sync::Mutex::default(),
            connected: ArcSwapOption::empty(),
            attached: ArcSwapOption::empty(),
        }))
    }

    /// The gate with somebody who asks operators. It has to be given before the gate is shared.
    #[must_use]
    pub fn with_approver(self, approver: Arc<dyn Approver>) -> Self {
        let inner = &self.0;
        Self(Arc::new(PermissionGateInner {
            server: inner.server.clone(),
            settings: inner.settings.clone(),
            book: inner.book.clone(),
            approver: Some(approver),
            settled: ArcSwap::default(),
            settling: tokio::sync::Mutex::default(),
            connected: ArcSwapOption::empty(),
            attached: ArcSwapOption::empty(),
        }))
    }

    /// The server behind the gate.
    pub fn server(&self) -> &ServerId {
        &self.0.server
    }

    pub(super) fn book(&self) -> &GrantBook {
        &self.0.book
    }
}

impl fmt::Debug for PermissionGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermissionGate")
            .field("server", &self.0.server)
            .field("policy", &self.0.settings.policy())
            .field("connected", &self.0.connected.load().is_some())
            .finish_non_exhaustive()
    }
}

/// Lets through what the server was granted, and refuses the rest with 1000 and advice.
///
/// Sits on the way to one server, inside of whatever checks arguments, so that a scope and a human see the arguments
/// that were checked; outside of every timeout, because a call may wait for a human; and outside of the era. Reads
/// `context.tool`, and refuses a call without it; writes `context.trail`, and in the era without sessions the grants
/// into the request's `_meta`, from which it takes away what a caller may have put there. The methods that ask for
/// and grant permissions do not pass: they are the gate's own.
///
/// A call that is allowed by decisions without a scope is let through without a lock and without an allocation. A call
/// that has to wait for an operator boxes its future; dropping it takes the question back.
impl Gate for PermissionGate {
    type Pass = PermittedCall;

    fn enter(&self, request: &mut Request) -> Flow<PermittedCall> {
        let undecided = match self.admit(request) {
            RequestAdmission::Pass => {
                return Flow::Pass(PermittedCall { carried: self.attach(request), running: None });
            }
            RequestAdmission::Refused(error) => return Flow::refuse(error),
            RequestAdmission::Wait(undecided) => undecided,
        };
        let (gate, mut request) = (self.clone(), request.take());
        Flow::wait(async move {
            let flow = gate.permit(&mut request, &undecided).await.into();
            (request, flow)
        })
    }

    /// Refuses a call whose permission was taken away while it waited, and has it carry the grants as they are now.
    fn recheck(&self, call: &mut PermittedCall, request: &mut Request) -> Result<(), Error> {
        self.admit_late(request, &WaitedPermissions::default())?;
        call.carried = self.attach(request);
        Ok(())
    }

    fn leave(&self, call: PermittedCall, outcome: &mut Result<Response, Error>) {
        if call.carried == CarriedGrants::Handle {
            self.heed(outcome);
        }
    }
}

/// A call that may be made: what it carries, and what it was granted for itself alone.
pub struct PermittedCall {
    carried: CarriedGrants,
    /// Ends what was granted once when it is dropped.
    #[expect(dead_code, reason = "it is held, and not read")]
    running: Option<OnceGrantGuard>,
}

impl PermissionGate {
    /// Waits for an operator.
    async fn permit(&self, request: &mut Request, undecided: &[Permission]) -> Result<PermittedCall, Error> {
        let mut waited = self.wait(request, undecided).await?;
        let once = std::mem::take(&mut waited.once);
        let running = OnceGrantGuard::begin(self.book(), self.server(), once, request);
        self.admit_late(request, &waited)?;
        Ok(PermittedCall { carried: self.attach(request), running })
    }

    /// Gives up a handle that the server does not take any more; the next call carries the grants themselves.
    fn heed(&self, outcome: &Result<Response, Error>) {
        let refused =
            |error: &Error| error.code() == code::PERMISSION_DENIED && error.origin() == Origin::Peer;
        if outcome.as_ref().is_err_and(refused) {
            self.drop_handle();
        }
    }
}

impl fmt::Debug for PermittedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermittedCall").field("carried", &self.carried).finish_non_exhaustive()
    }
}

/// Whether the method asks for permissions or grants them.
pub(super) fn is_about_permissions(name: &str) -> bool {
    matches!(
        name,
        method::PERMISSION_REQUEST
            | method::PERMISSION_RESPONSE
            | method::PERMISSION_AWAIT
            | method::PERMISSION_GRANT
    )
}

#[cfg(test)]
mod tests;
