//! Test doubles and helpers for the tests of permissions and confirmations.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mgp_types::mgp::{
    ApprovalPolicy, Decision, EffectiveSecurity, ExtensionSet, Negotiated, Offer, Operation, Permission,
    ResolvedTool, RiskLevel, Version,
};
use mgp_types::{Error, Method, Object, Params, Principal, RawJson, Request, Revision, Session};
use parking_lot::Mutex;

use super::{
    ApprovalAnswer, ApprovalQuestion, ApprovalReply, Approver, GrantBook, PendingApprovals, PermissionGate,
    PermissionSettings,
};
use crate::Clock;
pub(crate) use crate::doubles::{
    ManualClock, RecordingAuditPort, TestServer, database, fill, hold, make_room, moment,
};

/// An approver that answers every question the same way, and keeps the questions.
#[derive(Debug)]
pub(crate) struct AnsweringApprover {
    pub(crate) answer: ApprovalAnswer,
    pub(crate) asked: Mutex<Vec<ApprovalQuestion>>,
}

impl AnsweringApprover {
    pub(crate) fn with(answer: ApprovalAnswer) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }
}

#[async_trait]
impl Approver for AnsweringApprover {
    async fn ask(&self, question: ApprovalQuestion) -> Result<ApprovalReply, Error> {
        self.asked.lock().push(question);
        Ok(ApprovalReply::Answer(self.answer.clone()))
    }
}

pub(crate) fn ada() -> Principal {
    Principal::operator("ada")
}

pub(crate) async fn book(audit: &Arc<RecordingAuditPort>) -> GrantBook {
    GrantBook::open(database(), audit.clone(), Clock::system()).await.unwrap()
}

/// Returns an empty queue of questions.
pub(crate) async fn pending(clock: Clock) -> PendingApprovals {
    let book = book(&Arc::default()).await;
    PendingApprovals::open(database(), book, Duration::from_hours(1), clock).unwrap()
}

/// Returns a session with a server that declares `required`.
pub(crate) fn session(revision: Revision, version: Version, required: &[&str]) -> Arc<Session> {
    let extensions = ExtensionSet::from_names(["security"]);
    let theirs =
        Offer::new(extensions.clone()).with_version(version).with_permissions_required(required.to_vec());
    let mut session = Session::new(revision);
    session.mgp = Negotiated::agree(&Offer::new(extensions), &theirs);
    Arc::new(session)
}

/// Returns a gate to a server `s`, whose operators decide nothing when they are asked.
pub(crate) fn unasking(settings: PermissionSettings, book: &GrantBook) -> PermissionGate {
    let nobody = AnsweringApprover::with(ApprovalAnswer::new(ada(), Decision::Deferred));
    PermissionGate::new("s".into(), settings, book.clone(), nobody)
}

async fn connect(gate: PermissionGate, required: &[&str]) -> PermissionGate {
    let session = session(Revision::V2025_11_25, Version::OURS, required);
    gate.negotiate(&mut TestServer::new(), &session).await.unwrap();
    gate
}

/// Returns a gate to a server `s` that is connected and declared `required`.
pub(crate) async fn connected(
    settings: PermissionSettings,
    book: &GrantBook,
    required: &[&str],
) -> PermissionGate {
    connect(unasking(settings, book), required).await
}

/// Returns a gate with the usual settings to a server `s` that is connected and declared `required`.
pub(crate) async fn connected_asking(
    approver: Arc<dyn Approver>,
    book: &GrantBook,
    required: &[&str],
) -> PermissionGate {
    let settings = PermissionSettings::new(ApprovalPolicy::default());
    connect(PermissionGate::new("s".into(), settings, book.clone(), approver), required).await
}

/// Returns a call of a tool of `s`.
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

/// Returns the request as one that is judged as an operation of `s` with these arguments and permissions.
pub(crate) fn resolved(mut request: Request, permissions: &[Permission], arguments: &str) -> Request {
    let mut security = EffectiveSecurity::new(RiskLevel::Safe);
    security.permissions = permissions.to_vec();
    let name = request.method.as_str().into();
    let tool = ResolvedTool::new("s".into(), name, Object::new(), security);
    request.context.operation = Some(Operation::new(tool, RawJson::parse(arguments.to_owned()).unwrap()));
    request
}

/// Returns the reason that an error's advice gives.
pub(crate) fn reason(error: &Error) -> String {
    let details = error.recovery().and_then(|recovery| recovery.details).expect("the refusal has details");
    let details = Object::from_raw(&details).unwrap();
    assert!(details.text("next").is_some_and(|next| !next.is_empty()), "{error}");
    details.text("reason").unwrap().into_owned()
}
