//! Calls that begin too early, are taken back, or go on as tasks; and clients that are typed on both ends.

use std::time::Duration;

use mgp_client_sdk::{Client, StartedTool};
use mgp_transport::era::EraMode;
use mgp_types::mgp::{Category, ExtensionSet, Offer, Outcome, Permission};
use mgp_types::{Principal, RawJson, Revision};
use serde_json::json;

use crate::ERAS;
use crate::front::Raw;
use crate::kernel::{AGENT, Kernel, Setup};
use crate::upstream::{self, Reached};

async fn kernel(reached: &Reached, revision: Revision, setup: Setup) -> Kernel {
    Kernel::before(upstream::mgp(reached).accept().unwrap(), revision, setup).await
}

// covers: MGP-3.4-01
#[tokio::test]
async fn a_call_before_the_permissions_are_settled_is_blocked_and_not_recorded_as_executed() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision, Setup { settle: false, ..Setup::default() }).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        let before = kernel.events().len();
        let answer = client.tool("echo", json!({"text": "x"})).await;
        assert_eq!(answer["error"]["code"], 2000, "{answer}");
        assert_eq!(kernel.kinds(before), ["TOOL_BLOCKED"]);
        assert!(reached.tools().is_empty());
    }
}

#[tokio::test]
async fn a_call_that_is_taken_back_is_over_and_its_question_can_still_be_answered_2025() {
    let reached = Reached::default();
    let revision = Revision::V2025_11_25;
    let kernel = kernel(&reached, revision, Setup::default()).await;
    let mut client = Raw::open(&kernel, AGENT, revision, true).await;
    let before = kernel.events().len();
    let frame = client.frame("tools/call", r#"{"name":"run","arguments":{"command":"ls"}}"#);
    let id = serde_json::from_str::<serde_json::Value>(&frame).unwrap()["id"].clone();
    client.write(&frame).await;
    kernel.pending.count().wait_for(|count| *count == 1).await.unwrap();
    client.notify("notifications/cancelled", &json!({ "requestId": id }).to_string()).await;
    let over = async {
        loop {
            kernel.log.flush().await.unwrap();
            let events = kernel.events();
            let mut own = events[before..].iter();
            if let Some(call) = own.find(|event| event.target.tool_name == Some("run".into())) {
                return call.result;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert_eq!(tokio::time::timeout(Duration::from_secs(20), over).await.unwrap(), Outcome::Failure);
    assert_eq!(kernel.pending.list().len(), 1);
    kernel.permit(Permission::ShellExecute).await;
    assert!(reached.tools().is_empty());
}

#[tokio::test]
async fn typed_clients_on_both_ends_of_the_stack_read_the_same_refusals() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision, Setup::default()).await;
        let mode = if revision.is_stateless() { EraMode::Stateless } else { EraMode::Session };
        let far = Client::builder("agent", "1.0.0")
            .era(mode)
            .mgp(Offer::new(ExtensionSet::standard()))
            .in_process(kernel.front(Principal::new(AGENT)))
            .await
            .unwrap();
        assert_eq!(kernel.client.list_tools().await.unwrap().len(), 5);
        assert_eq!(far.list_tools().await.unwrap().len(), 5);
        for text in ["near", "far"] {
            let answer = match text {
                "near" => kernel.client.call_tool("echo", json!({ "text": text })).await,
                _ => far.call_tool("echo", json!({ "text": text })).await,
            };
            assert_eq!(answer.unwrap().content[0].as_text(), Some(text));
        }
        let evil = json!({"command": "rm -rf /"});
        let near = kernel.client.call_tool("run", evil.clone()).await.unwrap_err();
        let far = far.call_tool("run", evil).await.unwrap_err();
        for error in [near, far] {
            assert_eq!(error.code(), 1010);
            let recovery = error.recovery().unwrap();
            assert_eq!(recovery.category, Some(Category::Security));
            assert!(recovery.details.is_some());
        }
        assert_eq!(reached.tools(), ["echo", "echo"]);
    }
}

#[tokio::test]
async fn a_task_is_its_callers_alone() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision, Setup::default()).await;
        let connect = async |agent: &str| {
            let mode = if revision.is_stateless() { EraMode::Stateless } else { EraMode::Session };
            let client = Client::builder(agent, "1.0.0").era(mode).tasks();
            client.in_process(kernel.front(Principal::new(agent))).await.unwrap()
        };
        kernel.allow(AGENT, Some("report")).await;
        kernel.allow("agent.two", Some("report")).await;
        let (one, two, none) =
            (connect(AGENT).await, connect("agent.two").await, connect("agent.none").await);
        let StartedTool::Task(task) = one.start_tool("report", json!({"text": "mine"})).await.unwrap() else {
            panic!("the server runs it as a task")
        };
        let about = json!({ "taskId": task.id() });
        for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/update"] {
            for (other, whose) in [(&two, "two"), (&none, "none")] {
                let refused = other.request(method, about.clone()).await.unwrap_err();
                let gone = refused.code() == -32601;
                assert!(refused.code() == 1001 || gone, "{method} {whose}: {refused}");
            }
        }
        if !revision.is_stateless() {
            let listed = |list: RawJson| String::from_utf8(list.as_bytes().to_vec()).unwrap();
            assert!(!listed(two.request("tasks/list", json!({})).await.unwrap()).contains(task.id()));
            assert!(listed(one.request("tasks/list", json!({})).await.unwrap()).contains(task.id()));
        }
        let unknown = two.request("tasks/get", json!({"taskId": "unknown"})).await.unwrap_err();
        let anothers = two.request("tasks/get", about).await.unwrap_err();
        assert_eq!((unknown.code(), unknown.message()), (anothers.code(), anothers.message()));
        let result = task.wait().await.unwrap();
        assert_eq!(result.content[0].as_text(), Some("mine"));
    }
}
