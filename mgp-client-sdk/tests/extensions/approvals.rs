//! Calls that a person agrees to before they are sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mgp_client_sdk::mcp::ElicitAction;
use mgp_client_sdk::types::code;
use mgp_client_sdk::types::ext::{Cost, CostCategory, Impact, ToolDeclaration};
use mgp_client_sdk::{ApprovalQuestion, ApprovalTreatment, Client, EraMode, RpcService};
use mgp_server_sdk::{Object, Server, Tool};
use parking_lot::Mutex;
use serde_json::json;

use crate::servers::MODES;

/// A server whose tools want to be approved for several reasons, or for none, and count their calls.
fn desk() -> (Server, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let handler = || {
        let calls = calls.clone();
        move |_: Object| {
            calls.fetch_add(1, Ordering::SeqCst);
            async { "done" }
        }
    };
    let approved = |risk, message: &str| ToolDeclaration {
        requires_confirmation: true,
        confirmation_message: Some(message.into()),
        risk_level: risk,
        ..ToolDeclaration::default()
    };
    let mut cost = Cost::metered(5.0, "credits");
    cost.category = Some(CostCategory::RequiresApproval);
    let dear =
        ToolDeclaration { cost: Some(cost), risk_level: Some(Impact::Safe), ..ToolDeclaration::default() };
    let server = Server::new("desk", "1.0.0")
        .tool(Tool::new("list", "Lists tickets."), handler())
        .tool(Tool::new("render", "Renders.").declare(dear), handler())
        .tool(
            Tool::new("edit", "Edits.").declare(approved(Some(Impact::Reversible), "Edit {id}?")),
            handler(),
        )
        .tool(Tool::new("wipe", "Wipes.").declare(approved(None, "Delete {id} for good?")), handler());
    (server, calls)
}

/// Connects a client whose user answers each question like this, and returns the questions.
async fn user(
    server: Server,
    mode: EraMode,
    answer: &ElicitAction,
) -> (Client<impl RpcService>, Arc<Mutex<Vec<ApprovalQuestion>>>) {
    let questions = Arc::new(Mutex::new(Vec::new()));
    let (asked, answer) = (questions.clone(), answer.clone());
    let client = Client::builder("tester", "1.0.0").era(mode).on_approval(move |question| {
        asked.lock().push(question);
        let answer = answer.clone();
        async move { answer }
    });
    (client.in_process(server.accept().unwrap()).await.unwrap(), questions)
}

// covers: EXT-03-05, EXT-06-04, EXT-06-11
#[tokio::test]
async fn a_person_is_asked_before_a_call_that_wants_it_and_told_of_costs_and_harm() {
    for mode in MODES {
        let (server, calls) = desk();
        let (client, questions) = user(server, mode, &ElicitAction::Accept).await;
        client.list_tools().await.unwrap();
        client.call_tool("list", ()).await.unwrap();
        assert!(questions.lock().is_empty(), "the tool wants nobody to be asked");
        for (tool, message, treatment) in [
            ("render", "Call `render`? It costs about 5 credits (an estimate).", ApprovalTreatment::Plain),
            ("edit", "Edit “P-3”?", ApprovalTreatment::Warning),
            ("wipe", "Delete “P-3” for good?", ApprovalTreatment::TypeToConfirm),
        ] {
            client.call_tool(tool, json!({"id": "P-3"})).await.unwrap();
            let question = questions.lock().pop().unwrap();
            assert_eq!((&*question.tool, &*question.message), (tool, message));
            assert_eq!(question.treatment(), treatment, "{tool}");
            assert_eq!(question.arguments.unwrap().as_bytes(), br#"{"id":"P-3"}"#);
        }
        assert_eq!(calls.load(Ordering::SeqCst), 4);
    }
}

// covers: EXT-03-05, EXT-06-04, EXT-06-07
#[tokio::test]
async fn a_call_that_the_person_does_not_accept_is_never_sent() {
    for mode in MODES {
        for answer in [ElicitAction::Decline, ElicitAction::Cancel] {
            let (server, calls) = desk();
            let (client, questions) = user(server, mode, &answer).await;
            let tools = client.list_tools().await.unwrap();
            for tool in tools.iter().filter(|tool| tool.name != "list") {
                let by_name = client.call_tool(&tool.name, json!({"id": 1})).await;
                let listed = client.call_listed(tool, json!({"id": 1})).await;
                let streamed =
                    client.call_tool(&tool.name, json!({"id": 1})).stream().unwrap().finish().await;
                for refused in [by_name, listed, streamed] {
                    let refused = refused.unwrap_err();
                    assert_eq!(refused.code(), code::CONFIRMATION_DECLINED);
                    let message = format!("the user did not approve the call of `{}`", tool.name);
                    assert!(refused.message().contains(&message), "{refused}");
                }
            }
            assert_eq!(questions.lock().len(), 9);
            assert_eq!(calls.load(Ordering::SeqCst), 0);
        }
    }
}

#[tokio::test]
async fn a_tool_that_nobody_listed_is_asked_about_and_a_listed_one_is_known() {
    for mode in MODES {
        let (server, calls) = desk();
        let (client, questions) = user(server, mode, &ElicitAction::Decline).await;
        assert!(client.call_tool("list", ()).await.is_err());
        let question = questions.lock().pop().unwrap();
        assert!(question.message.contains("in no list of tools"), "{}", question.message);
        assert_eq!(question.risk, Impact::Destructive);
        client.list_tools().await.unwrap();
        client.call_tool("list", ()).await.unwrap();
        assert_eq!((questions.lock().len(), calls.load(Ordering::SeqCst)), (0, 1));
    }
}
