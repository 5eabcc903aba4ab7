use std::time::Duration;

use mgp_types::mgp::{ApprovalPolicy, CallRecord, Decision, ResolvedTool, RiskLevel, Scope};
use mgp_types::{Method, Params, Principal, RawJson, Response, Revision, code};

use std::task::{Context, Poll};

use tower_service::Service;

use super::*;
use crate::Clock;
use crate::permission::testing::*;
use crate::permission::{ApprovalAnswer, GrantLifetime, GrantTerms};

mod lasting;
mod negotiating;
mod questions;
mod reach;
mod wire;

const SHELL: Permission = Permission::ShellExecute;
const READ: Permission = Permission::FilesystemRead;

async fn call(gate: &PermissionGate, request: Request) -> Result<Response, Error> {
    gate.layer(TestServer::new()).call(request).await
}

fn needing(permission: &Permission) -> Request {
    tool_call(RiskLevel::Moderate, std::slice::from_ref(permission), "{}")
}

async fn refused(gate: &PermissionGate, request: Request) -> String {
    let error = call(gate, request).await.unwrap_err();
    assert_eq!(error.code(), code::PERMISSION_DENIED, "{error}");
    reason(&error)
}

fn policy(policy: ApprovalPolicy) -> PermissionSettings {
    PermissionSettings { patience: Duration::ZERO, ..PermissionSettings::new(policy) }
}

/// Returns a gate under a policy to a server that is connected, and the book of its grants.
async fn gated(approval: ApprovalPolicy) -> (GrantBook, PermissionGate) {
    let book = book(&Arc::default()).await;
    let gate = connected(policy(approval), &book, &[]).await;
    (book, gate)
}

// covers: MGP-1.2-03
#[tokio::test]
async fn without_any_settings_nothing_dangerous_is_done_that_nobody_granted() {
    let (book, gate) = gated(ApprovalPolicy::default()).await;
    assert_eq!(refused(&gate, needing(&SHELL)).await, "deferred");
    assert_eq!(book.waiting(), [("s".into(), SHELL)]);
    book.grant(&ada(), None, gate.server(), &SHELL, GrantTerms::default()).await.unwrap();
    assert!(book.waiting().is_empty());
    call(&gate, needing(&SHELL)).await.unwrap();
}

#[tokio::test]
async fn what_was_decided_before_a_server_connects_waits_for_nobody() {
    let book = book(&Arc::default()).await;
    let pending = pending(Clock::system()).await;
    book.grant(&ada(), None, &"s".into(), &SHELL, GrantTerms::default()).await.unwrap();
    let gate = connected_asking(Arc::new(pending), &book, &["shell.execute"]).await;
    assert!(book.waiting().is_empty(), "{:?}", book.waiting());
    call(&gate, needing(&SHELL)).await.unwrap();
}

// covers: MGP-3.3-01, MGP-3.3-03..05
#[tokio::test]
async fn each_policy_approves_what_it_says_and_nothing_more() {
    use ApprovalPolicy::{AutoApprove, ConfigOnly, DenyAll, Interactive};
    // Whether a permission is approved that nobody spoke of, that an operator granted, that is configured.
    for (approval, unspoken, granted, configured) in [
        (Interactive, false, true, true),
        (AutoApprove, true, true, true),
        (DenyAll, false, true, true),
        (ConfigOnly, false, false, true),
    ] {
        let book = book(&Arc::default()).await;
        book.grant(&ada(), None, &"s".into(), &READ, GrantTerms::default()).await.unwrap();
        let settings = policy(approval).with_grant(Permission::Camera, GrantTerms::default()).unwrap();
        let gate = connected(settings, &book, &[]).await;
        assert_eq!(call(&gate, needing(&SHELL)).await.is_ok(), unspoken, "{approval}");
        assert_eq!(call(&gate, needing(&READ)).await.is_ok(), granted, "{approval}");
        assert_eq!(call(&gate, needing(&Permission::Camera)).await.is_ok(), configured, "{approval}");
    }
}

