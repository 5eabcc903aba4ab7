//! What the permission gate and the confirmation layer cost a call that they let through.

use std::hint::black_box;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use divan::{AllocProfiler, Bencher};
use futures_util::FutureExt;
use mgp_security::Clock;
use mgp_security::confirmation::{ConfirmationGate, ConfirmationSettings};
use mgp_security::permission::{GrantBook, GrantTerms, PendingApprovals, PermissionGate, PermissionSettings};
use mgp_store::Database;
use mgp_types::mgp::{
    ApprovalPolicy, AuditEvent, AuditPort, EffectiveSecurity, ExtensionSet, Negotiated, Offer, Permission,
    ResolvedTool, RiskLevel, Scope,
};
use mgp_types::{BoxFuture, Error, Gate, Object, Principal, RawJson, Request, Response, Revision, Session};
use tower_service::Service;

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

#[derive(Debug)]
struct Forgetful;

impl AuditPort for Forgetful {
    fn record(&self, _: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[derive(Clone)]
struct Echo(Response);

impl Service<Request> for Echo {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        black_box(&request);
        std::future::ready(Ok(self.0.clone()))
    }
}

fn now<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the benchmark waits for nobody"),
    }
}

fn request(meta: bool) -> Request {
    let mut request = Request::with_body(
        "tools/call",
        &serde_json::json!({ "name": "t", "arguments": { "path": "/data/src/main.rs", "text": "hello" } }),
    )
    .expect("this is an object");
    let mut security = EffectiveSecurity::new(RiskLevel::Safe);
    security.permissions = vec![Permission::FilesystemRead, Permission::NetworkOutbound];
    request.context.tool = Some(ResolvedTool::new("s".into(), "t".into(), Object::new(), security));
    request.context.principal = Some(Principal::new("agent"));
    if meta {
        let meta =
            RawJson::parse(r#"{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#);
        request.params.set("_meta", meta.expect("this is JSON"));
        request.params = Object::from_raw(&request.params.to_raw()).expect("this is an object");
    }
    request
}

fn memory() -> Database {
    Database::in_memory().expect("memory holds a database")
}

fn book() -> (tokio::runtime::Runtime, GrantBook) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("there is memory");
    let book = runtime.block_on(GrantBook::open(memory(), Arc::new(Forgetful), Clock::system()));
    (runtime, book.expect("memory does not fail"))
}

fn pending(book: GrantBook) -> Arc<PendingApprovals> {
    let pending = PendingApprovals::open(memory(), book, Duration::from_hours(1), Clock::system());
    Arc::new(pending.expect("memory does not fail"))
}

/// A gate to a server that needs two permissions, which an operator granted among those of a hundred servers.
fn gate(revision: Revision, terms: &GrantTerms) -> PermissionGate {
    let (runtime, book) = book();
    let ada = Principal::operator("ada");
    for server in (0..100).map(|number| format!("server-{number}")).chain(["s".to_owned()]) {
        for permission in [Permission::FilesystemRead, Permission::NetworkOutbound] {
            let scoped = permission == Permission::FilesystemRead;
            let terms = if scoped { terms.clone() } else { GrantTerms::default() };
            let server = server.as_str().into();
            let granted = book.grant(&ada, None, &server, &permission, terms);
            runtime.block_on(granted).expect("an operator may");
        }
    }
    let gate = PermissionGate::new(
        "s".into(),
        PermissionSettings::new(ApprovalPolicy::default()),
        book.clone(),
        pending(book),
    );
    let offer = Offer::new(ExtensionSet::from_names(["security"]));
    let theirs = offer.clone().with_permissions_required(["filesystem.read", "network"]);
    let mut session = Session::new(revision);
    session.mgp = Negotiated::agree(&offer, &theirs);
    let settled = gate.negotiate(&mut Echo(Response::empty()), &Arc::new(session)).now_or_never();
    settled.expect("nobody has to be asked").expect("everything is granted");
    gate
}

fn measure<S>(bencher: Bencher<'_, '_>, mut service: S, meta: bool)
where
    S: Service<Request, Response = Response, Error = Error> + Send,
    S::Future: Send,
{
    let request = request(meta);
    let service = parking_lot::Mutex::new(&mut service);
    bencher
        .with_inputs(|| request.clone())
        .bench_local_values(|request| now(service.lock().call(request)).expect("the call is let through"));
}

#[divan::bench]
fn nothing(bencher: Bencher<'_, '_>) {
    measure(bencher, Echo(Response::empty()), false);
}

#[divan::bench]
fn permission_granted(bencher: Bencher<'_, '_>) {
    let gate = gate(Revision::V2025_11_25, &GrantTerms::default());
    measure(bencher, gate.layer(Echo(Response::empty())), false);
}

#[divan::bench]
fn permission_granted_with_metadata(bencher: Bencher<'_, '_>) {
    let gate = gate(Revision::V2025_11_25, &GrantTerms::default());
    measure(bencher, gate.layer(Echo(Response::empty())), true);
}

#[divan::bench]
fn permission_granted_within_a_scope(bencher: Bencher<'_, '_>) {
    let scope: Scope =
        serde_json::from_str(r#"{"paths":["/data/**"],"deny_paths":[".env"]}"#).expect("this is a scope");
    let terms = GrantTerms { scope: Some(Box::new(scope)), ..GrantTerms::default() };
    let gate = gate(Revision::V2025_11_25, &terms);
    measure(bencher, gate.layer(Echo(Response::empty())), false);
}

#[divan::bench]
fn permission_granted_and_attached(bencher: Bencher<'_, '_>) {
    let gate = gate(Revision::V2026_07_28, &GrantTerms::default());
    measure(bencher, gate.layer(Echo(Response::empty())), false);
}

#[divan::bench]
fn confirmation_not_needed(bencher: Bencher<'_, '_>) {
    let layer = ConfirmationGate::new(ConfirmationSettings::default(), pending(book().1));
    measure(bencher, layer.layer(Echo(Response::empty())), false);
}
