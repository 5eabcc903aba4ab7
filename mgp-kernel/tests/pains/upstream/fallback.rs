//! Tools that are called where another one has failed.

use mgp_discovery::Config;
use mgp_server_sdk::{Server, Tool};
use mgp_types::{Error, RpcService};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{ask, child, config};
use crate::host::{Host, say};
use crate::runner::tests;

tests![
    the_configured_tool_of_another_server_is_called_where_one_fails,
    the_other_tool_is_held_to_the_same_rules_as_one_that_was_asked_for,
];

/// A server whose one tool always ends in an error of the protocol.
async fn failing() -> (Value, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = Server::new("failing", "1.0.0")
        .tool(Tool::new("pid", "Fails."), async || Err::<String, _>(Error::new(5002, "down")));
    let serving = tokio::spawn(async move { drop(server.serve_http(listener).await) });
    (json!({"id": "far", "url": url, "tools": {"pid": {"fallback": "near.pid"}}}), serving)
}

async fn start() -> (Host, JoinHandle<()>) {
    let (far, serving) = failing().await;
    let mut config: Config = config(vec![child("near"), far]);
    config.confirmation.dangerous = false;
    let host = Host::start_with(config).await;
    host.up("near").await;
    host.up("far").await;
    (host, serving)
}

// covers: MGP-14.6-04
async fn the_configured_tool_of_another_server_is_called_where_one_fails() {
    let (host, serving) = start().await;
    let client = host.client("one").await;
    let said = say(&client, "far.pid", json!({})).await;
    assert_eq!(said, host.view("near").pid.unwrap().to_string());
    let operator = host.operator().await;
    let events = ask(&operator, "kernel/audit/query", json!({"filter": {}})).await.unwrap();
    let of_calls = events["events"].as_array().unwrap().iter().map(|entry| &entry["event"]);
    let of_calls: Vec<_> = of_calls.filter(|event| event["event_type"] == "TOOL_EXECUTED").collect();
    assert_eq!(of_calls.len(), 3, "both calls, and why there were two: {of_calls:?}");
    assert!(of_calls.iter().all(|event| event["trace_id"] == of_calls[0]["trace_id"]), "{of_calls:?}");
    assert!(of_calls.iter().any(|event| event["details"]["fallback"]["tool"] == "near.pid"), "{of_calls:?}");
    serving.abort();
}

async fn the_other_tool_is_held_to_the_same_rules_as_one_that_was_asked_for() {
    let (host, serving) = start().await;
    let (client, operator) = (host.client("one").await, host.operator().await);
    let deny =
        json!({"entry_type": "server_grant", "agent_id": "one", "server_id": "near", "permission": "deny"});
    let tool = operator.call_tool("mgp.access.grant", deny).await.unwrap();
    assert_ne!(tool.is_error, Some(true));
    assert!(is_refused(&client).await);
    serving.abort();
}

async fn is_refused<S: RpcService>(client: &mgp_client_sdk::Client<S>) -> bool {
    client.call_tool("far.pid", json!({})).await.map_or(true, |result| result.is_error == Some(true))
}
