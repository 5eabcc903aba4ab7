//! The permissions of servers, and who decides about them (§3).

use mgp_types::mgp::ServerState;
use serde_json::{Value, json};

use super::raw::{ERAS, Raw};
use crate::host::{Host, Plain, ask, quiet, until, until_found};
use crate::runner::tests;
use crate::scripted::Script;

tests![
    a_policy_that_asks_nobody_decides_by_itself,
    a_policy_that_asks_connects_a_server_when_an_operator_has_decided,
    a_server_is_asked_to_wait_and_told_the_decision,
    permissions_for_files_networks_and_programs_are_known_with_their_risk,
    all_other_permissions_are_known_with_their_risk,
];

/// A server of MGP that cannot work without reading memory.
fn needing() -> Script {
    Script::named(&["works"]).capabilities(
        r#"{"tools":{},"mgp":{"version":"0.2.0","extensions":["security"],"permissions_required":["memory.read"]}}"#,
    )
}

/// The first request of a method that came to a server.
async fn request(script: &Script, method: &str) -> Value {
    until(&format!("{method} is asked"), || {
        script
            .asked()
            .into_iter()
            .find(|frame| frame["method"] == method)
            .map(|frame| frame["params"].clone())
    })
    .await
}

async fn is_refused(host: &Host, server: &str) {
    until(&format!("`{server}` is refused"), || {
        let view = host.view(server);
        view.last_error.filter(|_| !matches!(view.state, ServerState::Connected | ServerState::Connecting))
    })
    .await;
}

// covers: MGP-3.1-02, MGP-3.3-03..05, MGP-3.4-01, MGP-3.4-03
async fn a_policy_that_asks_nobody_decides_by_itself() {
    for (policy, unlisted, granted_before) in
        [("auto_approve", true, true), ("deny_all", false, true), ("config_only", false, false)]
    {
        let (listed, other) = (needing(), needing());
        let mut config = quiet([listed.server("listed"), other.server("other")]);
        config["permissions"] = json!({
            "policy": policy, "never_automatic": [],
            "grants": [{"server": "listed", "permission": "memory.read"}],
        });
        let host = Host::with(config).await;
        host.up("listed").await;
        if unlisted {
            host.up("other").await;
        } else {
            is_refused(&host, "other").await;
            let response = request(&other, "mgp/permission/response").await;
            assert_eq!(response["grants"], json!({"memory.read": "denied"}), "{policy}");
        }
        // What an operator has granted beforehand is pre-configured, but not listed in the configuration.
        let operator = host.operator().await;
        assert_eq!(pending(&operator).await, Vec::<Value>::new(), "{policy}");
        let permission = json!({"server_id": "other", "permission": "memory.read"});
        ask(&operator, "kernel/permissions/grant", permission).await;
        let _restarted = host.kernel.restart("other").await;
        if granted_before {
            host.up("other").await;
        } else {
            is_refused(&host, "other").await;
        }
    }
}

/// The questions that wait for an operator.
async fn pending(operator: &Plain) -> Vec<Value> {
    let pending = ask(operator, "kernel/permissions/pending", json!({})).await;
    pending["questions"].as_array().unwrap().clone()
}

/// The questions about servers, once each of these has one.
async fn questions(operator: &Plain, servers: &[&str]) -> Vec<Value> {
    until_found("an operator is asked about each of them", async || {
        let pending = pending(operator).await;
        let about =
            |server: &&str| pending.iter().find(|question| question["server_id"] == **server).cloned();
        servers.iter().map(about).collect()
    })
    .await
}

