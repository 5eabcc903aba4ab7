//! Confirmation: a yes to one call, with what was shown.

use std::time::Duration;

use mgp_security::confirmation::ConfirmationSettings;
use mgp_security::permission::{ApprovalAnswer, ApprovalSubject};
use mgp_types::mgp::Decision;
use mgp_types::{Principal, Revision};
use serde_json::json;

use crate::ERAS;
use crate::front::Raw;
use crate::kernel::{AGENT, Kernel, Setup, operator};
use crate::upstream::{self, Reached};

async fn kernel(reached: &Reached, revision: Revision, patience: Duration) -> Kernel {
    let setup =
        Setup { confirmation: Some(ConfirmationSettings::new().with_patience(patience)), ..Setup::default() };
    Kernel::before(upstream::mgp(reached).accept().unwrap(), revision, setup).await
}

#[tokio::test]
async fn what_a_human_saw_is_what_the_server_gets() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision, Duration::from_secs(20)).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        let before = kernel.events().len();
        let deciding = async {
            kernel.pending.count().wait_for(|count| *count == 1).await.unwrap();
            let asked = kernel.pending.list().remove(0);
            let ApprovalSubject::Call { tool, arguments, .. } = &asked.subject else { panic!("{asked:?}") };
            assert_eq!(tool.as_str(), "wipe");
            assert_eq!(arguments.brief(), "{\n  \"target\": \"disk 1\"\n}");
            let yes = ApprovalAnswer::new(operator(), Decision::Approved);
            kernel.pending.decide(&operator(), &asked.id, &yes).await.unwrap();
        };
        let params = r#"{"name":"wipe","arguments":{"target":"d\u0069sk 1"}}"#;
        let (answer, ()) = tokio::join!(client.call("tools/call", params), deciding);
        assert_eq!(answer["result"]["content"][0]["text"], "wiped disk 1", "{answer}");
        let (_, sent) = reached.take().pop().unwrap();
        assert_eq!(sent["arguments"], json!({"target": "disk 1"}));
        assert!(kernel.sent.text().contains(r#"{"target":"d\u0069sk 1"}"#), "forwarded byte for byte");
        let event = &kernel.events()[before];
        assert_eq!(event.event_type.as_str(), "TOOL_EXECUTED");
        assert!(event.details.to_raw().to::<serde_json::Value>().unwrap().to_string().contains("ada"));
    }
}

#[tokio::test]
async fn a_no_is_a_no_and_asks_again_the_next_time() {
    let reached = Reached::default();
    let revision = Revision::V2026_07_28;
    let kernel = kernel(&reached, revision, Duration::from_secs(20)).await;
    let mut client = Raw::open(&kernel, AGENT, revision, true).await;
    for decision in [Decision::Denied, Decision::Deferred, Decision::Denied] {
        let deciding = async {
            kernel.pending.count().wait_for(|count| *count == 1).await.unwrap();
            let asked = kernel.pending.list().remove(0);
            kernel
                .pending
                .decide(&operator(), &asked.id, &ApprovalAnswer::new(operator(), decision))
                .await
                .unwrap();
        };
        let (answer, ()) = tokio::join!(client.tool("wipe", json!({"target": "x"})), deciding);
        assert_eq!(answer["error"]["code"], 1000, "{answer}");
    }
    assert!(reached.tools().is_empty());
}

#[tokio::test]
async fn a_yes_that_comes_late_is_for_one_call_of_one_caller_with_these_arguments() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision, Duration::from_millis(10)).await;
        kernel.allow("agent.two", Some("wipe")).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        let mut other = Raw::open(&kernel, "agent.two", revision, true).await;
        reached.take();
        assert_eq!(client.tool("wipe", json!({"target": "x"})).await["error"]["code"], 1000, "too late");
        let asked = kernel.pending.list().remove(0);
        let decide = async |who: Principal| {
            let yes = ApprovalAnswer::new(who.clone(), Decision::Approved);
            kernel.pending.decide(&who, &asked.id, &yes).await
        };
        assert_eq!(
            decide(Principal::new(AGENT)).await.unwrap_err().code(),
            1000,
            "an agent confirms nothing"
        );
        decide(operator()).await.unwrap();
        assert_eq!(other.tool("wipe", json!({"target": "x"})).await["error"]["code"], 1000);
        assert_eq!(client.tool("wipe", json!({"target": "y"})).await["error"]["code"], 1000);
        let answer = client.tool("wipe", json!({"target": "x"})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "wiped x", "{answer}");
        assert_eq!(client.tool("wipe", json!({"target": "x"})).await["error"]["code"], 1000, "used up");
        assert_eq!(reached.tools(), ["wipe"]);
    }
}
