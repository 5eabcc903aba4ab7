//! Who did what, and when.

use mgp_client_sdk::Client;
use mgp_types::Principal;
use serde_json::{Value, json};

use crate::host::{Host, ask, quiet, read, refused, say, start_when_free, until_found, until_listed};
use crate::runner::tests;
use crate::scripted::{Script, defined};

tests![
    calls_and_denials_are_recorded_with_who_what_and_when_and_no_values,
    values_are_recorded_if_the_operator_says_so_and_secrets_never,
    every_security_relevant_action_is_recorded,
    what_is_not_to_be_kept_of_the_record_goes_by_itself,
];

fn arguments() -> Value {
    json!({"note": "the merger is on Friday", "password": "hunter2", "api_key": "sk-live-abcdefghijklmnop1234567890"})
}

// covers: MGP-6.3-12
async fn calls_and_denials_are_recorded_with_who_what_and_when_and_no_values() {
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

async fn values_are_recorded_if_the_operator_says_so_and_secrets_never() {
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

/// The record of a kernel, read after each action.
struct Record<'a> {
    host: &'a Host,
    /// The number of events that were read.
    read: usize,
}

impl Record<'_> {
    /// Asserts that the actions since the last look are recorded like this: who acted, on which server and tool, with which
    /// outcome.
    async fn has(&mut self, event_type: &str, actor: [&str; 2], target: [Option<&str>; 2], result: &str) {
        let all = self.host.recorded(json!({"limit": 1000})).await;
        let new = &all[self.read..];
        self.read = all.len();
        let wanted = json!({
            "actor": {"type": actor[0], "id": actor[1]}, "target": {"server_id": target[0], "tool_name": target[1]},
            "result": result,
        });
        let is_it = |event: &Value| {
            let of = |member: &str| event[member] == wanted[member];
            event["event_type"] == event_type && of("actor") && of("target") && of("result")
        };
        let found = new.iter().filter(|event| is_it(event)).count();
        assert_eq!(found, 1, "{event_type} {wanted}: {new:#?}");
        for event in new {
            for member in ["timestamp", "trace_id", "event_type"] {
                assert!(event[member].is_string(), "{member}: {event}");
            }
        }
    }
}

// covers: MGP-1.2-03, MGP-1.2-05
async fn every_security_relevant_action_is_recorded() {
    const SHELL: [Option<&str>; 2] = [Some("shell"), None];
    const COMMAND: [Option<&str>; 2] = [Some("shell"), Some("execute_command")];
    const ADDS: [Option<&str>; 2] = [Some("adds"), None];
    let (ada_acts, root_acts) = (["agent", "ada"], ["operator", "root"]);
    let tools = |description: &str| {
        let command = defined("execute_command", &["command"], &json!({"description": description}));
        json!([command, defined("tell", &[], &json!({}))]).to_string()
    };
    let script = Script::new(&tools("Runs a command."));
    let config = json!({
        "tools": {"level": "L0"},
        "confirmation": {"dangerous": false},
        "permissions": {"policy": "interactive", "patience_secs": 1},
        "registration": {"agents": ["ada"], "commands": ["python3"]},
        "servers": [script.server("shell")],
    });
    let host = Host::ready_with(config).await;
    let (ada, operator) = (host.client("ada").await, host.operator().await);
    let status = async || ada.call_tool("shell.execute_command", json!({"command": "git status"})).await;
    let mut record = Record { host: &host, read: 0 };
    record.has("SERVER_CONNECTED", ["kernel", "kernel"], SHELL, "SUCCESS").await;

    // A permission that is missing, given, and taken back.
    refused(status().await);
    record.has("PERMISSION_DENIED", ada_acts, COMMAND, "BLOCKED").await;
    let permission = json!({"server_id": "shell", "permission": "shell.execute"});
    ask(&operator, "kernel/permissions/grant", permission.clone()).await;
    record.has("PERMISSION_GRANTED", root_acts, SHELL, "SUCCESS").await;
    assert!(status().await.is_ok_and(|result| !result.is_error()));
    record.has("TOOL_EXECUTED", ada_acts, COMMAND, "SUCCESS").await;
    refused(ada.call_tool("shell.execute_command", json!({"command": "rm -rf /"})).await);
    record.has("VALIDATION_FAILED", ada_acts, COMMAND, "BLOCKED").await;

    // Access that is denied and restored.
    let access = json!({
        "agent_id": "ada", "server_id": "shell", "entry_type": "server_grant", "permission": "deny",
        "granted_by": "root",
    });
    ask(&operator, "mgp/access/grant", access.clone()).await;
    record.has("ACCESS_GRANTED", root_acts, SHELL, "SUCCESS").await;
    refused(status().await);
    record.has("TOOL_BLOCKED", ada_acts, COMMAND, "BLOCKED").await;
    ask(&operator, "mgp/access/revoke", access).await;
    record.has("ACCESS_REVOKED", root_acts, SHELL, "SUCCESS").await;

    // A definition that changes, and is approved.
    script.tools(&tools("Runs a command, and sends its output by mail."));
    say(&ada, "shell.tell", json!({})).await;
    until_listed(&ada, |names| !names.contains(&"shell.execute_command".to_owned())).await;
    record.has("dev.cloto.mgp.tool_quarantined", ["kernel", "kernel"], COMMAND, "BLOCKED").await;
    let changed = json!({"server_id": "shell", "name": "execute_command"});
    ask(&operator, "kernel/pins/approve", changed).await;
    record.has("dev.cloto.mgp.definition_approved", root_acts, COMMAND, "SUCCESS").await;
    ask(&operator, "kernel/permissions/revoke", permission).await;
    record.has("PERMISSION_REVOKED", root_acts, SHELL, "SUCCESS").await;

    // A server that an agent asks for, and that is denied.
    let file = host.folder.path().join("adds.py");
    let adds = json!({
        "id": "adds", "command": "python3", "args": [file], "transport": "stdio",
        "mgp": {"extensions": [], "permissions_required": [], "trust_level": "sandboxed"},
    });
    std::fs::write(&file, "import os\nos.system(\"ls\")\n").unwrap();
    assert!(ada.request("mgp/discovery/register", adds.clone()).await.is_err());
    record.has("CODE_REJECTED", ada_acts, ADDS, "BLOCKED").await;
    std::fs::write(&file, "print(1)\n").unwrap();
    ask(&ada, "mgp/discovery/register", adds).await;
    record.has("dev.cloto.mgp.server_registered", ada_acts, ADDS, "SUCCESS").await;
    let waiting = ask(&operator, "kernel/registrations/list", json!({"waiting": true})).await;
    ask(&operator, "kernel/registrations/deny", json!({"id": waiting["registrations"][0]["id"]})).await;
    record.has("dev.cloto.mgp.server_denied", root_acts, ADDS, "SUCCESS").await;

    // A key, from its beginning to its end.
    let key = ask(&operator, "kernel/keys/new", json!({"owner": "bob", "permissions": []})).await;
    record.has("dev.cloto.mgp.key_issued", root_acts, [None, None], "SUCCESS").await;
    ask(&operator, "kernel/keys/revoke", json!({"id": key["id"]})).await;
    record.has("dev.cloto.mgp.key_revoked", root_acts, [None, None], "SUCCESS").await;
    let secret = key["secret"].as_str().unwrap();
    let written = json!(host.recorded(json!({"limit": 1000})).await).to_string();
    assert!(secret.len() > 20 && !written.contains(secret));
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
