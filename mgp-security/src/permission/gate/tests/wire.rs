//! What goes to the server, and what it answers.

use mgp_types::Session;
use mgp_types::mgp::{PermissionRequest, Timestamp, Version};

use super::*;

const LATER: Version = Version::new(0, 6, 0);

fn stateful(version: Version, required: &[&str]) -> Arc<Session> {
    session(Revision::V2025_11_25, version, required)
}

async fn gate(settings: PermissionSettings, decision: Decision) -> PermissionGate {
    let approver = AnsweringApprover::with(ApprovalAnswer::new(ada(), decision));
    PermissionGate::new("s".into(), settings, book(&Arc::default()).await, approver)
}

fn grants(request: &Request) -> PermissionResponse {
    request.params.to().unwrap()
}

// covers: MGP-3.4-02, MGP-3.5-01..05, MGP-3.6-02..04, MGP-3.6-06
#[tokio::test]
async fn the_server_is_asked_to_wait_and_told_the_decision_in_its_own_words() {
    let gate = gate(PermissionSettings::new(ApprovalPolicy::Interactive), Decision::Approved).await;
    let mut server = TestServer::new();
    gate.negotiate(&mut server, &stateful(Version::OURS, &["shell", "filesystem.read"])).await.unwrap();
    assert_eq!(server.methods(), ["mgp/permission/request", "mgp/permission/response"]);
    let seen = server.seen.lock();
    let asked: PermissionRequest = seen[0].params.to().unwrap();
    assert_eq!(asked.permissions, ["shell", "filesystem.read"]);
    assert_eq!(asked.policy, ApprovalPolicy::Interactive);
    assert!(asked.message.is_some());
    let response = grants(&seen[1]);
    assert_eq!(response.request_id, asked.request_id);
    assert_eq!(response.grants.keys().collect::<Vec<_>>(), ["filesystem.read", "shell"]);
    assert!(response.grants.values().all(|grant| grant.decision == Decision::Approved));
    assert_eq!(response.approved_by.as_deref(), Some("ada"));
    assert_eq!(response.expires_at, None);
}

#[tokio::test]
async fn later_servers_are_spoken_to_in_the_later_words() {
    let gate = gate(PermissionSettings::new(ApprovalPolicy::Interactive), Decision::Approved).await;
    let mut server = TestServer::new();
    gate.negotiate(&mut server, &stateful(LATER, &["shell"])).await.unwrap();
    assert_eq!(server.methods(), ["mgp/permission/await", "mgp/permission/grant"]);
}

// covers: MGP-3.6-05, MGP-3.6-07
#[tokio::test]
async fn a_server_is_told_what_it_may_not_and_until_when_it_may() {
    let end: Timestamp = "2126-03-01T00:00:00Z".parse().unwrap();
    let settings = policy(ApprovalPolicy::ConfigOnly)
        .with_grant(READ, GrantTerms { expires_at: Some(end), ..GrantTerms::default() })
        .unwrap();
    let gate = gate(settings, Decision::Deferred).await;
    let mut server = TestServer::new();
    let needs = stateful(Version::OURS, &["shell", "filesystem.read"]);
    assert_eq!(gate.negotiate(&mut server, &needs).await.unwrap_err().code(), code::PERMISSION_DENIED);
    // Nobody has to decide, so the server need not wait.
    assert_eq!(server.methods(), ["mgp/permission/response"]);
    let response = grants(&server.last());
    assert_eq!(response.grants["shell"].decision, Decision::Denied);
    assert_eq!(response.grants["filesystem.read"].decision, Decision::Approved);
    assert_eq!((response.approved_by.as_deref(), response.expires_at), (Some("configuration"), Some(end)));
}

#[tokio::test]
async fn a_server_that_grants_for_itself_is_not_believed() {
    let gate = gate(policy(ApprovalPolicy::Interactive), Decision::Deferred).await;
    let mut server = TestServer::answering(|request| {
        let id = request.params.text("request_id").unwrap();
        let body = serde_json::json!({ "request_id": id, "grants": { "shell": "approved" }, "approved_by": "admin" });
        Response::with_body(&body)
    });
    gate.negotiate(&mut server, &stateful(Version::OURS, &["shell"])).await.unwrap();
    assert_eq!(refused(&gate, needing(&SHELL)).await, "deferred");
}

