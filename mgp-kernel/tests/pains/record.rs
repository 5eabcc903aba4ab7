//! Who did what, and when.

use mgp_client_sdk::Client;
use mgp_types::Principal;
use serde_json::{Value, json};

use crate::host::{Host, ask, quiet, read, refused, say, start_when_free, until_found};
use crate::runner::tests;
use crate::scripted::{Script, defined};

tests![
    pain_16_calls_and_denials_are_recorded_with_who_what_and_when_and_no_values,
    pain_16_values_are_recorded_if_the_operator_says_so_and_secrets_never,
    every_security_relevant_action_is_recorded,
    what_is_not_to_be_kept_of_the_record_goes_by_itself,
];

fn arguments() -> Value {
    json!({"note": "the merger is on Friday", "password": "hunter2", "api_key": "sk-live-abcdefghijklmnop1234567890"})
}

// covers: MGP-6.3-12
async fn pain_16_calls_and_denials_are_recorded_with_who_what_and_when_and_no_values() {
    let script = Script::named(&["works", "secret"]);
    let mut config = quiet([script.server("files")]);
    config["access"] = json!({"rules": [
        {"agent": "ada", "server": "files", "tool": "secret", "permission": "deny"},
    ]});
    let host = Host::ready_with(config).await;
    let (ada, operator) = (host.client("ada").await, host.operator().await);
    say(&ada, "files.works", arguments()).await;
    refused(ada.call_tool("files.secret", arguments()).await);
    refused(ada.call_tool("files.nowhere", arguments()).await);

    let all = host.recorded(json!({"agent_id": "ada"})).await;
    assert_eq!(all.len(), 3, "{all:#?}");
    for (event, tool) in all.iter().zip(["works", "secret"]) {
        assert_eq!((&event["actor"]["id"], &event["target"]["server_id"]), (&json!("ada"), &json!("files")));
        assert_eq!(event["target"]["tool_name"], tool, "{event}");
        assert!(event["timestamp"].as_str().unwrap().starts_with("20"), "{event}");
        assert!(!event["trace_id"].as_str().unwrap().is_empty(), "{event}");
    }
    assert_eq!((&all[0]["event_type"], &all[0]["result"]), (&json!("TOOL_EXECUTED"), &json!("SUCCESS")));
    assert_ne!(all[1]["result"], "SUCCESS");
    assert_ne!(all[2]["result"], "SUCCESS");
    let written = ask(&operator, "kernel/audit/export", json!({})).await.to_string();
    for value in ["merger", "hunter2", "sk-live"] {
        assert!(!written.contains(value), "{value}");
    }
    let verified = ask(&operator, "kernel/audit/verify", json!({})).await;
    assert_eq!(verified["intact"], true, "{verified}");
    // Nobody else reads it.
    assert!(ada.request("kernel/audit/query", json!({})).await.is_err());
}

async fn pain_16_values_are_recorded_if_the_operator_says_so_and_secrets_never() {
    let script = Script::named(&["works"]);
    let mut config = quiet([script.server("files")]);
    config["audit"] = json!({"arguments": "redacted"});
    let host = Host::ready_with(config).await;
    let (ada, operator) = (host.client("ada").await, host.operator().await);
    say(&ada, "files.works", arguments()).await;
    let written = ask(&operator, "kernel/audit/export", json!({})).await.to_string();
    assert!(written.contains("the merger is on Friday"), "{written}");
    for secret in ["hunter2", "sk-live"] {
        assert!(!written.contains(secret), "{secret}");
    }
}

// covers: MGP-1.2-03, MGP-1.2-05
async fn every_security_relevant_action_is_recorded() {
    let script = Script::of([defined("execute_command", &["command"], &json!({}))]);
    let config = json!({
        "tools": {"level": "L0"},
        "confirmation": {"dangerous": false},
        "permissions": {"policy": "interactive", "patience_secs": 1},
        "servers": [script.server("shell")],
    });
    let host = Host::ready_with(config).await;
    let (ada, operator) = (host.client("ada").await, host.operator().await);
    let command = |text: &str| json!({"command": text});

    // Without its permission, with it, against a validator, against access, without it again.
    refused(ada.call_tool("shell.execute_command", command("ls")).await);
    let permission = json!({"server_id": "shell", "permission": "shell.execute"});
    ask(&operator, "kernel/permissions/grant", permission.clone()).await;
    say(&ada, "shell.execute_command", command("ls")).await;
    refused(ada.call_tool("shell.execute_command", command("rm -rf /")).await);
    let access = json!({
        "agent_id": "ada", "server_id": "shell", "entry_type": "server_grant", "permission": "deny",
        "granted_by": "root",
    });
    ask(&operator, "mgp/access/grant", access).await;
    refused(ada.call_tool("shell.execute_command", command("ls")).await);
    ask(&operator, "kernel/permissions/revoke", permission).await;
    let key = ask(&operator, "kernel/keys/new", json!({"owner": "bob", "permissions": []})).await;
    assert!(key["secret"].as_str().is_some_and(|secret| secret.len() > 20), "{key}");

    let all = host.recorded(json!({})).await;
    let kinds: Vec<&str> = all.iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    for kind in [
        "SERVER_CONNECTED", "PERMISSION_DENIED", "PERMISSION_GRANTED", "TOOL_EXECUTED", "TOOL_BLOCKED",
        "PERMISSION_REVOKED",
    ] {
        assert!(kinds.contains(&kind), "{kind} is not among {kinds:?}");
    }
    for event in &all {
        for member in ["timestamp", "trace_id", "event_type", "actor", "target", "result"] {
            assert!(!event[member].is_null(), "{member}: {event}");
        }
    }
    // No secret came to be in it.
    assert!(!json!(all).to_string().contains(key["secret"].as_str().unwrap()));
}

async fn what_is_not_to_be_kept_of_the_record_goes_by_itself() {
    let state = tempfile::tempdir().unwrap();
    let mut config = quiet([]);
    let agent = Principal::new("ada");
    let kernel = start_when_free(&read(config.clone()), state.path()).await;
    let client = Client::builder("tests", "1.0.0").in_process(kernel.accept(agent)).await.unwrap();
    for _ in 0..50 {
        refused(client.call_tool("files.nowhere", json!({})).await);
    }
    drop((client, kernel));

    config["audit"] = json!({"keep_bytes": 4000});
    let kernel = start_when_free(&read(config.clone()), state.path()).await;
    let host = Host { kernel, folder: state };
    let pruned = until_found("something is removed", async || {
        host.recorded(json!({"event_types": ["dev.cloto.mgp.audit_pruned"]})).await.pop()
    });
    assert_eq!(pruned.await["details"]["reason"], "size_based");
    let left = host.recorded(json!({"agent_id": "ada"})).await.len();
    assert!(left < 50, "{left}");
    assert_eq!(ask(&host.operator().await, "kernel/audit/verify", json!({})).await["intact"], true);
}
