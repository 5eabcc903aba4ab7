use mgp_security::definition::DefinitionKind;
use mgp_toolindex::{ServerTools, ToolListing};
use mgp_types::mgp::{AccessGrant, AccessPermission, EffectiveSecurity, ResolvedTool, RiskLevel};
use mgp_types::{Principal, Revision, Session};
use serde_json::{Value, json};
use tower_service::Service as _;

use super::*;
use crate::router::test_kernel::{TestKernel, TestServer};

const BUDGET: &str = r#"{"access":{"default":"opt-out"},"agents":[{"id":"ada","budget":{"units":10}}]}"#;

fn tool(name: &str, further: &str) -> Arc<ResolvedTool> {
    let definition = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}{further}}}"#);
    let definition = Object::parse(definition).unwrap();
    ResolvedTool::new("studio".into(), name.into(), definition, EffectiveSecurity::new(RiskLevel::Safe))
}

fn render() -> Arc<ResolvedTool> {
    tool(
        "render",
        r#","cost":{"category":"metered","estimated_units":4.0,"unit_label":"credits"},"max_input_size_bytes":4"#,
    )
}

/// Returns the call of a tool by an agent whose client declares these extensions.
fn call(tool: Arc<ResolvedTool>, agent: &str, extensions: &[&str], params: Value) -> Request {
    let mut params = params;
    params["name"] = json!(tool.name.as_str());
    let mut request = Request::call(Method::TOOLS_CALL, Object::from_value(&params).unwrap());
    let mut session = Session::new(Revision::LATEST);
    session.capabilities = Object::from_value(&json!({ "extensions": extensions })).unwrap();
    request.context.session = Some(Arc::new(session));
    request.context.principal = Some(Principal::new(agent));
    request.context.tool = Some(tool);
    request
}

fn gate(kernel: &TestKernel) -> CallHintsGate {
    CallHintsGate::new("studio".into(), Arc::clone(&kernel.config), Arc::clone(&kernel.policies.budgets))
}

async fn answer(gate: &CallHintsGate, server: &TestServer, request: Request) -> Result<Value, Error> {
    Ok(gate.layer(server.clone()).call(request).await?.to_raw().to().unwrap())
}

const DONE: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;

// covers: EXT-03-07
#[tokio::test]
async fn a_call_beyond_its_budget_or_its_size_never_reaches_the_server() {
    let kernel = TestKernel::open().await;
    let (gate, server) = (gate(&kernel), TestServer::default());
    let poor = json!({"_meta": {"budget": {"max_units": 3}}});
    let error = answer(&gate, &server, call(render(), "eve", &[], poor.clone())).await.unwrap_err();
    assert_eq!(error.code(), code::QUOTA_EXCEEDED);
    let wrong = json!({"_meta": {"budget": 3}});
    let error = answer(&gate, &server, call(render(), "eve", &[], wrong)).await.unwrap_err();
    assert_eq!(error.code(), code::INVALID_PARAMS);
    let long = json!({"arguments": {"scene": "five!"}});
    let error = answer(&gate, &server, call(render(), "eve", &[], long)).await.unwrap_err();
    assert_eq!(error.code(), code::INVALID_TOOL_ARGS);
    assert!(error.data().unwrap().to_string().contains("PAYLOAD_TOO_LARGE"));
    assert!(server.asked().is_empty());
    answer(&gate, &server, call(tool("other", ""), "eve", &[], poor)).await.unwrap();
    let rich = json!({"arguments": {"scene": "four"}, "_meta": {"budget": {"max_units": 4}}});
    answer(&gate, &server, call(render(), "eve", &[], rich)).await.unwrap();
    assert_eq!(server.asked().len(), 2);
}

// covers: EXT-03-03, EXT-03-06, EXT-03-07
#[tokio::test]
async fn the_budget_of_an_agent_is_counted_corrected_and_told() {
    let kernel = TestKernel::with(BUDGET).await;
    let (gate, server) = (gate(&kernel), TestServer::default());
    let by = |agent: &str, declared: &[&str]| call(render(), agent, declared, json!({}));
    let extensions = ["cost_transparency"];
    server.answers(DONE);
    let result = answer(&gate, &server, by("ada", &extensions)).await.unwrap();
    assert_eq!(result["_meta"]["quota"]["remaining"], 6, "by the estimate: {result}");
    assert!(result["_meta"]["quota"]["resets_at"].as_str().is_some_and(|end| end.contains("T00:00:00")));
    server.answers(r#"{"content":[],"_meta":{"cost":{"units":2}}}"#);
    let result = answer(&gate, &server, by("ada", &extensions)).await.unwrap();
    assert_eq!(result["_meta"]["quota"]["remaining"], 4, "by what it cost: {result}");
    assert_eq!(result["_meta"]["cost"], json!({"units": 2}));
    // The result of an earlier call was paid for then.
    server.answers(r#"{"content":[],"_meta":{"cost":{"units":2},"idempotency_key":"k","was_replay":true}}"#);
    let result = answer(&gate, &server, by("ada", &extensions)).await.unwrap();
    assert_eq!(result["_meta"]["quota"]["remaining"], 4, "{result}");
    // A call that was not made costs nothing, and a client that did not ask is told nothing.
    server.refuses(Error::invalid_params("no"));
    answer(&gate, &server, by("ada", &extensions)).await.unwrap_err();
    server.answers(r#"{"content":[],"_meta":{"cost":{"units":3}}}"#);
    let result = answer(&gate, &server, by("ada", &[])).await.unwrap();
    assert_eq!(result["_meta"], json!({"cost": {"units": 3}}));
    let error = answer(&gate, &server, by("ada", &extensions)).await.unwrap_err();
    assert_eq!(error.code(), code::QUOTA_EXCEEDED);
    assert!(error.message().contains("`ada` has 1 of 10 units left"), "{error}");
    answer(&gate, &server, by("eve", &extensions)).await.unwrap();
}

// covers: EXT-07-01
#[tokio::test]
async fn the_kernel_says_which_server_a_result_is_from_whatever_the_server_says() {
    let kernel = TestKernel::open().await;
    let (gate, server) = (gate(&kernel), TestServer::default());
    let by = |declared: &[&str]| call(tool("look", ""), "eve", declared, json!({}));
    server.answers(
        r#"{"content":[],"_meta":{"provenance":{"source":"a"},"io.github.mcp-extension-proposals/origin":{"server_id":"bank"}}}"#,
    );
    let result = answer(&gate, &server, by(&["provenance"])).await.unwrap();
    assert_eq!(result["_meta"][format!("{PREFIX}origin")], json!({"server_id": "studio"}));
    assert_eq!(result["_meta"]["provenance"], json!({"source": "a"}));
    server.answers(DONE);
    let result = answer(&gate, &server, by(&["provenance"])).await.unwrap();
    assert_eq!(result["_meta"], json!({"io.github.mcp-extension-proposals/origin": {"server_id": "studio"}}));
    assert_eq!(answer(&gate, &server, by(&[])).await.unwrap(), serde_json::from_str::<Value>(DONE).unwrap());
}

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
    let gate = SuggestionGate {
        visibility: Arc::clone(&kernel.visibility),
        config: Arc::clone(&kernel.config),
        index: kernel.support.tools.index.clone(),
        audit: Arc::clone(&kernel.audit),
    };
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
    let called = kernel.catalog.snapshot().tool("ops", "weather").unwrap().resolved.clone();
    let request = call(called, agent, declared, json!({"_meta": intent}));
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