// covers: MGP-3.1-02, MGP-3.3-02
#[tokio::test]
async fn an_operator_is_asked_for_each_permission_and_the_answer_is_kept() {
    let audit = Arc::<RecordingAuditPort>::default();
    let book = book(&audit).await;
    for (decision, passes) in [(Decision::Denied, false), (Decision::Approved, true)] {
        let approver = AnsweringApprover::with(ApprovalAnswer::new(ada(), decision));
        let gate = connected_asking(approver.clone(), &book, &[]).await;
        let permission = if passes { READ } else { SHELL };
        let request = tool_call(RiskLevel::Safe, &[permission.clone(), Permission::Camera], "{}");
        assert_eq!(call(&gate, request).await.is_ok(), passes && !book.records(gate.server()).is_empty());
        assert_eq!(
            approver.asked.lock().len(),
            if passes { 1 } else { 2 },
            "what is decided is not asked again"
        );
        if !passes {
            book.grant(&ada(), None, gate.server(), &Permission::Camera, GrantTerms::default())
                .await
                .unwrap();
        }
    }
    let mut lines = audit.lines();
    lines.sort();
    assert_eq!(
        lines,
        [
            "PERMISSION_DENIED camera SUCCESS",
            "PERMISSION_DENIED shell.execute SUCCESS",
            "PERMISSION_GRANTED camera SUCCESS",
            "PERMISSION_GRANTED filesystem.read SUCCESS",
        ]
    );
}

// covers: MGP-3.2-12
#[tokio::test]
async fn a_type_that_nobody_knows_is_not_approved_by_policy_alone() {
    let custom = Permission::read("com.example.custom_permission");
    let (book, gate) = gated(ApprovalPolicy::AutoApprove).await;
    assert_eq!(refused(&gate, needing(&custom)).await, "deferred");
    let granted =
        policy(ApprovalPolicy::ConfigOnly).with_grant(custom.clone(), GrantTerms::default()).unwrap();
    call(&connected(granted, &book, &[]).await, needing(&custom)).await.unwrap();
}

#[tokio::test]
async fn exceptions_are_asked_for_where_the_rest_is_approved() {
    let book = book(&Arc::default()).await;
    let exceptions = vec![Permission::FilesystemWrite, Permission::NetworkOutbound];
    let settings = PermissionSettings { exceptions, ..policy(ApprovalPolicy::AutoApprove) };
    let gate = connected(settings, &book, &[]).await;
    call(&gate, needing(&READ)).await.unwrap();
    assert_eq!(refused(&gate, needing(&Permission::FilesystemWrite)).await, "deferred");
}

#[tokio::test]
async fn what_is_denied_is_denied_whoever_grants_it() {
    let book = book(&Arc::default()).await;
    book.revoke(&ada(), None, &"s".into(), &SHELL).await.unwrap();
    let settings = policy(ApprovalPolicy::AutoApprove).with_grant(SHELL, GrantTerms::default()).unwrap();
    assert_eq!(refused(&connected(settings, &book, &[]).await, needing(&SHELL)).await, "denied");
}

#[tokio::test]
async fn a_revocation_takes_effect_on_the_next_call() {
    let audit = Arc::<RecordingAuditPort>::default();
    let book = book(&audit).await;
    let gate = connected(policy(ApprovalPolicy::AutoApprove), &book, &[]).await;
    call(&gate, needing(&SHELL)).await.unwrap();
    book.revoke(&ada(), None, gate.server(), &SHELL).await.unwrap();
    assert_eq!(refused(&gate, needing(&SHELL)).await, "denied");
    assert_eq!(
        audit.lines(),
        ["PERMISSION_GRANTED shell.execute SUCCESS", "PERMISSION_REVOKED shell.execute SUCCESS"]
    );
}

