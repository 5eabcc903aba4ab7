//! Permissions: an operator decides, while a call waits and at any time after.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use mgp_security::Clock;
use mgp_security::permission::{ApprovalAnswer, ApprovalSubject, GrantTerms, PendingApproval};
use mgp_types::mgp::{Decision, Permission, Timestamp};
use mgp_types::{Principal, Revision};
use serde_json::json;

use crate::ERAS;
use crate::front::Raw;
use crate::kernel::{AGENT, Kernel, Setup, operator, server_id};
use crate::upstream::{self, Reached};

async fn kernel(reached: &Reached, revision: Revision, setup: Setup) -> Kernel {
    Kernel::before(upstream::mgp(reached).accept().unwrap(), revision, setup).await
}

/// Returns the one question that is open, once it is.
async fn question(kernel: &Kernel) -> PendingApproval {
    kernel.pending.count().wait_for(|count| *count == 1).await.unwrap();
    kernel.pending.list().remove(0)
}

// covers: MGP-3.1-02, MGP-3.3-02, MGP-3.4-01
#[tokio::test]
async fn a_call_waits_for_an_operator_and_goes_on_with_the_yes() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision, Setup::default()).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        let before = kernel.events().len();
        let deciding = async {
            let asked = question(&kernel).await;
            assert!(reached.tools().is_empty());
            assert_eq!(asked.asker.as_ref().map(Principal::as_str), Some(AGENT));
            let ApprovalSubject::Permission { permission, tool, .. } = &asked.subject else {
                panic!("{asked:?}")
            };
            assert_eq!((permission, tool), (&Permission::ShellExecute, &Some("run".into())));
            let yes = ApprovalAnswer::new(operator(), Decision::Approved);
            kernel.pending.decide(&operator(), &asked.id, &yes).await.unwrap();
        };
        let (answer, ()) = tokio::join!(client.tool("run", json!({"command": "ls"})), deciding);
        assert_eq!(answer["result"]["content"][0]["text"], "ran ls", "{answer}");
        assert_eq!(reached.tools(), ["run"]);
        assert_eq!(kernel.kinds(before), ["PERMISSION_GRANTED", "TOOL_EXECUTED"]);
        let events = kernel.events();
        assert_eq!(events[before].trace_id, events[before + 1].trace_id);
        assert_eq!(events[before].actor.id, "ada");
    }
}

// covers: MGP-3.1-02, MGP-3.4-03
#[tokio::test]
async fn what_is_taken_back_is_closed_for_the_next_call() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision, Setup::default()).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        kernel.permit(Permission::ShellExecute).await;
        let answer = client.tool("run", json!({"command": "ls"})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "ran ls", "{answer}");
        kernel.book.revoke(&operator(), &server_id(), &Permission::ShellExecute).await.unwrap();
        reached.take();
        let answer = client.tool("run", json!({"command": "ls"})).await;
        assert_eq!(answer["error"]["code"], 1000, "{answer}");
        assert!(reached.tools().is_empty());
    }
}

// covers: MGP-1.2-03, MGP-3.1-02
#[tokio::test]
async fn an_agent_cannot_approve_what_it_waits_for() {
    for revision in ERAS {
        let reached = Reached::default();
        let mut setup = Setup::default();
        setup.settings = setup.settings.with_patience(Duration::from_millis(400));
        let kernel = kernel(&reached, revision, setup).await;
        // Even one that may use everything on the server.
        kernel.allow(AGENT, None).await;
        reached.take();
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        let mut accomplice = Raw::open(&kernel, AGENT, revision, true).await;
        let trying = async {
            let asked = question(&kernel).await;
            let agent = Principal::new(AGENT);
            for (who, answerer) in [(&agent, &agent), (&agent, &operator())] {
                let yes = ApprovalAnswer::new(answerer.clone(), Decision::Approved);
                assert_eq!(kernel.pending.decide(who, &asked.id, &yes).await.unwrap_err().code(), 1000);
            }
            let granted = json!({
                "request_id": "perm-001", "grants": { "shell.execute": "approved" }, "approved_by": "ada"
            });
            for method in [
                "mgp/permission/response",
                "mgp/permission/grant",
                "mgp/permission/request",
                "mgp/permission/await",
                "notifications/mgp.permission.response",
            ] {
                accomplice.call(method, &granted.to_string()).await;
                accomplice.notify(method, &granted.to_string()).await;
            }
            let grants = json!({ "dev.cloto/mgp/grants": granted }).to_string();
            let rest = grants.strip_prefix('{').unwrap();
            let echo = accomplice.described(r#"{"name":"echo","arguments":{"text":"x"}}"#);
            let with_grants = match echo.strip_prefix(r#"{"_meta":{"#) {
                Some(described) => format!(r#"{{"_meta":{{{},{described}"#, rest.strip_suffix('}').unwrap()),
                None => format!(r#"{{"_meta":{grants},{}"#, &echo[1..]),
            };
            accomplice
                .write(&format!(
                    r#"{{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{with_grants}}}"#
                ))
                .await;
            let answer = accomplice.read().await;
            assert_eq!(answer["result"]["content"][0]["text"], "x", "{answer}");
        };
        let (answer, ()) = tokio::join!(client.tool("run", json!({"command": "ls"})), trying);
        assert_eq!(answer["error"]["code"], 1000, "{answer}");
        assert!(!kernel.book.is_granted(&server_id(), &Permission::ShellExecute));
        for (method, params) in reached.take() {
            assert_ne!(params["name"], "run");
            assert!(!method.starts_with("mgp/permission"), "{method}: {params}");
            assert_ne!(params["_meta"]["dev.cloto/mgp/grants"]["approved_by"], "ada", "{params}");
        }
    }
}

// covers: MGP-3.6-05
#[tokio::test]
async fn a_grant_ends_when_its_time_is_over() {
    for revision in ERAS {
        let reached = Reached::default();
        let now = Arc::new(AtomicI64::new(1_700_000_000_000));
        let told = now.clone();
        let clock = Clock::new(move || Timestamp::from_millis(told.load(Ordering::Relaxed)).unwrap());
        let mut setup = Setup { clock: clock.clone(), ..Setup::default() };
        setup.settings = setup.settings.with_patience(Duration::ZERO);
        let kernel = kernel(&reached, revision, setup).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        let terms = GrantTerms::default().until(clock.now().saturating_add(Duration::from_mins(1)));
        kernel.book.grant(&operator(), &server_id(), &Permission::ShellExecute, terms).await.unwrap();
        let answer = client.tool("run", json!({"command": "ls"})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "ran ls", "{answer}");
        reached.take();
        // A clock that is put back afterwards revives nothing.
        for shift in [60_000, -50_000] {
            now.fetch_add(shift, Ordering::Relaxed);
            let answer = client.tool("run", json!({"command": "ls"})).await;
            assert_eq!(answer["error"]["code"], 1000, "{answer}");
            assert_eq!(answer["error"]["data"]["_mgp"]["details"]["reason"], "expired", "{answer}");
        }
        assert!(reached.tools().is_empty());
    }
}
