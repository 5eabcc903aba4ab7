//! What the tests of permissions and confirmations are arranged with.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::task::{Context, Poll};

use mgp_types::mgp::{
    AuditEvent, AuditPort, EffectiveSecurity, ExtensionSet, MgpVersion, Negotiated, Offer, Permission,
    ResolvedTool, RiskLevel, Timestamp,
};
use mgp_types::{
    BoxFuture, Error, Method, Object, Params, Principal, RawJson, Request, Response, Revision, Session,
};
use parking_lot::Mutex;
use tower_service::Service;

use super::{
    ApprovalAnswer, ApprovalQuestion, Approver, GrantBook, GrantRecord, GrantStore, MemoryGrants,
    PermissionGate, PermissionSettings,
};
use crate::{Clock, StoreError};

/// A trail that is read back, and can be made to fail.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    events: Mutex<Vec<AuditEvent>>,
    pub(crate) broken: AtomicBool,
}

impl Recorded {
    /// What happened, as `TYPE permission RESULT`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |event: &AuditEvent| {
            let permission = event.details.text("permission").unwrap_or_default();
            format!("{} {permission} {}", event.event_type.as_str(), event.result.as_str())
        };
        self.events.lock().iter().map(line).collect()
    }
}

impl AuditPort for Recorded {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            if self.broken.load(Ordering::Relaxed) {
                return Err(Error::internal("the log is full"));
            }
            self.events.lock().push(event);
            Ok(())
        })
    }
}

/// A store that can be made to fail.
#[derive(Debug, Default, Clone)]
pub(crate) struct Fragile(Arc<(MemoryGrants, AtomicBool)>);

impl Fragile {
    pub(crate) fn set_broken(&self, broken: bool) {
        self.0.1.store(broken, Ordering::Relaxed);
    }
}

impl GrantStore for Fragile {
    fn load(&self) -> Result<Vec<GrantRecord>, StoreError> {
        self.0.0.load()
    }

    fn put(&self, record: &GrantRecord) -> Result<(), StoreError> {
        if self.0.1.load(Ordering::Relaxed) {
            return Err(StoreError::Full);
        }
        self.0.0.put(record)
    }
}

/// A clock that is set by hand.
#[derive(Debug, Clone)]
pub(crate) struct Hands(Arc<AtomicI64>);

impl Hands {
    pub(crate) fn at(millis: i64) -> Self {
        Self(Arc::new(AtomicI64::new(millis)))
    }

    pub(crate) fn set(&self, millis: i64) {
        self.0.store(millis, Ordering::Relaxed);
    }

    pub(crate) fn clock(&self) -> Clock {
        let hands = self.0.clone();
        Clock::new(move || moment(hands.load(Ordering::Relaxed)))
    }
}

pub(crate) fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

/// Answers every question the same way, and keeps them.
#[derive(Debug)]
pub(crate) struct Answering {
    pub(crate) answer: ApprovalAnswer,
    pub(crate) asked: Mutex<Vec<ApprovalQuestion>>,
}

impl Answering {
    pub(crate) fn with(answer: ApprovalAnswer) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }
}

impl Approver for Answering {
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<ApprovalAnswer, Error>> {
        self.asked.lock().push(question);
        Box::pin(std::future::ready(Ok(self.answer.clone())))
    }
}

type Answer = Arc<dyn Fn(&Request) -> Result<Response, Error> + Send + Sync>;

/// A server that keeps what it is sent and answers by a function.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) seen: Arc<Mutex<Vec<Request>>>,
    answer: Answer,
}

impl Server {
    pub(crate) fn answering(
        answer: impl Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static,
    ) -> Self {
        Self { seen: Arc::default(), answer: Arc::new(answer) }
    }

    pub(crate) fn new() -> Self {
        Self::answering(|_| Ok(Response::empty()))
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        self.seen.lock().iter().map(|request| request.method.as_str().to_owned()).collect()
    }

    pub(crate) fn last(&self) -> Request {
        self.seen.lock().last().unwrap().clone()
    }
}

impl Service<Request> for Server {
    type Response = Response;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let answer = (self.answer)(&request);
        self.seen.lock().push(request);
        Box::pin(std::future::ready(answer))
    }
}

pub(crate) fn ada() -> Principal {
    Principal::operator("ada")
}

pub(crate) async fn book(audit: &Arc<Recorded>) -> GrantBook {
    GrantBook::open(MemoryGrants::default(), audit.clone(), Clock::system()).await.unwrap()
}

/// A session with a server that declares `required`.
pub(crate) fn session(revision: Revision, version: MgpVersion, required: &[&str]) -> Arc<Session> {
    let extensions = ExtensionSet::from_names(["security"]);
    let theirs =
        Offer::new(extensions.clone()).with_version(version).with_permissions_required(required.to_vec());
    let mut session = Session::new(revision);
    session.mgp = Negotiated::agree(&Offer::new(extensions), &theirs);
    Arc::new(session)
}

/// A gate to a server `s` that is connected and declared `required`.
pub(crate) async fn connected(
    settings: PermissionSettings,
    book: &GrantBook,
    required: &[&str],
) -> PermissionGate {
    let gate = PermissionGate::new("s".into(), settings, book.clone());
    let session = session(Revision::V2025_11_25, MgpVersion::OURS, required);
    gate.negotiate(&mut Server::new(), &session).await.unwrap();
    gate
}

/// A call of a tool of `s`.
pub(crate) fn tool_call(risk: RiskLevel, permissions: &[Permission], arguments: &str) -> Request {
    let mut security = EffectiveSecurity::new(risk);
    security.permissions = permissions.to_vec();
    let mut params = Params::new();
    params.set("name", RawJson::parse(r#""t""#).unwrap());
    params.set("arguments", RawJson::parse(arguments.to_owned()).unwrap());
    let mut request = Request::call(Method::TOOLS_CALL, params);
    request.context.tool = Some(ResolvedTool::new("s".into(), "t".into(), Object::new(), security));
    request.context.principal = Some(Principal::new("agent"));
    request
}

/// The reason that an error's advice gives.
pub(crate) fn reason(error: &Error) -> String {
    let details = error.recovery().and_then(|recovery| recovery.details).expect("the refusal has details");
    let details = Object::from_raw(&details).unwrap();
    assert!(details.text("next").is_some_and(|next| !next.is_empty()), "{error}");
    details.text("reason").unwrap().into_owned()
}
