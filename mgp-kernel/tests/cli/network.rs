use std::time::Duration;

use http::HeaderValue;
use http::header::AUTHORIZATION;
use mgp_client_sdk::Client;
use mgp_types::mcp::CallToolResult;
use mgp_types::{Error, RpcService};
use serde_json::json;
use tokio::time::Instant;

use crate::home::Home;
use crate::kernel::Kernel;

/// A client without MGP, with a key.
async fn client(port: u16, key: &str) -> Client<impl RpcService> {
    let key = HeaderValue::try_from(format!("Bearer {key}")).unwrap();
    Client::builder("tests", "1.0.0")
        .mgp(None)
        .connect_http_with(&format!("http://127.0.0.1:{port}/mcp"), |http| {
            http.header(AUTHORIZATION, key.clone())
        })
        .await
        .unwrap()
}

fn is_refused(outcome: &Result<CallToolResult, Error>) -> bool {
    outcome.as_ref().map_or(true, |result| result.is_error == Some(true))
}

/// Step by step as docs/http.md says.
#[tokio::test]
async fn a_client_on_the_network_lists_searches_and_calls_what_its_key_permits() {
    let home = Home::with_state();
    home.add_server("clock", &home.clock());
    home.add_server("notes", &home.notes());
    let kernel = Kernel::start(&home, &["--http", "0.0.0.0:0", "--no-stdio"]);
    let port = kernel.port();
    let build = home.key("agent.build", &["list", "call:*"]);
    let narrow = home.key("agent.narrow", &["see:clock.*", "call:clock.*"]);
    home.json(["access", "grant", "agent.build", "clock"]);
    home.json(["access", "grant", "agent.narrow", "clock"]);
    home.json(["access", "grant", "agent.narrow", "notes"]);

    let build = client(port, &build).await;
    let end = Instant::now() + Duration::from_secs(20);
    // Tools are searched a moment after they are listed.
    loop {
        let found = build.call_tool("mgp.tools.discover", json!({"query": "what time is it"})).await;
        assert!(!is_refused(&found), "{found:?}");
        if format!("{found:?}").contains("clock__now") {
            break;
        }
        assert!(Instant::now() < end, "nothing is found");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(build.list_tools().await.unwrap().iter().any(|tool| tool.name == "clock__now"));
    let called = build.call_tool("clock.now", json!({})).await;
    assert!(!is_refused(&called), "{called:?}");
    // A key permits what it says, and access is granted beside it.
    let notes = build.call_tool("notes.list", json!({})).await;
    assert!(is_refused(&notes), "{notes:?}");

    let narrow = client(port, &narrow).await;
    assert!(!is_refused(&narrow.call_tool("clock.now", json!({})).await));
    for refused in ["notes.list", "mgp.tools.discover", "mgp.access.grant"] {
        let outcome = narrow.call_tool(refused, json!({"query": "notes"})).await;
        assert!(is_refused(&outcome), "{refused}: {outcome:?}");
    }
    let names: Vec<_> = narrow.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert!(!names.is_empty() && names.iter().all(|name| name.starts_with("clock__")), "{names:?}");
}
