//! What calls say of their purpose, what the client tells of costs, how long it waits, and what it believes.

use std::time::Duration;

use mgp_client_sdk::mcp::Tool as ListedTool;
use mgp_client_sdk::types::ext::{
    Cost, CostCategory, ExtensionId, Intent, IntentCategory, LatencyClass, Provenance, ToolDeclaration,
};
use mgp_client_sdk::{RawJson, ResultHints, Revision};
use mgp_server_sdk::{Cx, Json, Server, Tool, ToolError};
use mgp_types::Origin;
use serde_json::{Value, json};

use crate::peer::{Peer, builder};
use crate::servers::{MODES, connect, declaring};

/// A server whose tool `why` returns what it was told of the call's purpose and trace.
fn purposes() -> Server {
    Server::new("desk", "1.0.0").tool(Tool::new("why", "Says why it was called."), async |cx: Cx| {
        let intent = cx.intent()?;
        let answer = json!({
            "text": intent.as_ref().map(|intent| &*intent.text),
            "category": intent.as_ref().and_then(|intent| intent.category.as_ref().map(IntentCategory::as_str)),
            "workflow": intent.as_ref().and_then(|intent| intent.workflow_id.as_deref()),
            "trace": cx.context().trace.map(|trace| trace.to_string()),
        });
        Ok::<_, ToolError>(Json(answer))
    })
}

// covers: EXT-02-05, ENV-10-05
#[tokio::test]
async fn a_call_says_who_wants_it_and_of_which_workflow_and_trace_it_is() {
    let trace = "0af76519-16cd-43dd-8448-eb211c80319c";
    for mode in MODES {
        let client = connect(purposes(), declaring(&[ExtensionId::ToolRegistry]), mode).await;
        for (intent, category, workflow) in [
            (Intent::from("find the incident"), None, None),
            (
                Intent::new("find the incident").wanted_by(IntentCategory::UserRequested),
                Some("user_requested"),
                None,
            ),
            (
                Intent::new("find the incident").wanted_by(IntentCategory::AgentAutonomous),
                Some("agent_autonomous"),
                None,
            ),
            (Intent::new("find the incident").step_of("w-7"), Some("workflow_step"), Some("w-7")),
        ] {
            let call = client.call_tool("why", ()).intent(intent).meta("trace_id", RawJson::from_text(trace));
            let output: Value = call.await.unwrap().structured_content.unwrap().to().unwrap();
            assert_eq!(
                output,
                json!({"text": "find the incident", "category": category, "workflow": workflow, "trace": trace})
            );
        }
        let silent = client.call_tool("why", ()).await.unwrap().structured_content.unwrap();
        assert_eq!(silent.to::<Value>().unwrap()["text"], Value::Null, "nothing is told by itself");
    }
}

fn declared(name: &str, declaration: ToolDeclaration) -> Tool {
    Tool::new(name, "Renders an image.").declare(declaration)
}

// covers: EXT-03-04
#[tokio::test]
async fn costs_are_told_to_people_as_the_estimates_that_they_are() {
    let of = |cost| ToolDeclaration { cost: Some(cost), ..ToolDeclaration::default() };
    let server = || {
        Server::new("studio", "1.0.0")
            .tool(declared("dear", of(Cost::metered(5.0, "credits"))), || async { "done" })
            .tool(declared("asked", of(Cost::new(CostCategory::RequiresApproval))), || async { "done" })
            .tool(declared("free", of(Cost::new(CostCategory::Free))), || async { "done" })
    };
    for mode in MODES {
        let client = connect(server(), declaring(&[ExtensionId::CostTransparency]), mode).await;
        for (name, description) in [
            ("dear", "about 5 credits (an estimate)"),
            ("asked", "something, without an estimate"),
            ("free", "nothing (an estimate)"),
        ] {
            let tool = client.find_tool(name).await.unwrap();
            assert_eq!(ToolDeclaration::of_tool(&tool).cost.unwrap().to_string(), description);
        }
    }
}