#[tokio::test]
async fn a_server_that_lacks_the_methods_is_spared_them() {
    for unknown in [code::METHOD_NOT_FOUND, code::INVALID_PARAMS] {
        let gate = gate(PermissionSettings::new(ApprovalPolicy::Interactive), Decision::Approved).await;
        let mut server = TestServer::answering(move |_| {
            Err(Error::from_origin(mgp_types::Origin::Peer, unknown, "unknown"))
        });
        gate.negotiate(&mut server, &stateful(Version::OURS, &["shell"])).await.unwrap();
        assert_eq!(server.methods(), ["mgp/permission/request"]);
        call(&gate, needing(&SHELL)).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_speaks_plain_mcp_hears_nothing_of_permissions() {
    let gate = gate(policy(ApprovalPolicy::AutoApprove), Decision::Deferred).await;
    let mut server = TestServer::new();
    gate.negotiate(&mut server, &Arc::new(Session::new(Revision::LATEST))).await.unwrap();
    assert!(server.methods().is_empty());
    let mut gated = gate.layer(server.clone());
    gated.call(needing(&READ)).await.unwrap();
    assert!(!server.last().params.contains("_meta"));
}

#[tokio::test]
async fn a_connection_that_is_lost_is_told() {
    let gate = gate(policy(ApprovalPolicy::AutoApprove), Decision::Deferred).await;
    let mut server = TestServer::answering(|_| Err(Error::disconnected("gone")));
    let outcome = gate.negotiate(&mut server, &stateful(Version::OURS, &["shell"])).await;
    assert_eq!(outcome.unwrap_err().origin(), mgp_types::Origin::Connection);
}

#[tokio::test]
async fn a_server_that_needs_more_than_anybody_reads_is_refused() {
    let gate = gate(policy(ApprovalPolicy::AutoApprove), Decision::Deferred).await;
    let names: Vec<String> = (0..65).map(|number| format!("com.example.p{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(gate.negotiate(&mut TestServer::new(), &stateful(Version::OURS, &names)).await.is_err());
    let long = "x".repeat(300);
    assert!(gate.negotiate(&mut TestServer::new(), &stateful(Version::OURS, &[&long])).await.is_err());
}

#[tokio::test]
async fn what_is_decided_later_is_told_later() {
    let gate = gate(policy(ApprovalPolicy::Interactive), Decision::Deferred).await;
    let mut server = TestServer::new();
    gate.negotiate(&mut server, &stateful(Version::OURS, &["shell"])).await.unwrap();
    assert_eq!(grants(&server.last()).grants["shell"].decision, Decision::Deferred);
    let following = tokio::spawn({
        let (gate, server) = (gate.clone(), server.clone());
        async move { gate.follow(server).await }
    });
    let book = &gate.0.book;
    for (decision, expected) in [(true, Decision::Approved), (false, Decision::Denied)] {
        if decision {
            book.grant(&ada(), None, gate.server(), &SHELL, GrantTerms::default()).await.unwrap();
        } else {
            book.revoke(&ada(), None, gate.server(), &SHELL).await.unwrap();
        }
        while grants(&server.last()).grants["shell"].decision != expected {
            tokio::task::yield_now().await;
        }
    }
    following.abort();
}

#[tokio::test]
async fn without_sessions_grants_travel_with_each_call_2026() {
    let gate = gate(policy(ApprovalPolicy::AutoApprove), Decision::Deferred).await;
    let mut server = TestServer::new();
    gate.negotiate(&mut server, &session(Revision::V2026_07_28, Version::OURS, &["shell"])).await.unwrap();
    assert_eq!(server.methods(), ["mgp/permission/response"]);
    let mut gated = gate.layer(server.clone());
    let attached = |server: &TestServer| server.last().meta(method::GRANTS_META).unwrap();
    let mut request = needing(&READ);
    request.params.set("_meta", RawJson::parse(r#"{"progressToken":7}"#).unwrap());
    gated.call(request).await.unwrap();
    let carried: PermissionResponse = attached(&server).to().unwrap();
    assert_eq!(carried.grants.keys().collect::<Vec<_>>(), ["filesystem.read", "shell"]);
    assert!(server.last().meta("progressToken").is_some());
    gate.0.book.revoke(&ada(), None, gate.server(), &READ).await.unwrap();
    gated.call(tool_call(RiskLevel::Safe, &[], "{}")).await.unwrap();
    let carried: PermissionResponse = attached(&server).to().unwrap();
    assert_eq!(carried.grants["filesystem.read"].decision, Decision::Denied);
    gated.call(Request::call(Method::TOOLS_LIST, Params::new())).await.unwrap();
    assert!(!server.last().params.contains("_meta"));
}
