//! Permissions between a client and a server over one connection, in both eras.
#![cfg(feature = "permission")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_security::Clock;
use mgp_security::permission::{
    ApprovalAnswer, GrantBook, GrantTerms, HandleKey, HeldPermissionsGate, OnRefusal, PendingApprovals,
    PermissionAnswerGate, PermissionGate, PermissionSettings,
};
use mgp_security::sqlite::Database;
use mgp_transport::era::{
    Agreement, ClientEra, ClientIdentity, EraMode, EraOptions, InboundGate, ServerEraGate, ServerIdentity,
};
use mgp_transport::mrtr::{InputRounds, MrtrGate};
use mgp_transport::token::SealingKey;
use mgp_transport::{ConnectionLimits, connect, memory};
use mgp_types::mcp::Implementation;
use mgp_types::mgp::{
    ApprovalPolicy, AuditEvent, AuditPort, Decision, EffectiveSecurity, ExtensionSet, Offer, Permission,
    ResolvedTool, RiskLevel, code,
};
use mgp_types::{
    BoxFuture, Error, Gate, Method, Object, Outbox, Principal, RawJson, Request, Response, RpcService,
};
use tower_service::Service;

const ERAS: [EraMode; 2] = [EraMode::Session, EraMode::Stateless];
const SHELL: Permission = Permission::ShellExecute;

#[derive(Debug)]
struct Forgetful;

impl AuditPort for Forgetful {
    fn record(&self, _: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(ready(Ok(())))
    }
}

/// Describes itself, and answers everything else.
#[derive(Clone)]
struct Tools;

impl Service<Request> for Tools {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let body = if request.method == Method::DISCOVER {
            r#"{"capabilities":{"tools":{}}}"#
        } else {
            r#"{"content":[]}"#
        };
        ready(Ok(Response::plain(RawJson::parse(body).unwrap())))
    }
}

/// Answers nothing the server asks.
#[derive(Clone)]
struct Silent;

impl Service<Request> for Silent {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ready(Err(Error::method_not_found(&request.method)))
    }
}

