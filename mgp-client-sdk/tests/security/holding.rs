//! The server's own side: it holds its tools to what clients granted, whatever the clients check themselves.

use std::sync::Arc;
use std::time::Duration;

use mgp_security::Clock;
use mgp_security::permission::{ApprovalAnswer, HeldPermissionsGate, NeededPermissions, PermissionSettings};
use mgp_transport::Accept;
use mgp_types::mgp::{ApprovalPolicy, Decision, Extension, Permission};
use mgp_types::{Gate as _, Object, Origin, Request, Revision};
use serde_json::json;
use tokio::time::Instant;

use crate::ERAS;
use crate::front::Raw;
use crate::held::send;
use crate::kernel::{AGENT, Kernel, Setup, operator, server_id};
use crate::upstream::{self, Reached};

/// Returns a server that holds its tools to what was granted.
pub(crate) fn server(reached: &Reached) -> impl Accept<Service: Unpin> {
    let needed: NeededPermissions = Arc::new(|tool| match tool {
        "run" => Arc::from([Permission::ShellExecute]),
        "fetch" => Arc::from([Permission::NetworkOutbound]),
        _ => Arc::from([]),
    });
    let gate = HeldPermissionsGate::new(needed, Clock::system());
    upstream::mgp(reached).layer(gate.into_layer()).accept().unwrap()
}

fn run() -> Request {
    Request::call("tools/call", Object::parse(r#"{"name":"run","arguments":{"command":"ls"}}"#).unwrap())
}

async fn kernel(reached: &Reached, revision: Revision) -> Kernel {
    let kernel = Kernel::before(server(reached), revision, Setup::default()).await;
    assert!(kernel.client.session().unwrap().mgp.as_ref().unwrap().has(&Extension::Permissions));
    let (gate, below) = (kernel.gate.clone(), kernel.below.clone());
    tokio::spawn(async move { gate.follow(below).await });
    kernel
}

// covers: MGP-1.2-04, MGP-3.1-01, MGP-3.4-01, MGP-3.6-02, MGP-3.6-03, MGP-3.6-06
#[tokio::test]
async fn the_server_hears_what_is_granted_and_refuses_the_rest_itself() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        // Granted by configuration before the first call.
        let answer = client.tool("fetch", json!({"url": "https://example.com/"})).await;
        assert!(answer.get("result").is_some(), "{answer}");
        // Past all of the client's layers, the server still refuses.
        let refused = send(&kernel.below, run()).await.unwrap_err();
        assert_eq!((refused.code(), refused.origin()), (1000, Origin::Peer));
        kernel.permit(Permission::ShellExecute).await;
        eventually(async || {
            let answer = client.tool("run", json!({"command": "ls"})).await;
            answer["result"]["content"][0]["text"] == "ran ls"
        })
        .await;
        kernel.book.revoke(&operator(), &server_id(), &Permission::ShellExecute).await.unwrap();
        let answer = client.tool("run", json!({"command": "ls"})).await;
        assert_eq!(answer["error"]["code"], 1000, "{answer}");
        eventually(async || send(&kernel.below, run()).await.is_err_and(|error| error.code() == 1000)).await;
    }
}

/// Returns the stack before a server that needs `network.outbound`, not settled yet.
async fn unsettled(reached: &Reached, revision: Revision, policy: ApprovalPolicy) -> Kernel {
    let setup = Setup { settings: PermissionSettings::new(policy), settle: false, ..Setup::default() };
    let kernel = Kernel::before(server(reached), revision, setup).await;
    // The last that a client says of itself travels when it has its session already.
    let is_introduced =
        |told: Vec<(String, _)>| told.iter().any(|(method, _)| method == "notifications/initialized");
    eventually(async || is_introduced(reached.take()) || revision.is_stateless()).await;
    kernel
}

// covers: MGP-3.4-02, MGP-3.5-01..05, MGP-3.6-02..04, MGP-3.6-06
#[tokio::test]
async fn a_server_waits_for_the_operator_and_is_told_the_decision() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = unsettled(&reached, revision, ApprovalPolicy::Interactive).await;
        let session = kernel.client.session().unwrap();
        let mut below = kernel.below.clone();
        let deciding = async {
            kernel.pending.count().wait_for(|count| *count == 1).await.unwrap();
            let asked = kernel.pending.list().remove(0);
            let yes = ApprovalAnswer::new(operator(), Decision::Approved);
            kernel.pending.decide(&operator(), &asked.id, &yes).await.unwrap();
        };
        let (settled, ()) = tokio::join!(kernel.gate.negotiate(&mut below, &session), deciding);
        assert_eq!(settled.unwrap().approved, [Permission::NetworkOutbound]);
        let told = reached.take();
        if !revision.is_stateless() {
            let (method, asked) = &told[0];
            assert_eq!(method, "mgp/permission/request");
            assert_eq!(asked["permissions"], json!(["network.outbound"]));
            assert_eq!(asked["policy"], "interactive");
            assert!(asked["message"].is_string());
            assert_eq!(asked["request_id"], told[1].1["request_id"]);
        }
        let (method, decided) = told.last().unwrap();
        assert_eq!(method, "mgp/permission/response");
        assert_eq!(decided["grants"], json!({"network.outbound": "approved"}));
        assert_eq!(decided["approved_by"], "ada");
    }
}

// covers: MGP-3.3-01, MGP-3.3-03..05, MGP-3.4-03
#[tokio::test]
async fn the_policy_decides_whether_the_connection_goes_on() {
    for revision in ERAS {
        for (policy, goes_on) in [
            (ApprovalPolicy::AutoApprove, true),
            (ApprovalPolicy::DenyAll, false),
            (ApprovalPolicy::ConfigOnly, false),
        ] {
            let reached = Reached::default();
            let kernel = unsettled(&reached, revision, policy).await;
            let session = kernel.client.session().unwrap();
            let settled = kernel.gate.negotiate(&mut kernel.below.clone(), &session).await;
            let mut client = Raw::open(&kernel, AGENT, revision, true).await;
            let answer = client.tool("fetch", json!({"url": "https://example.com/"})).await;
            if goes_on {
                assert_eq!(settled.unwrap().approved, [Permission::NetworkOutbound]);
                assert!(answer.get("result").is_some(), "{answer}");
            } else {
                assert_eq!(settled.unwrap_err().code(), 1000);
                assert_eq!(answer["error"]["code"], 2000, "{answer}");
                assert!(reached.tools().is_empty());
            }
        }
    }
}

/// Waits until `holds` is true: messages to the server travel beside the calls.
async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(20), "it never came to be");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
