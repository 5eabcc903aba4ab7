//! Tools that are called where another one has failed.

use mgp_server_sdk::{Server, Tool};
use mgp_types::{Error, RpcService};
use serde_json::json;

use super::child;
use crate::host::{Host, Served, say};
use crate::runner::tests;

tests![
    the_configured_tool_of_another_server_is_called_where_one_fails,
    the_other_tool_is_held_to_the_same_rules_as_one_that_was_asked_for,
];

/// A server whose one tool always ends in an error of the protocol.
async fn failing() -> Served {
    let fails = Server::new("failing", "1.0.0")
        .tool(Tool::new("pid", "Returns an error."), async || Err::<String, _>(Error::new(5002, "down")));
    let mut served = Served::start("far", fails).await;
    served.config["tools"] = json!({"pid": {"fallback": "near.pid"}});
    served
}

async fn start() -> (Host, Served) {
    let far = failing().await;
    (Host::ready([child("near"), far.config.clone()]).await, far)
}

// covers: MGP-14.6-04
async fn the_configured_tool_of_another_server_is_called_where_one_fails() {
    let (host, _far) = start().await;
    let client = host.client("one").await;
    let said = say(&client, "far.pid", json!({})).await;
    assert_eq!(said, host.view("near").pid.unwrap().to_string());
    let of_calls = host.recorded(json!({"event_types": ["TOOL_EXECUTED"]})).await;
    assert_eq!(of_calls.len(), 3, "both calls, and why there were two: {of_calls:?}");
    assert!(of_calls.iter().all(|event| event["trace_id"] == of_calls[0]["trace_id"]), "{of_calls:?}");
    assert!(of_calls.iter().any(|event| event["details"]["fallback"]["tool"] == "near.pid"), "{of_calls:?}");
}

async fn the_other_tool_is_held_to_the_same_rules_as_one_that_was_asked_for() {
    let (host, _far) = start().await;
    let (client, operator) = (host.client("one").await, host.operator().await);
    let deny =
        json!({"entry_type": "server_grant", "agent_id": "one", "server_id": "near", "permission": "deny"});
    let tool = operator.call_tool("mgp.access.grant", deny).await.unwrap();
    assert_ne!(tool.is_error, Some(true));
    assert!(is_refused(&client).await);
}

async fn is_refused<S: RpcService>(client: &mgp_client_sdk::Client<S>) -> bool {
    client.call_tool("far.pid", json!({})).await.map_or(true, |result| result.is_error == Some(true))
}