#[tokio::test]
async fn a_scope_is_held_against_the_arguments() {
    let book = book(&Arc::default()).await;
    let scope: Scope = serde_json::from_str(r#"{"paths":["/data/**"]}"#).unwrap();
    let settings = policy(ApprovalPolicy::DenyAll)
        .with_grant(READ, GrantTerms { scope: Some(Box::new(scope)), ..GrantTerms::default() })
        .unwrap();
    let gate = connected(settings, &book, &["filesystem.read"]).await;
    let with = |arguments| tool_call(RiskLevel::Safe, &[READ], arguments);
    call(&gate, with(r#"{"path":"/data/a"}"#)).await.unwrap();
    assert_eq!(refused(&gate, with(r#"{"path":"/etc/passwd"}"#)).await, "out_of_scope");
    // A tool whose definition says nothing may use whatever the server was granted.
    let mut silent = tool_call(RiskLevel::Safe, &[], r#"{"path":"/etc/passwd"}"#);
    call(&gate, silent.clone()).await.unwrap();
    let mut tool = ResolvedTool::clone(silent.context.tool.as_ref().unwrap());
    tool.security.derived = true;
    silent.context.tool = Some(Arc::new(tool));
    assert_eq!(refused(&gate, silent).await, "out_of_scope");
    let read = |path| resolved(Request::call("resources/read", Params::new()), &[READ], path);
    call(&gate, read(r#"{"path":["/data/a"]}"#)).await.unwrap();
    assert_eq!(refused(&gate, read(r#"{"path":["/data/a","/etc/passwd"]}"#)).await, "out_of_scope");
}

#[tokio::test]
async fn a_call_that_nobody_resolved_is_refused_in_any_shape() {
    let (book, gate) = gated(ApprovalPolicy::AutoApprove).await;
    let mut request = needing(&SHELL);
    request.context.tool = None;
    assert_eq!(call(&gate, request.clone()).await.unwrap_err().code(), code::INVALID_REQUEST);
    request.kind = mgp_types::RequestKind::Notify;
    assert!(call(&gate, request).await.is_err());
    let other = connected(policy(ApprovalPolicy::DenyAll), &book, &[]).await;
    let mut request = needing(&SHELL);
    request.kind = mgp_types::RequestKind::Notify;
    assert_eq!(refused(&other, request).await, "denied");
    let mut elsewhere = needing(&SHELL);
    let mut tool = ResolvedTool::clone(elsewhere.context.tool.as_ref().unwrap());
    tool.server = "other".into();
    elsewhere.context.tool = Some(Arc::new(tool));
    assert_eq!(call(&gate, elsewhere).await.unwrap_err().code(), code::INVALID_REQUEST);
}

#[tokio::test]
async fn before_the_permissions_are_settled_nothing_runs() {
    let book = book(&Arc::default()).await;
    let gate = unasking(policy(ApprovalPolicy::AutoApprove), &book);
    for request in
        [needing(&READ), Request::call("prompts/get", Params::new()), Request::call("x/y", Params::new())]
    {
        assert_eq!(call(&gate, request).await.unwrap_err().code(), code::SERVER_NOT_READY);
    }
    call(&gate, Request::call(Method::TOOLS_LIST, Params::new())).await.unwrap();
    call(&gate, Request::notify(Method::CANCELLED, Params::new())).await.unwrap();
}

#[tokio::test]
async fn what_is_taken_back_while_a_call_waits_for_its_turn_stops_it() {
    use std::task::Waker;

    /// Is never ready before somebody says so.
    #[derive(Clone)]
    struct Busy(Arc<std::sync::atomic::AtomicBool>);

    impl Service<Request> for Busy {
        type Response = Response;
        type Error = Error;
        type Future = std::future::Ready<Result<Response, Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
            let free = self.0.load(std::sync::atomic::Ordering::Relaxed);
            if free { Poll::Ready(Ok(())) } else { Poll::Pending }
        }

        fn call(&mut self, _: Request) -> Self::Future {
            std::future::ready(Ok(Response::empty()))
        }
    }

    let (book, gate) = gated(ApprovalPolicy::AutoApprove).await;
    let free = Arc::new(std::sync::atomic::AtomicBool::new(false));
    // The first call has to wait until the approval is in the trail.
    let mut waiting = Box::pin(gate.layer(Busy(free.clone())).call(needing(&SHELL)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(std::future::Future::poll(waiting.as_mut(), &mut context).is_pending());
    book.revoke(&ada(), None, gate.server(), &SHELL).await.unwrap();
    free.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(reason(&waiting.await.unwrap_err()), "denied");
}

#[tokio::test]
async fn callers_cannot_send_the_gates_own_messages() {
    let (_, gate) = gated(ApprovalPolicy::AutoApprove).await;
    for name in [
        method::PERMISSION_REQUEST,
        method::PERMISSION_RESPONSE,
        method::PERMISSION_AWAIT,
        method::PERMISSION_GRANT,
    ] {
        assert_eq!(refused(&gate, Request::call(name, Params::new())).await, "not_yours");
        assert_eq!(refused(&gate, Request::notify(name, Params::new())).await, "not_yours");
    }
}

#[tokio::test]
async fn grants_that_a_caller_made_up_are_taken_away() {
    let (_, gate) = gated(ApprovalPolicy::AutoApprove).await;
    let server = TestServer::new();
    let mut request = needing(&READ);
    let meta =
        r#"{"progressToken":1,"dev.cloto\/mgp\/grants":{"request_id":"x","grants":{"camera":"approved"}}}"#;
    request.params.set("_meta", RawJson::parse(meta).unwrap());
    gate.layer(server.clone()).call(request).await.unwrap();
    assert_eq!(server.last().params.bytes("_meta").unwrap(), br#"{"progressToken":1}"#);
}

#[tokio::test(start_paused = true)]
async fn many_calls_wait_for_one_answer() {
    let audit = Arc::<RecordingAuditPort>::default();
    let book = book(&audit).await;
    let pending = pending(Clock::system()).await;
    let gate = connected_asking(Arc::new(pending.clone()), &book, &[]).await;
    let calls: Vec<_> = (0..32)
        .map(|_| {
            let gate = gate.clone();
            tokio::spawn(async move { call(&gate, needing(&SHELL)).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let open = pending.list();
    assert_eq!(open.len(), 1);
    assert!(open[0].message().contains("shell.execute") && open[0].message().contains("dangerous"));
    pending.decide(&ada(), &open[0].id, &ApprovalAnswer::new(ada(), Decision::Approved)).await.unwrap();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(audit.lines(), ["PERMISSION_GRANTED shell.execute SUCCESS"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_no_longer_than_it_has_patience_and_a_decision_elsewhere_wakes_it() {
    let book = book(&Arc::default()).await;
    let pending = pending(Clock::system()).await;
    let gate = connected_asking(Arc::new(pending.clone()), &book, &[]).await;
    assert_eq!(refused(&gate, needing(&SHELL)).await, "deferred");
    assert_eq!(pending.list().len(), 1, "it can still be answered");
    let waiting = tokio::spawn({
        let gate = gate.clone();
        async move { call(&gate, needing(&SHELL)).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    book.grant(&ada(), None, gate.server(), &SHELL, GrantTerms::default()).await.unwrap();
    waiting.await.unwrap().unwrap();
    assert!(pending.list().is_empty());
}

#[tokio::test]
async fn an_answer_of_one_who_is_no_operator_counts_for_nothing() {
    let audit = Arc::<RecordingAuditPort>::default();
    let book = book(&audit).await;
    let agent = Principal::new("agent");
    let approver = AnsweringApprover::with(ApprovalAnswer::new(agent.clone(), Decision::Approved));
    let gate = connected_asking(approver, &book, &[]).await;
    assert_eq!(call(&gate, needing(&SHELL)).await.unwrap_err().code(), code::PERMISSION_DENIED);
    assert!(book.grant(&agent, None, gate.server(), &SHELL, GrantTerms::default()).await.is_err());
    assert!(book.revoke(&agent, None, gate.server(), &SHELL).await.is_err());
    assert!(book.records(gate.server()).is_empty() && audit.lines().is_empty());
}

#[tokio::test]
async fn a_refusal_is_noted_for_the_record() {
    let (_, gate) = gated(ApprovalPolicy::DenyAll).await;
    let mut request = needing(&SHELL);
    let trail = Arc::new(CallRecord::default());
    request.context.trail = Some(trail.clone());
    refused(&gate, request).await;
    assert_eq!(trail.refusal().unwrap().by, "permission");
}

// covers: MGP-3.4-03
#[tokio::test]
async fn a_connection_is_rejected_if_the_server_may_not_have_what_it_needs_and_proceeds_otherwise() {
    let book = book(&Arc::default()).await;
    let needs = session(Revision::V2025_11_25, mgp_types::mgp::Version::OURS, &["shell", "memory.read"]);
    let settings =
        policy(ApprovalPolicy::ConfigOnly).with_grant(Permission::MemoryRead, GrantTerms::default()).unwrap();
    let strict = unasking(settings.clone(), &book);
    let error = strict.negotiate(&mut TestServer::new(), &needs).await.unwrap_err();
    assert_eq!(error.code(), code::PERMISSION_DENIED);
    assert!(error.message().contains("shell.execute") && error.recovery().is_some());
    assert_eq!(
        call(&strict, needing(&Permission::MemoryRead)).await.unwrap_err().code(),
        code::SERVER_NOT_READY
    );

    let modest = connected(settings, &book, &["memory.read"]).await;
    call(&modest, needing(&Permission::MemoryRead)).await.unwrap();
    assert_eq!(refused(&modest, needing(&SHELL)).await, "denied");
}

// covers: MGP-3.6-08
#[tokio::test]
async fn while_a_decision_is_deferred_the_connection_stays_and_calls_are_refused() {
    let book = book(&Arc::default()).await;
    let gate = connected(policy(ApprovalPolicy::Interactive), &book, &["shell"]).await;
    let request = || tool_call(RiskLevel::Safe, &[], "{}");
    assert_eq!(refused(&gate, request()).await, "deferred");
    book.grant(&ada(), None, gate.server(), &SHELL, GrantTerms::default()).await.unwrap();
    call(&gate, request()).await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_granted() {
    let audit = Arc::<RecordingAuditPort>::default();
    let database = database();
    let book = GrantBook::open(database.clone(), audit.clone(), Clock::system()).await.unwrap();
    let gate = connected(policy(ApprovalPolicy::DenyAll), &book, &[]).await;
    audit.fail();
    assert!(book.grant(&ada(), None, gate.server(), &SHELL, GrantTerms::default()).await.is_err());
    let auto = connected(policy(ApprovalPolicy::AutoApprove), &book, &[]).await;
    assert!(call(&auto, needing(&READ)).await.is_err());
    audit.mend();
    assert_eq!(refused(&gate, needing(&SHELL)).await, "denied");
    call(&auto, needing(&READ)).await.unwrap();
    book.grant(&ada(), None, gate.server(), &READ, GrantTerms::default()).await.unwrap();

    fill(&database, "permission_grants", "true");
    assert_eq!(
        book.grant(&ada(), None, gate.server(), &SHELL, GrantTerms::default()).await.unwrap_err().code(),
        3001
    );
    assert_eq!(refused(&gate, needing(&SHELL)).await, "denied");
    assert!(audit.lines().contains(&"PERMISSION_GRANTED shell.execute FAILURE".to_owned()));
    // What is taken back is closed even if that cannot be kept.
    assert!(book.revoke(&ada(), None, gate.server(), &READ).await.is_err());
    assert_eq!(refused(&gate, needing(&READ)).await, "denied");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Wherever the clock is put, a grant holds at no time at or after one that was its end.
        #[test]
        fn an_expired_grant_never_holds_again(end in 1001i64..5000, times in proptest::collection::vec(0i64..6000, 1..12)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async {
                let hands = ManualClock::at(1000);
                let book = GrantBook::open(database(), Arc::<RecordingAuditPort>::default(), hands.clock()).await.unwrap();
                book.grant(&ada(), None, &"s".into(), &SHELL, GrantTerms { expires_at: Some(moment(end)), ..GrantTerms::default() }).await.unwrap();
                let gate = connected(policy(ApprovalPolicy::DenyAll), &book, &[]).await;
                let mut latest = 1000;
                for time in times {
                    hands.set(time);
                    latest = latest.max(time);
                    assert_eq!(call(&gate, needing(&SHELL)).await.is_ok(), latest < end);
                }
            });
        }
    }
}