// covers: MGP-3.1-02, MGP-3.3-01, MGP-3.3-02, MGP-3.4-01, MGP-3.4-03
async fn a_policy_that_asks_connects_a_server_when_an_operator_has_decided() {
    let (good, bad) = (needing(), needing());
    let mut config = quiet([good.server("good"), bad.server("bad")]);
    config["permissions"] = json!({"policy": "interactive"});
    let host = Host::with(config).await;
    let operator = host.operator().await;
    let questions = questions(&operator, &["good", "bad"]).await;
    for question in &questions {
        assert_eq!((&question["permission"], &question["risk"]), (&json!("memory.read"), &json!("safe")));
    }
    ask(&operator, "kernel/permissions/approve", json!({"id": questions[0]["id"]})).await;
    ask(&operator, "kernel/permissions/deny", json!({"id": questions[1]["id"]})).await;
    host.up("good").await;
    is_refused(&host, "bad").await;
    // There is one policy, and no other word for one.
    let several = json!({"permissions": {"policy": ["interactive", "auto_approve"]}});
    assert!(serde_json::from_value::<mgp_discovery::Config>(several).is_err());
}

// covers: MGP-3.4-02, MGP-3.5-01..05, MGP-3.6-02..05
async fn a_server_is_asked_to_wait_and_told_the_decision() {
    let server = needing()
        .answers("mgp/permission/request", r#"{"request_id":"perm-1","grants":{"memory.read":"deferred"}}"#);
    let mut config = quiet([server.server("notes")]);
    config["permissions"] = json!({"policy": "interactive"});
    let host = Host::with(config).await;
    let operator = host.operator().await;
    let asked = request(&server, "mgp/permission/request").await;
    assert_eq!(asked["permissions"], json!(["memory.read"]));
    assert_eq!(asked["policy"], "interactive");
    assert!(asked["message"].is_string() && asked["request_id"].is_string(), "{asked}");

    let question = questions(&operator, &["notes"]).await.remove(0);
    let end = "2126-03-01T00:00:00.000Z";
    let answer = json!({"id": question["id"], "expires_at": end});
    ask(&operator, "kernel/permissions/approve", answer).await;
    let response = request(&server, "mgp/permission/response").await;
    assert_eq!(response["request_id"], asked["request_id"]);
    assert_eq!(response["grants"], json!({"memory.read": "approved"}));
    assert_eq!((&response["approved_by"], &response["expires_at"]), (&json!("root"), &json!(end)));
    host.up("notes").await;
}

// covers: MGP-3.2-01..06
async fn permissions_for_files_networks_and_programs_are_known_with_their_risk() {
    asked_with_their_risk(&[
        ("filesystem.read", "moderate"),
        ("filesystem.write", "dangerous"),
        ("network.outbound", "moderate"),
        ("network.listen", "dangerous"),
        ("shell.execute", "dangerous"),
        ("code_execution", "dangerous"),
    ])
    .await;
}

// covers: MGP-3.2-07..12
async fn all_other_permissions_are_known_with_their_risk() {
    asked_with_their_risk(&[
        ("memory.read", "safe"),
        ("memory.write", "moderate"),
        ("system.info", "safe"),
        ("camera", "dangerous"),
        ("notification", "safe"),
        // Nobody knows what it lets a server do.
        ("com.example.custom_permission", "dangerous"),
    ])
    .await;
}

/// Has a server ask for these permissions, and checks the risk that operators are told of each.
async fn asked_with_their_risk(permissions: &[(&str, &str)]) {
    let names: Vec<_> = permissions.iter().map(|(name, _)| name).collect();
    let mgp = json!({"version": "0.2.0", "extensions": ["security"], "permissions_required": names});
    let server = Script::named(&["works"]).capabilities(&json!({"tools": {}, "mgp": mgp}).to_string());
    let mut config = quiet([server.server("all")]);
    config["permissions"] = json!({"policy": "interactive"});
    let host = Host::with(config).await;
    let asked = request(&server, "mgp/permission/request").await;
    assert_eq!(asked["permissions"], json!(names));
    for revision in ERAS {
        let mut operator = Raw::operator(&host, revision).await;
        host.questions(permissions.len()).await;
        let pending = operator.result("kernel/permissions/pending", json!({})).await;
        let questions = pending["questions"].as_array().unwrap();
        for (permission, risk) in permissions {
            let question = questions.iter().find(|question| question["permission"] == *permission);
            assert_eq!(question.map(|question| &question["risk"]), Some(&json!(risk)), "{permission}");
        }
    }
}
