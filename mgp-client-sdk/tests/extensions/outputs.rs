//! Results that are compared with the output schema of their tool.

use mgp_client_sdk::mcp::CallToolResult;
use mgp_server_sdk::{RawJson, Server, Tool};
use mgp_types::Origin;
use serde_json::{Value, json};

use crate::servers::{MODES, connect, declaring};

/// A server whose tool promises a sum, and returns this structured content.
fn server(output: Option<Value>, failed: bool) -> Server {
    let schema = r#"{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}"#;
    let tool = Tool::new("add", "Adds.").output_schema(RawJson::parse(schema).unwrap());
    Server::new("calc", "1.0.0").tool(tool, move || {
        let output = output.clone();
        async move {
            let mut result = if failed { CallToolResult::error("no") } else { CallToolResult::text("3") };
            result.structured_content = output.map(|output| RawJson::from_value(&output).unwrap());
            result
        }
    })
}

// covers: ENV-8.2-01
#[tokio::test]
async fn a_result_that_does_not_fit_the_schema_of_its_tool_is_an_error_if_the_caller_asks_for_it() {
    for mode in MODES {
        for (output, fault) in [
            (Some(json!({"sum": 3, "more": true})), None),
            (Some(json!({"sum": "three"})), Some("`/sum` breaks `type`")),
            (Some(json!({})), Some("`required`")),
            (None, Some("no structured content")),
        ] {
            let client = connect(server(output.clone(), false), declaring(&[]), mode).await;
            let tool = client.find_tool("add").await.unwrap();
            let checked = client.call_listed(&tool, ()).check_output(&tool).await;
            match (checked, fault) {
                (Ok(_), None) => {}
                (Err(error), Some(fault)) => {
                    assert_eq!(error.origin(), Origin::Misbehaved);
                    assert!(
                        error.message().contains("`add`") && error.message().contains(fault),
                        "{output:?}: {error}"
                    );
                }
                (outcome, _) => panic!("{output:?}: {outcome:?}"),
            }
            assert!(client.call_listed(&tool, ()).await.is_ok(), "nobody asked");
        }
    }
}

#[tokio::test]
async fn a_failed_result_is_not_compared_and_a_part_by_part_one_is() {
    let client = connect(server(None, true), declaring(&[]), MODES[0]).await;
    let tool = client.find_tool("add").await.unwrap();
    let failed = client.call_tool("add", ()).check_output(&tool).await.unwrap();
    assert_eq!(failed.is_error, Some(true));
    let client = connect(server(Some(json!({})), false), declaring(&[]), MODES[0]).await;
    let streamed = client.call_tool("add", ()).check_output(&tool).stream().unwrap();
    assert_eq!(streamed.finish().await.unwrap_err().origin(), Origin::Misbehaved);
}

#[tokio::test]
async fn a_schema_that_cannot_be_used_refuses_the_call() {
    let client = connect(server(Some(json!({"sum": 1})), false), declaring(&[]), MODES[0]).await;
    let mut tool = client.find_tool("add").await.unwrap();
    tool.output_schema = Some(RawJson::parse(r#"{"$ref":"https://example.com/elsewhere"}"#).unwrap());
    let refused = client.call_tool("add", ()).check_output(&tool).await.unwrap_err();
    assert!(refused.message().contains("the output of `add` cannot be checked"), "{refused}");
}