// covers: EXT-03-08
#[tokio::test(start_paused = true)]
async fn a_tool_of_minutes_is_waited_for_and_one_of_an_instant_no_longer_than_any_call() {
    let of = |latency| ToolDeclaration { latency: Some(latency), ..ToolDeclaration::default() };
    let slow = |seconds| {
        move || async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            "done"
        }
    };
    let server = Server::new("studio", "1.0.0")
        .tool(declared("film", of(LatencyClass::Minutes)), slow(500))
        .tool(declared("image", of(LatencyClass::Seconds)), slow(45))
        .tool(declared("icon", of(LatencyClass::Instant)), slow(500));
    let client = connect(server, declaring(&[]), MODES[0]).await;
    for (name, is_waited_for) in [("film", true), ("image", true), ("icon", false)] {
        let tool = client.find_tool(name).await.unwrap();
        let outcome = client.call_listed(&tool, ()).await;
        assert_eq!(outcome.is_ok(), is_waited_for, "{name}: {outcome:?}");
        if let Err(error) = outcome {
            assert_eq!(error.origin(), Origin::Timeout);
        }
    }
    // A time that is set counts, whatever the tool declares.
    for (name, seconds, is_waited_for) in [("icon", 501, true), ("film", 499, false)] {
        let tool = client.find_tool(name).await.unwrap();
        let outcome = client.call_listed(&tool, ()).timeout(Duration::from_secs(seconds)).await;
        assert_eq!(outcome.is_ok(), is_waited_for, "{name}: {outcome:?}");
    }
}

// covers: EXT-02-03, EXT-02-04, EXT-07-07
#[tokio::test]
async fn nothing_is_told_of_a_purpose_unless_it_is_said_and_no_suggestion_is_followed() {
    let hinted = json!({
        "resultType": "complete", "content": [],
        "_meta": {"provenance": {"source": "a.pdf"}, "suggestion": {"recommended_tool": "b", "reason": "r"}},
    });
    let (peer, client) = Peer::connect(Revision::LATEST, builder(), move |_, _| hinted.clone()).await;
    let result = client.call_tool("a", ()).await.unwrap();
    client.call_tool("a", ()).intent("find it").budget(3.0).await.unwrap();
    assert!(client.call_tool("a", ()).intent("x".repeat(1025).as_str()).await.is_err());
    let calls = peer.params("tools/call");
    assert_eq!(calls.len(), 2, "one call each, and none of the suggested tool");
    assert!(!calls[0].to_string().contains("intent"), "{}", calls[0]);
    let meta = &calls[1]["_meta"];
    assert_eq!((&meta["intent"], &meta["budget"]), (&json!("find it"), &json!({"max_units": 3.0})));
    let hints = ResultHints::of(&result);
    assert_eq!(&*hints.provenance().claim()[0].source, "a.pdf");
    let tool = |name: &str, risk: &str| {
        let mut tool = ListedTool::new(name, RawJson::empty_object());
        tool.extra.insert("risk_level", RawJson::from_text(risk));
        tool
    };
    let called = tool("a", "reversible");
    for (why, known, is_told) in [
        ("it is less risky", tool("b", "safe"), true),
        ("it is riskier", tool("b", "destructive"), false),
        ("nobody knows its risk", ListedTool::new("b", RawJson::empty_object()), false),
        ("nobody knows the tool", tool("c", "safe"), false),
    ] {
        assert_eq!(hints.suggestion(&called, &[known]).is_some(), is_told, "{why}");
    }
}

// covers: EXT-07-07
#[tokio::test]
async fn sources_are_claims_that_nobody_has_checked() {
    let server = || {
        let tool = Tool::new("look_up", "Looks it up.");
        Server::new("library", "1.0.0").hints().tool(tool, async |cx: Cx| {
            cx.source(Provenance::new("invoice.pdf"));
            "42"
        })
    };
    for mode in MODES {
        let client = connect(server(), declaring(&[ExtensionId::Provenance]), mode).await;
        let result = client.call_tool("look_up", ()).await.unwrap();
        let sources = ResultHints::of(&result).provenance();
        // The sources are behind a word that says what they are.
        assert_eq!(sources.claim()[0].source, "invoice.pdf".into());
        let plain = connect(server(), declaring(&[]), mode).await;
        let result = plain.call_tool("look_up", ()).await.unwrap();
        assert_eq!(ResultHints::of(&result).provenance().into_claim(), []);
    }
}