fn info() -> Implementation {
    serde_json::from_str(r#"{"name":"test","version":"1"}"#).unwrap()
}

fn offer() -> Offer {
    Offer::new(ExtensionSet::from_names(["security"]))
}

/// The gate before a server whose tool `run` needs `shell.execute`, and which declares what it needs to operate.
async fn dial(
    mode: EraMode,
    gate: &PermissionGate,
    required: &[&str],
) -> (impl RpcService + use<>, Result<(), Error>) {
    let (near, far) = memory::pair(64 * 1024);
    let held = HeldPermissionsGate::new(
        Arc::new(|tool| if tool == "run" { [SHELL].into() } else { [].into() }),
        Clock::system(),
    );
    let held = held.with_handles(HandleKey::random());
    let tools = MrtrGate::new(SealingKey::random()).layer(held.layer(Tools));
    let identity = ServerIdentity::new(info()).with_mgp(offer().with_permissions_required(required.to_vec()));
    let identity = Arc::new(identity);
    let accept = move |outbox: Outbox| ServerEraGate::new(identity.clone(), outbox).layer(tools.clone());
    let (_, server) = connect(far.0, far.1, &accept, ConnectionLimits::default());
    tokio::spawn(server);

    let agreement = Agreement::default();
    let inbound =
        InboundGate::new(agreement.clone()).layer(PermissionAnswerGate::new(gate.clone()).layer(Silent));
    let answering = inbound.clone();
    let (wire, client) =
        connect(near.0, near.1, &move |_: Outbox| answering.clone(), ConnectionLimits::default());
    tokio::spawn(client);
    let mut identity = ClientIdentity::new(info());
    identity.capabilities = Object::parse(r#"{"elicitation":{}}"#).unwrap();
    identity.offer = Some(offer());
    let mut options = EraOptions::default();
    options.mode = mode;
    options.agreement = agreement.clone();
    let era = ClientEra::negotiate(wire, identity, options).await.unwrap();
    let session = era.session().unwrap();
    let mut service = era.with_rules(InputRounds::new(inbound, agreement));
    let settlement = gate.negotiate(&mut service, &session).await;
    (gate.layer(service), settlement)
}

async fn book() -> GrantBook {
    GrantBook::open(Database::in_memory().unwrap(), Arc::new(Forgetful), Clock::system()).await.unwrap()
}

fn run(permissions: &[Permission]) -> Request {
    let mut security = EffectiveSecurity::new(RiskLevel::Dangerous);
    security.permissions = permissions.to_vec();
    let mut request =
        Request::with_body("tools/call", &serde_json::json!({ "name": "run", "arguments": {} })).unwrap();
    request.context.tool = Some(ResolvedTool::new("s".into(), "run".into(), Object::new(), security));
    request.context.principal = Some(Principal::new("agent"));
    request
}

fn gate(policy: ApprovalPolicy, book: &GrantBook) -> PermissionGate {
    PermissionGate::new("s".into(), PermissionSettings::new(policy), book.clone())
}

// covers: MGP-3.1-01..02, MGP-3.4-01..03
#[tokio::test]
async fn what_a_server_needs_is_granted_and_its_tools_run() {
    for mode in ERAS {
        let gate = gate(ApprovalPolicy::AutoApprove, &book().await);
        let (mut server, settlement) = dial(mode, &gate, &["shell"]).await;
        settlement.unwrap();
        server.call(run(&[SHELL])).await.unwrap();
        server.call(run(&[])).await.unwrap();
    }
}

// covers: MGP-3.4-03
#[tokio::test]
async fn a_server_that_may_not_have_what_it_needs_is_rejected() {
    for mode in ERAS {
        let (_, settlement) = dial(mode, &gate(ApprovalPolicy::DenyAll, &book().await), &["shell"]).await;
        assert_eq!(settlement.unwrap_err().code(), code::PERMISSION_DENIED);
    }
}

// covers: MGP-3.6-07
#[tokio::test]
async fn a_server_that_goes_on_without_refuses_what_it_cannot_do() {
    for mode in ERAS {
        let mut settings = PermissionSettings::new(ApprovalPolicy::DenyAll);
        settings.on_refusal = OnRefusal::Degrade;
        let gate = PermissionGate::new("s".into(), settings, book().await);
        let (mut server, settlement) = dial(mode, &gate, &["shell"]).await;
        settlement.unwrap();
        // The client does not know what the tool needs; the server does, and was told that it may not.
        assert_eq!(server.call(run(&[])).await.unwrap_err().code(), code::PERMISSION_DENIED);
    }
}

// covers: MGP-3.3-02, MGP-3.4-02
#[tokio::test]
async fn an_operator_is_asked_while_the_server_waits() {
    for mode in ERAS {
        let pending = PendingApprovals::new(Clock::system());
        let gate = gate(ApprovalPolicy::Interactive, &book().await).with_approver(Arc::new(pending.clone()));
        let operator = async {
            pending.count().wait_for(|count| *count == 1).await.unwrap();
            let ada = Principal::operator("ada");
            pending
                .decide(&ada, &pending.list()[0].id, &ApprovalAnswer::new(ada.clone(), Decision::Approved))
                .await
                .unwrap();
        };
        let ((mut server, settlement), ()) =
            futures_util::future::join(dial(mode, &gate, &["shell"]), operator).await;
        settlement.unwrap();
        server.call(run(&[SHELL])).await.unwrap();
    }
}

// covers: MGP-3.6-08
#[tokio::test]
async fn what_was_deferred_runs_once_it_is_decided_and_not_once_it_is_taken_back() {
    for mode in ERAS {
        let book = book().await;
        let mut settings = PermissionSettings::default();
        settings.patience = Duration::ZERO;
        let gate = PermissionGate::new("s".into(), settings, book.clone());
        let (mut server, settlement) = dial(mode, &gate, &["shell"]).await;
        settlement.unwrap();
        assert_eq!(server.call(run(&[SHELL])).await.unwrap_err().code(), code::PERMISSION_DENIED);
        let ada = Principal::operator("ada");
        book.grant(&ada, None, gate.server(), &SHELL, GrantTerms::default()).await.unwrap();
        // In the era of sessions the server has not been told yet, and asks.
        server.call(run(&[SHELL])).await.unwrap();
        book.revoke(&ada, None, gate.server(), &SHELL).await.unwrap();
        assert_eq!(server.call(run(&[SHELL])).await.unwrap_err().code(), code::PERMISSION_DENIED);
    }
}

#[tokio::test]
async fn a_server_that_finds_a_permission_missing_asks_and_an_operator_decides() {
    for mode in ERAS {
        let pending = PendingApprovals::new(Clock::system());
        let gate = gate(ApprovalPolicy::Interactive, &book().await).with_approver(Arc::new(pending.clone()));
        let (mut server, settlement) = dial(mode, &gate, &[]).await;
        settlement.unwrap();
        let call = tokio::spawn(server.call(run(&[])));
        pending.count().wait_for(|count| *count == 1).await.unwrap();
        let ada = Principal::operator("ada");
        let no = ApprovalAnswer::new(ada.clone(), Decision::Denied);
        pending.decide(&ada, &pending.list()[0].id, &no).await.unwrap();
        assert_eq!(call.await.unwrap().unwrap_err().code(), code::PERMISSION_DENIED);
        // Nobody is asked twice about what is denied.
        assert_eq!(server.call(run(&[])).await.unwrap_err().code(), code::PERMISSION_DENIED);
    }
}

#[tokio::test]
async fn an_operators_yes_lets_the_call_through_that_the_server_held_back() {
    for mode in ERAS {
        let pending = PendingApprovals::new(Clock::system());
        let gate = gate(ApprovalPolicy::Interactive, &book().await).with_approver(Arc::new(pending.clone()));
        let (mut server, _) = dial(mode, &gate, &[]).await;
        let call = tokio::spawn(server.call(run(&[])));
        pending.count().wait_for(|count| *count == 1).await.unwrap();
        let ada = Principal::operator("ada");
        let yes = ApprovalAnswer::new(ada.clone(), Decision::Approved);
        pending.decide(&ada, &pending.list()[0].id, &yes).await.unwrap();
        call.await.unwrap().unwrap();
        // It is decided for good.
        server.call(run(&[SHELL])).await.unwrap();
        assert!(pending.list().is_empty());
    }
}
