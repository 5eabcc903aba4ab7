//! A call that is prepared by the manifest, a check and a negotiation, and one whose agent says that it was confirmed. The other
//! flows that the extensions are published with are shown by `approval` and `transactions`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mgp_server_sdk::{Object, RawJson, Server, Tool};
use mgp_types::Revision;
use mgp_types::ext::Impact;
use serde_json::{Value, json};

use crate::host::{Host, Served, quiet};
use crate::runner::tests;
use crate::scripted::{Script, defined};
use crate::sections::raw::Raw;

tests![
    a_manifest_a_check_and_a_negotiation_lead_to_the_call,
    the_word_of_an_agent_that_its_user_confirmed_counts_for_nothing,
];

/// A server that deletes repositories once a person has agreed, and counts what it deletes.
fn forge(deleted: &Arc<AtomicUsize>) -> Server {
    let deleted = Arc::clone(deleted);
    let delete = Tool::new("delete", "Deletes a repository.").confirm("Delete {repo}?", Impact::Destructive);
    Server::new("forge", "1.0.0").tool(delete, move |_: Object| {
        deleted.fetch_add(1, Ordering::SeqCst);
        async { "deleted" }
    })
}

// covers: EXT-00-08
async fn a_manifest_a_check_and_a_negotiation_lead_to_the_call() {
    let script = Script::of([defined("edit", &[], &json!({"required_scopes": ["write:docs"]}))]);
    let mut config = quiet([script.server("docs")]);
    config["agents"] = json!([{"id": "ada", "scopes": ["read:docs", "write:docs"]}]);
    let host = Host::ready_with(config).await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let extensions = &["scoped_auth", "service_manifest"];
        let mut client = Raw::declaring(&host, "ada", revision, extensions).await;
        let manifest = client.result("mgp/manifest/get", json!({})).await;
        let tool = &manifest["tools"][0];
        assert_eq!(tool["required_scopes"], json!(["write:docs"]), "{manifest}");
        let name = tool.get("x_mcp_name").unwrap_or_else(|| &tool["name"]).clone();
        let reading = session(&mut client, &["read:docs"]).await;
        let check = json!({"tool": name, "_meta": {"session_token": reading}});
        let checked = client.result("mgp/permission/check", check).await;
        assert_eq!(
            (&checked["allowed"], &checked["missing_scopes"]),
            (&json!(false), &json!(["write:docs"]))
        );
        let writing = session(&mut client, &["read:docs", "write:docs"]).await;
        let call = |token: &Value| json!({"name": name, "arguments": {}, "_meta": {"session_token": token}});
        let refused = client.call("tools/call", call(&reading)).await.to_string();
        assert!(refused.contains("missing required scopes: write:docs"), "{refused}");
        let done = client.call("tools/call", call(&writing)).await;
        assert!(done["result"]["content"].is_array() && done["result"]["isError"] != true, "{done}");
    }
}

/// Negotiates a session with these scopes, and returns its token.
async fn session(client: &mut Raw, scopes: &[&str]) -> Value {
    let given = client.result("mgp/permission/negotiate", json!({"requested_scopes": scopes})).await;
    assert_eq!(given["granted_scopes"], json!(scopes), "{given}");
    given["session"]["token"].clone()
}

// covers: EXT-06-14
async fn the_word_of_an_agent_that_its_user_confirmed_counts_for_nothing() {
    let deleted = Arc::new(AtomicUsize::new(0));
    let served = Served::start("forge", forge(&deleted)).await;
    let host = Host::with(json!({
        "tools": {"level": "L0"},
        "permissions": {"policy": "auto_approve", "never_automatic": [], "patience_secs": 1},
        "servers": [served.config.clone()],
    }))
    .await;
    host.up("forge").await;
    let client = host.plain("one").await;
    for meta in [json!(true), json!("yes")] {
        let call = client.call_tool("forge__delete", json!({"repo": "web"}));
        let call = call.meta("user_confirmed", RawJson::from_value(&meta).unwrap());
        let outcome = call.meta("confirmation_token", RawJson::from_text("v1.forged")).await;
        let is_made = outcome.as_ref().is_ok_and(|result| !result.is_error());
        assert!(!is_made, "{outcome:?}");
    }
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
}
