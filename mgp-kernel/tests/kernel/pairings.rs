//! Clients and servers with and without MGP, and the kernel between them.

use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_types::mcp::SubscriptionFilter;
use mgp_types::mgp::{ServerState, Timestamp};
use mgp_types::{Object, Revision};
use serde_json::{Value, json};

use crate::host::{Host, ask, listed, names, quiet, refused, say, until};
use crate::runner::tests;
use crate::scripted::Script;
use crate::talking;

tests![
    all_four_pairings_work_with_the_same_configuration,
    a_server_that_says_only_that_it_speaks_mgp_does,
    a_server_does_not_start_without_the_permissions_that_it_lists,
    an_agent_hears_when_its_access_ends_by_itself,
];

// covers: MGP-1.3-01..05, MGP-8.1-02, MGP-8.2-01
async fn all_four_pairings_work_with_the_same_configuration() {
    let script = Script::named(&["works"]);
    let host = Host::ready([script.server("plain"), talking::server("speaking")]).await;
    assert!(host.view("plain").mgp.is_none());
    let agreed = host.view("speaking").mgp.unwrap();
    assert!(agreed.extensions.iter().any(|name| name == "lifecycle"), "{agreed:?}");

    // Where there are sessions the kernel knows whom it speaks to when it says what it can do.
    let builder = Client::builder("tests", "1.0.0").mgp(None).revisions([Revision::V2025_11_25]);
    let (mgp, plain) = (host.client("one").await, host.connect("other", builder).await);
    for client in [&mgp, &plain] {
        listed(client, "plain.works").await;
        listed(client, "speaking.pid").await;
        assert_eq!(say(client, "plain.works", json!({"a": "1"})).await, r#"{"a":"1"}"#);
        assert!(say(client, "speaking.pid", json!({})).await.parse::<u32>().is_ok());
    }
    // Nothing of MGP is said to a client that does not speak it.
    assert!(mgp.session().unwrap().mgp.is_some() && plain.session().unwrap().mgp.is_none());
    let tools: Value = ask(&plain, "tools/list", json!({})).await;
    let calls: Value = ask(&plain, "tools/call", json!({"name": "speaking.pid", "arguments": {}})).await;
    for said in [tools.to_string(), calls.to_string(), text(&plain.capabilities())] {
        assert!(!said.contains("_mgp") && !said.contains("security") && !said.contains("mgp/"), "{said}");
    }
    assert!(plain.request("mgp/health/ping", json!({})).await.is_err());
    // Nor to a server: what it is told in the beginning offers MGP in the way that MCP has for it, and no more.
    assert_eq!(ask(&mgp, "mgp/health/ping", json!({})).await["status"], "healthy");
    assert_eq!(script.calls(), [r#"works {"a":"1"}"#, r#"works {"a":"1"}"#]);
    let greeting: Value = serde_json::from_str(&script.greeting()).unwrap();
    assert_eq!(greeting["method"], "initialize");
}

fn text(object: &Object) -> String {
    String::from_utf8(object.to_raw().as_bytes().to_vec()).unwrap()
}

// covers: MGP-8.1-01
async fn a_server_that_says_only_that_it_speaks_mgp_does() {
    for capabilities in [
        r#"{"tools":{},"mgp":{"version":"0.6.0","extensions":["security"]}}"#,
        r#"{"tools":{},"experimental":{"mgp":{"version":"0.6.0","extensions":["security"]}}}"#,
    ] {
        let script = Script::named(&["works"]).capabilities(capabilities);
        let host = Host::ready([script.server("files")]).await;
        let agreed = host.view("files").mgp.expect(capabilities);
        assert_eq!(agreed.extensions, ["security"], "{capabilities}");
        let client = host.client("one").await;
        assert_eq!(say(&client, "files.works", json!({})).await, "{}");
    }
}

// covers: MGP-8.1-03
async fn a_server_does_not_start_without_the_permissions_that_it_lists() {
    let mut config = quiet([
        talking::needing("denied", ["filesystem.write"]),
        talking::needing("granted", ["network.outbound"]),
    ]);
    config["permissions"] = json!({
        "policy": "deny_all",
        "grants": [{"server": "granted", "permission": "network.outbound"}],
    });
    let host = Host::with(config).await;
    host.up("granted").await;
    until("the other one is refused", || {
        let view = host.view("denied");
        (view.state != ServerState::Connected).then_some(view.last_error).flatten()
    })
    .await;
    let client = host.client("one").await;
    listed(&client, "granted.pid").await;
    assert!(!names(&client).await.iter().any(|name| name.starts_with("denied.")));
    refused(client.call_tool("denied.pid", json!({})).await);
}

async fn an_agent_hears_when_its_access_ends_by_itself() {
    let script = Script::named(&["works"]);
    let mut config = quiet([script.server("files")]);
    config["access"] = json!({"default": "opt-in"});
    let host = Host::ready_with(config).await;
    let operator = host.operator().await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let end = Timestamp::now().saturating_add(Duration::from_millis(2500));
        let grant = json!({
            "entry_type": "server_grant", "agent_id": "ada", "server_id": "files", "permission": "allow",
            "expires_at": end,
        });
        ask(&operator, "mgp/access/grant", grant).await;
        let builder = Client::builder("tests", "1.0.0").mgp(None).revisions([revision]);
        let ada = host.connect("ada", builder).await;
        listed(&ada, "files.works").await;
        let filter = SubscriptionFilter::new().with_tools_list_changed(true);
        let mut changes = ada.subscribe(filter).await.unwrap();
        loop {
            let change = tokio::time::timeout(Duration::from_secs(10), changes.next()).await;
            change.expect("it is told").expect("the client is connected").unwrap();
            if Timestamp::now() >= end {
                break;
            }
        }
        ada.clear_cache();
        assert_eq!(names(&ada).await, Vec::<String>::new());
    }
}
