//! The audit trail (§6), as a server hears it that negotiated `audit`.

use mgp_security::audit::{notification, trace_of};
use mgp_server_sdk::{Cx, Server, Tool, ToolError};
use mgp_types::mgp::{
    Actor, ActorType, AuditEvent, AuditTarget, EventType, ExtensionSet, Offer, Outcome, Timestamp,
};
use serde_json::{Value, json};

use super::raw::{ERAS, Raw};
use crate::host::{Host, Served, ask, quiet, until};
use crate::runner::tests;
use crate::scripted::Script;

tests![
    an_event_has_the_members_of_the_specification_and_their_values,
    the_trace_of_a_client_is_in_the_record_and_in_what_servers_report,
    calls_that_are_executed_and_blocked_are_told_with_their_causes,
    what_operators_decide_is_told_with_who_decided,
    servers_that_come_and_go_are_told,
];

const AUDIT: &str = "notifications/mgp.audit";

/// A tool that runs commands, and two others.
const TOOLS: &str = r#"[
    {"name":"execute_command","description":"Runs.","inputSchema":{"type":"object","properties":{"command":{"type":"string"}}}},
    {"name":"run_python","description":"Runs code.","inputSchema":{"type":"object","properties":{"code":{"type":"string"}}},
        "security":{"risk_level":"dangerous","validator":"code_safety","code_safety":{"level":"standard","language":"python"}}},
    {"name":"crash","description":"Waits, and ends.","inputSchema":{"type":"object"}}]"#;

/// A kernel with these tools as `shell`, and a server that hears the record.
async fn kernel(change: impl FnOnce(&mut Value)) -> (Host, Script, Script) {
    let shell = Script::new(&TOOLS.replace('\n', " "));
    let collector = Script::named(&["idle"]).speaking(&["audit"]);
    let mut config = quiet([shell.server("shell"), collector.server("record")]);
    change(&mut config);
    let host = Host::ready_with(config).await;
    (host, shell, collector)
}

/// The events of a type that the collector was told, once there are so many.
async fn received_events(collector: &Script, event_type: &str, count: usize) -> Vec<Value> {
    until(&format!("{event_type} is told"), || {
        let frames = collector.notified(AUDIT);
        let events = frames.into_iter().map(|mut frame| frame["params"].take());
        let events: Vec<_> = events.filter(|event| event["event_type"] == event_type).collect();
        (events.len() >= count).then_some(events)
    })
    .await
}

// covers: MGP-6.3-01..10
async fn an_event_has_the_members_of_the_specification_and_their_values() {
    let (host, _shell, collector) = kernel(|_| {}).await;
    for (calls, revision) in (1..).zip(ERAS) {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        let before = Timestamp::now();
        ada.tool("shell.execute_command", json!({"command": "ls"})).await;
        ada.refused("shell.execute_command", json!({"command": "rm -rf /"})).await;
        received_events(&collector, "TOOL_EXECUTED", calls).await;
        let mut frames = collector.notified(AUDIT).into_iter();
        let frame = frames.rfind(|frame| frame["params"]["event_type"] == "TOOL_EXECUTED").unwrap();
        assert_eq!((&frame["jsonrpc"], frame.get("id")), (&json!("2.0"), None), "it is a notification");
        let event = &frame["params"];
        let written = event["timestamp"].as_str().unwrap();
        let at: Timestamp = written.parse().unwrap();
        assert!(before <= at && at <= Timestamp::now(), "{written}");
        assert!(written.len() == "2026-02-27T12:00:00.000Z".len() && written.ends_with('Z'), "{written}");
        let trace = event["trace_id"].as_str().unwrap();
        let lengths: Vec<_> = trace.split('-').map(str::len).collect();
        assert!(
            lengths == [8, 4, 4, 4, 12] && trace.chars().all(|c| c == '-' || c.is_ascii_hexdigit()),
            "{trace}"
        );
        assert_eq!(event["actor"], json!({"type": "agent", "id": "ada"}));
        assert_eq!(event["target"], json!({"server_id": "shell", "tool_name": "execute_command"}));
        assert_eq!(event["result"], "SUCCESS");
        let details = &event["details"];
        assert_eq!(
            (&details["risk_level"], &details["validator_applied"]),
            (&json!("dangerous"), &json!("sandbox"))
        );
        assert!(details["duration_ms"].is_u64(), "{details}");
        let blocked = received_events(&collector, "TOOL_BLOCKED", calls).await.pop().unwrap();
        assert_eq!(blocked["result"], "BLOCKED");
    }
}

/// A server that reports what one of its tools does.
fn reporting() -> Server {
    Server::new("disk", "1.0.0").mgp(Offer::new(ExtensionSet::standard())).tool(
        Tool::new("wipe", "Wipes."),
        async |cx: Cx| {
            let event = AuditEvent::new(
                Timestamp::now(),
                trace_of(cx.request()).ok_or_else(|| ToolError::new("the call has no trace"))?,
                EventType::Custom("com.example.wiped".into()),
                Actor::new(ActorType::Server, "disk"),
                AuditTarget::new(None, None),
                Outcome::Success,
            );
            let report = notification(&event)?;
            cx.notify(report.method, report.params).await?;
            Ok::<_, ToolError>("wiped")
        },
    )
}

