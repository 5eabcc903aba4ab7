use mgp_types::mgp::{EffectiveSecurity, ResolvedTool, RiskLevel};
use mgp_types::{Principal, Revision, Session};
use serde_json::{Value, json};
use tower_service::Service as _;

use super::*;
use crate::test_kernel::{TestKernel, TestServer};

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

// covers: EXT-10-06
#[tokio::test]
async fn a_result_of_more_bytes_than_its_tool_declares_is_left_out() {
    let kernel = TestKernel::open().await;
    let (gate, server) = (gate(&kernel), TestServer::default());
    let paint = || tool("paint", r#","max_output_size_bytes":10"#);
    for (size, is_refused) in [(10, false), (11, true), (5_000, true)] {
        let text = "x".repeat(size);
        server.answers(json!({"content": [{"type": "text", "text": text}]}).to_string().leak());
        let result = answer(&gate, &server, call(paint(), "eve", &[], json!({}))).await.unwrap();
        assert_eq!(result["isError"] == true, is_refused, "{size}: {result}");
        assert_eq!(result["content"][0]["text"] == text.as_str(), !is_refused);
        if is_refused {
            assert_eq!(result["_meta"]["error"]["code"], "PAYLOAD_TOO_LARGE");
        }
    }
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
