use mgp_security::definition::DefinitionKind;
use mgp_toolindex::{ServerTools, ToolListing};
use mgp_types::mgp::{AccessGrant, AccessPermission, EffectiveSecurity, RiskLevel};
use mgp_types::{Object, Revision, code};
use serde_json::{Value, json};
use tower_service::Service as _;

use super::*;
use crate::test_kernel::{TestKernel, TestServer};

const DONE: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;

/// A kernel whose server has a tool for incidents of all times and one for those of late, and one that deletes.
async fn with_tools() -> (TestKernel, SuggestionGate, TestServer) {
    let kernel = TestKernel::open().await;
    let deny = AccessGrant::new("eve".into(), "ops".into(), AccessPermission::Deny)
        .for_tool("recent_incidents".into());
    kernel.policies.access.grant(&Principal::operator("root"), None, deny).await.unwrap();
    let server = kernel.server("ops").await;
    let definition = |name: &str, text: &str| {
        let json = format!(r#"{{"name":"{name}","description":"{text}","inputSchema":{{"type":"object"}}}}"#);
        Object::parse(json).unwrap()
    };
    let tools = [
        ("recent_incidents", "Lists the most recent incidents of production.", RiskLevel::Safe),
        ("weather", "Tells the weather in a city.", RiskLevel::Safe),
        ("purge_incidents", "Deletes all incidents of production for good.", RiskLevel::Dangerous),
    ];
    let tools = tools.map(|(name, text, risk)| {
        ResolvedTool::new("ops".into(), name.into(), definition(name, text), EffectiveSecurity::new(risk))
    });
    let definitions: Vec<Object> = tools.iter().map(|tool| tool.definition.clone()).collect();
    kernel.policies.definitions.examine(&"ops".into(), DefinitionKind::Tool, &definitions).unwrap();
    kernel.catalog.put_server("ops".into(), tools.to_vec()).unwrap();
    let listings = tools.iter().map(|tool| {
        ToolListing::read(&tool.definition.to_raw()).unwrap().risk(tool.security.risk).qualified()
    });
    let index = &kernel.support.tools.index;
    index.put_server(ServerTools::new("ops", listings.collect())).await;
    index.settled().await;
    let gate = SuggestionGate(Arc::new(kernel.sections.clone()));
    (kernel, gate, server)
}

async fn weather(
    kernel: &TestKernel,
    gate: &SuggestionGate,
    server: &TestServer,
    agent: &str,
    declared: &[&str],
    intent: Value,
) -> Result<Value, Error> {
    let params = Object::from_value(&json!({"name": "weather", "_meta": intent})).unwrap();
    let mut request = Request::call(Method::TOOLS_CALL, params);
    let mut session = Session::new(Revision::LATEST);
    session.capabilities = Object::from_value(&json!({ "extensions": declared })).unwrap();
    request.context.session = Some(Arc::new(session));
    request.context.principal = Some(Principal::new(agent));
    request.context.tool = Some(kernel.catalog.snapshot().tool("ops", "weather").unwrap().resolved.clone());
    Ok(gate.layer(server.clone()).call(request).await?.to_raw().to().unwrap())
}

const HINTS: [&str; 1] = ["intent_hints"];
const PURPOSE: &str = "list the most recent incidents of production";

// covers: EXT-02-02, EXT-02-03
#[tokio::test]
async fn a_clearly_better_tool_is_suggested_and_the_call_is_made_all_the_same() {
    let (kernel, gate, server) = with_tools().await;
    server.answers(DONE);
    let purpose = json!({"intent": PURPOSE});
    let result = weather(&kernel, &gate, &server, "ada", &HINTS, purpose.clone()).await.unwrap();
    let suggestion = &result["_meta"]["suggestion"];
    assert_eq!(suggestion["recommended_tool"], "ops__recent_incidents", "{result}");
    assert_eq!(suggestion["server_id"], "ops");
    assert!(suggestion["confidence"].as_f64().is_some_and(|share| (0.5..=1.0).contains(&share)));
    assert_eq!((result["content"][0]["text"].as_str(), server.asked().len()), (Some("done"), 1));

    let fitting = json!({"intent": "tell the weather in a city"});
    for (agent, declared, meta) in
        [("ada", &HINTS[..], fitting), ("ada", &HINTS, json!({})), ("ada", &[], purpose.clone())]
    {
        let result = weather(&kernel, &gate, &server, agent, declared, meta).await.unwrap();
        assert_eq!(result.get("_meta"), None, "{result}");
    }
    // Whoever may not call the tool is not told of it, nor of the one that deletes.
    let result = weather(&kernel, &gate, &server, "eve", &HINTS, purpose).await.unwrap();
    assert_eq!(result.get("_meta"), None, "{result}");
    let long = json!({"intent": "x".repeat(1025)});
    let error = weather(&kernel, &gate, &server, "ada", &HINTS, long).await.unwrap_err();
    assert_eq!(error.code(), code::INVALID_PARAMS);
}

// covers: EXT-02-03
#[tokio::test]
async fn a_suggestion_of_a_server_names_a_tool_of_its_own_that_the_caller_may_call_and_no_riskier_one() {
    let (kernel, gate, server) = with_tools().await;
    let purpose = json!({"intent": "anything"});
    for (name, agent, passes) in [
        ("recent_incidents", "ada", true),
        ("recent_incidents", "eve", false),
        ("purge_incidents", "ada", false),
        ("unknown", "ada", false),
        ("weather", "ada", false),
    ] {
        let result = json!({"content": [], "_meta": {"their": 1, "suggestion": {
            "recommended_tool": name, "reason": "by recency", "server_id": "bank"}}});
        server.answers(Box::leak(result.to_string().into_boxed_str()));
        let result = weather(&kernel, &gate, &server, agent, &HINTS, purpose.clone()).await.unwrap();
        assert_eq!(result["_meta"]["their"], 1);
        let suggestion = &result["_meta"]["suggestion"];
        if passes {
            let expected = json!({"recommended_tool": "ops__recent_incidents", "reason": "by recency", "server_id": "ops"});
            assert_eq!(*suggestion, expected);
        } else {
            assert!(suggestion.is_null(), "{name} for {agent}: {suggestion}");
        }
    }
}