// covers: MGP-6.1-01, MGP-6.2-01, MGP-6.4-12, MGP-6.5-01, MGP-6.5-02
async fn the_trace_of_a_client_is_in_the_record_and_in_what_servers_report() {
    const TRACE: &str = "550e8400-e29b-41d4-a716-446655440000";
    let disk = Served::start("disk", reporting()).await;
    let disk_config = disk.config.clone();
    let (host, _shell, collector) =
        kernel(move |config| config["servers"].as_array_mut().unwrap().push(disk_config)).await;
    host.up("disk").await;
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    ada.result("mgp/events/subscribe", json!({"channels": ["*"]})).await;
    for tool in ["disk.wipe", "record.idle"] {
        ada.result("tools/call", json!({"name": tool, "arguments": {}, "trace_id": TRACE})).await;
    }
    // The kernel tells an audit server, and each server that is called knows the trace.
    let executed = received_events(&collector, "TOOL_EXECUTED", 2).await;
    assert!(executed.iter().all(|event| event["trace_id"] == TRACE), "{executed:?}");
    let asked = collector.asked().into_iter().rfind(|frame| frame["method"] == "tools/call").unwrap();
    assert_eq!(asked["params"]["trace_id"], TRACE, "{asked}");
    let reported = loop {
        let event = ada.next_notification("notifications/mgp.event").await["params"].clone();
        if event["channel"] == "disk.audit" {
            break event["data"].clone();
        }
    };
    assert_eq!(
        (&reported["event_type"], &reported["trace_id"]),
        (&json!("com.example.wiped"), &json!(TRACE)),
        "{reported}"
    );
    // The protocol has no words for what is stored and searched: that is for the audit server to offer.
    for method in ["mgp/audit/query", "mgp/audit/export", "mgp/audit/stats"] {
        assert_eq!(ada.error(method, json!({})).await["code"], -32601, "{method}");
    }
}

// covers: MGP-6.4-01, MGP-6.4-02, MGP-6.4-10, MGP-6.4-11, ENV-11.2-04, GGEN-8.4-04
async fn calls_that_are_executed_and_blocked_are_told_with_their_causes() {
    let (host, shell, collector) = kernel(|config| {
        config["access"] = json!({"rules": [{"agent": "eve", "server": "shell", "permission": "deny"}]});
    })
    .await;
    for (round, revision) in (1..).zip(ERAS) {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        ada.tool("shell.execute_command", json!({"command": "ls"})).await;
        ada.refused("shell.execute_command", json!({"command": "rm -rf /"})).await;
        ada.refused("shell.run_python", json!({"code": "import subprocess"})).await;
        let mut eve = Raw::agent(&host, "eve", revision).await;
        eve.refused("shell.execute_command", json!({"command": "ls"})).await;
        assert_eq!(shell.calls().len(), round, "only what was executed came to the server");
        let executed = received_events(&collector, "TOOL_EXECUTED", round).await;
        assert_eq!(executed.len(), round);
        let blocked = received_events(&collector, "TOOL_BLOCKED", 3 * round).await.split_off(3 * (round - 1));
        let who: Vec<_> = blocked.iter().map(|event| event["actor"]["id"].as_str().unwrap()).collect();
        assert_eq!(who, ["ada", "ada", "eve"]);
        for (cause, tool, blocked) in [
            ("VALIDATION_FAILED", "execute_command", &blocked[0]),
            ("CODE_REJECTED", "run_python", &blocked[1]),
        ] {
            let event = received_events(&collector, cause, round).await.pop().unwrap();
            assert_eq!(event["target"], json!({"server_id": "shell", "tool_name": tool}));
            assert_eq!(event["trace_id"], blocked["trace_id"], "{event}");
        }
    }
}

// covers: MGP-6.4-03..07
async fn what_operators_decide_is_told_with_who_decided() {
    let (host, _shell, collector) = kernel(|config| {
        config["permissions"] = json!({"policy": "interactive", "patience_secs": 1});
    })
    .await;
    let operator = host.operator().await;
    let permission = json!({"server_id": "shell", "permission": "shell.execute"});
    let access = json!({
        "agent_id": "ada", "server_id": "shell", "entry_type": "server_grant", "permission": "allow",
    });
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    ada.refused("shell.execute_command", json!({"command": "git status"})).await;
    let denied = received_events(&collector, "PERMISSION_DENIED", 1).await.remove(0);
    assert_eq!(denied["actor"], json!({"type": "agent", "id": "ada"}), "{denied}");
    for (method, params, event_type) in [
        ("kernel/permissions/grant", &permission, "PERMISSION_GRANTED"),
        ("kernel/permissions/revoke", &permission, "PERMISSION_REVOKED"),
        ("mgp/access/grant", &access, "ACCESS_GRANTED"),
        ("mgp/access/revoke", &access, "ACCESS_REVOKED"),
    ] {
        ask(&operator, method, params.clone()).await;
        let event = received_events(&collector, event_type, 1).await.remove(0);
        assert_eq!(event["actor"], json!({"type": "operator", "id": "root"}), "{event}");
        assert_eq!((&event["target"]["server_id"], &event["result"]), (&json!("shell"), &json!("SUCCESS")));
    }
}

// covers: MGP-6.4-08, MGP-6.4-09
async fn servers_that_come_and_go_are_told() {
    let (host, _shell, collector) = kernel(|_| {}).await;
    let told_of_shell = async |event_type: &str| {
        until(&format!("{event_type} is told"), || {
            let mut events = collector.notified(AUDIT).into_iter().map(|mut frame| frame["params"].take());
            events.find(|event| event["event_type"] == event_type && event["target"]["server_id"] == "shell")
        })
        .await
    };
    host.kernel.restart("shell").await.unwrap();
    host.up("shell").await;
    let connected = told_of_shell("SERVER_CONNECTED").await;
    assert_eq!((&connected["actor"]["type"], &connected["result"]), (&json!("kernel"), &json!("SUCCESS")));
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    ada.call("tools/call", json!({"name": "shell.crash", "arguments": {}})).await;
    told_of_shell("SERVER_DISCONNECTED").await;
}
