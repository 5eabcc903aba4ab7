//! Servers that register themselves, and operators that decide about them.

use std::path::PathBuf;

use mgp_client_sdk::Client;
use mgp_discovery::Config;
use mgp_types::ext::{ExtensionId, RecommendServers};
use mgp_types::mgp::{ExtensionSet, ListServers, Offer, RegisterServer, ServerStatus};
use mgp_types::{Object, RpcService, code};
use serde_json::{Value, json};

use super::{ask, child, config, has_python};
use crate::host::{Host, Plain, gone, names, say, until, until_found};
use crate::runner::tests;

tests![
    nobody_registers_what_nobody_allowed_and_nothing_is_started,
    what_a_registration_says_is_kept_and_shown_to_who_decides,
    a_script_is_inspected_waits_is_approved_used_and_removed if has_python,
    what_waits_for_approval_is_not_connected_because_it_is_recommended if has_python,
    a_sandboxed_server_is_looked_at_more_closely_than_one_that_an_operator_answers_for,
    what_was_registered_outlives_the_kernel_and_is_not_touched_by_a_reload if has_python,
    a_script_that_changed_is_not_started_again if has_python,
    the_script_that_is_started_is_the_one_that_was_inspected if has_python,
    operators_alone_decide_about_what_was_registered,
];

/// A server that adds numbers, which does nothing else.
const SCRIPT: &str = concat!(
    "import json\n",
    "NAME = \"add\"\n",
    "DESCRIPTION = \"Adds two numbers.\"\n",
    "INPUT_SCHEMA = {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"number\"}, \"b\": {\"type\": \"number\"}}}\n",
    "def run(arguments):\n    return arguments[\"a\"] + arguments[\"b\"]\n",
    include_str!("../../../core/src/registration/harness.py"),
);

fn allowing(mut config: Config) -> Config {
    config.registration.agents = vec!["coder".into()];
    config.registration.commands = vec!["python3".into()];
    config
}

fn written(host: &Host, code: &str) -> PathBuf {
    let path = host.folder().join("adds.py");
    std::fs::write(&path, code).unwrap();
    path
}

/// A kernel at which `coder` may register a script, and its clients.
async fn with_script() -> (Host, PathBuf, Plain, Plain) {
    let host = Host::start_with(allowing(config(vec![]))).await;
    let script = written(&host, SCRIPT);
    let (coder, operator) = (host.client("coder").await, host.operator().await);
    (host, script, coder, operator)
}

fn registration(id: &str, script: &std::path::Path) -> Value {
    json!({
        "id": id, "command": "python3", "args": [script], "transport": "stdio",
        "mgp": {"extensions": [], "permissions_required": [], "trust_level": "sandboxed"},
        "created_by": "somebody else", "justification": "to add",
    })
}

/// Returns the parameters by which the registration of a server that waits is decided.
async fn waiting<S: RpcService>(operator: &Client<S>, server: &str) -> Value {
    let listed = ask(operator, "kernel/registrations/list", json!({"waiting": true})).await.unwrap();
    let row = listed["registrations"].as_array().unwrap().iter().find(|row| row["server_id"] == server);
    json!({"id": row.unwrap()["id"]})
}

async fn refused<S: RpcService>(client: &Client<S>, params: Value) -> i64 {
    ask(client, "mgp/discovery/register", params).await.unwrap_err().code()
}

async fn nobody_registers_what_nobody_allowed_and_nothing_is_started() {
    let closed = Host::start(vec![]).await;
    let script = written(&closed, SCRIPT);
    let coder = closed.client("coder").await;
    assert_eq!(refused(&coder, registration("adds", &script)).await, code::PERMISSION_DENIED);

    let host = Host::start_with(allowing(config(vec![child("files")]))).await;
    let script = written(&host, SCRIPT);
    let (coder, other) = (host.client("coder").await, host.client("other").await);
    assert_eq!(refused(&other, registration("adds", &script)).await, code::PERMISSION_DENIED);
    let mut shell = registration("adds", &script);
    shell["command"] = json!("/bin/sh");
    assert_eq!(refused(&coder, shell).await, code::PERMISSION_DENIED);
    assert_eq!(refused(&coder, registration("files", &script)).await, code::SERVER_ALREADY_REGISTERED);
    let mut hidden = registration("adds", &script);
    hidden["args"] = json!(["-c", "print(1)"]);
    assert!(ask(&coder, "mgp/discovery/register", hidden).await.is_err());
    let mut wants = registration("adds", &script);
    wants["mgp"]["permissions_required"] = json!(["shell.execute"]);
    assert!(ask(&coder, "mgp/discovery/register", wants).await.is_err());
    written(&host, &format!("import os\nos.system(\"ls\")\n{SCRIPT}"));
    assert_eq!(refused(&coder, registration("adds", &script)).await, code::CODE_SAFETY_VIOLATION);
    assert_eq!(host.kernel.servers().len(), 1);
    let operator = host.operator().await;
    let listed = ask(&operator, "kernel/registrations/list", json!({})).await.unwrap();
    assert_eq!(listed, json!({"registrations": []}));
    let blocked = ask(&operator, "kernel/audit/query", json!({"filter": {}})).await.unwrap().to_string();
    assert!(blocked.contains("CODE_REJECTED"), "{blocked}");
}

// covers: MGP-15.4-01..10
async fn what_a_registration_says_is_kept_and_shown_to_who_decides() {
    let (host, script, coder, operator) = with_script().await;
    let mut wanted = registration("adds", &script);
    // An agent does not say itself how far it is trusted.
    wanted["mgp"] = json!({
        "extensions": ["security", "com.example.later"], "permissions_required": ["network.outbound"],
        "trust_level": "trusted",
    });
    let reply = ask(&coder, "mgp/discovery/register", wanted.clone()).await.unwrap();
    assert_eq!((&reply["id"], &reply["status"]), (&json!("adds"), &json!("pending_approval")));
    assert!(host.kernel.servers().is_empty() && names(&coder).await.is_empty());
    let listed = ask(&coder, "mgp/discovery/list", json!({})).await.unwrap();
    let expected = json!({
        "id": "adds", "status": "pending_approval", "extensions": ["security", "com.example.later"],
        "tools": [], "trust_level": "sandboxed",
    });
    assert_eq!(listed, json!({"servers": [expected]}));

    let listed = ask(&operator, "kernel/registrations/list", json!({"waiting": true})).await.unwrap();
    let row = &listed["registrations"][0];
    let line = format!("python3 {}", script.display());
    for (member, expected) in [
        ("server_id", json!("adds")),
        ("state", json!("waiting")),
        ("launch", json!(line)),
        ("permissions", json!(["network.outbound"])),
        ("trust_level", json!("sandboxed")),
        // Who registered it is known; who made it is what the agent says.
        ("registered_by", json!("coder")),
        ("by_agent", json!(true)),
        ("created_by", json!("somebody else")),
        ("justification", json!("to add")),
    ] {
        assert_eq!(row[member], expected, "{member}: {row}");
    }
    assert!(row["digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(row["files"][0]["path"], "adds.py");
    for (member, wrong) in [
        ("transport", json!("http")),
        ("transport", json!("carrier pigeon")),
        ("args", json!("adds.py")),
        ("id", json!("no id")),
        ("command", json!(["python3"])),
        ("justification", json!("x".repeat(1001))),
    ] {
        let mut wanted = registration("other", &script);
        wanted[member] = wrong;
        assert_eq!(refused(&coder, wanted).await, code::INVALID_PARAMS, "{member}");
    }
}

// covers: MGP-15.4-12, MGP-15.5-01..03
async fn a_script_is_inspected_waits_is_approved_used_and_removed() {
    let (host, script, coder, operator) = with_script().await;
    let reply = ask(&coder, "mgp/discovery/register", registration("adds", &script)).await.unwrap();
    assert_eq!((&reply["id"], &reply["status"]), (&json!("adds"), &json!("pending_approval")));
    assert!(reply["message"].as_str().unwrap().contains("approve"), "{reply}");
    let listed = ask(&operator, "kernel/registrations/list", json!({"waiting": true})).await.unwrap();
    assert_eq!(listed["registrations"][0]["confined"], true);

    ask(&operator, "kernel/registrations/approve", waiting(&operator, "adds").await).await.unwrap();
    host.up("adds").await;
    assert_eq!(say(&coder, "adds.add", json!({"a": 20, "b": 22})).await, "42");
    let listed = ask(&operator, "kernel/registrations/list", json!({"waiting": true})).await.unwrap();
    assert_eq!(listed, json!({"registrations": []}));
    let pid = host.view("adds").pid.unwrap();

    let (other, gone_now) = (host.client("other").await, json!({"id": "adds", "reason": "no_longer_needed"}));
    assert!(ask(&other, "mgp/discovery/deregister", gone_now.clone()).await.is_err());
    let reply = ask(&coder, "mgp/discovery/deregister", gone_now).await.unwrap();
    assert_eq!((&reply["id"], &reply["status"]), (&json!("adds"), &json!("deregistered")));
    gone(pid).await;
    assert!(host.kernel.servers().is_empty() && names(&coder).await.is_empty());
    let asked = json!({"event_types": ["dev.cloto.mgp.server_deregistered"]});
    let recorded = ask(&operator, "kernel/audit/query", asked).await.unwrap();
    let event = &recorded["events"][0]["event"];
    assert_eq!(
        (&event["actor"]["id"], &event["details"]["reason"]),
        (&json!("coder"), &json!("no_longer_needed"))
    );
}

// covers: EXT-13-07
async fn what_waits_for_approval_is_not_connected_because_it_is_recommended() {
    let (host, script, _coder, operator) = with_script().await;
    let recommending = ExtensionId::ServerRecommendations.id();
    let builder = Client::builder("tests", "1.0.0").mgp(Offer::new(ExtensionSet::standard()));
    let coder = host.connect("coder", builder.extension(recommending, &Object::new())).await;
    let adds: RegisterServer = serde_json::from_value(registration("adds", &script)).unwrap();
    let registered = coder.register_server(&adds).await.unwrap();
    assert_eq!(registered.status, ServerStatus::PendingApproval);
    let wanted = RecommendServers::new("add two numbers".into());
    for _ in 0..3 {
        assert!(coder.recommend_servers(&wanted).await.unwrap().recommendations.is_empty());
    }
    let status = async || coder.list_servers(&ListServers::default()).await.unwrap().servers[0].status;
    assert_eq!(status().await, ServerStatus::PendingApproval);
    assert!(host.kernel.servers().is_empty(), "nothing is started");
    ask(&operator, "kernel/registrations/approve", waiting(&operator, "adds").await).await.unwrap();
    host.up("adds").await;
    until_found("the server is recommended", async || {
        let found = coder.recommend_servers(&wanted).await.unwrap().recommendations;
        found.iter().any(|one| &*one.server_name == "adds").then_some(())
    })
    .await;
    assert_eq!(status().await, ServerStatus::Connected);
}

// covers: MGP-15.4-08, MGP-15.4-11
async fn a_sandboxed_server_is_looked_at_more_closely_than_one_that_an_operator_answers_for() {
    let host = Host::start_with(allowing(config(vec![]))).await;
    let script = written(&host, &format!("import subprocess\n{SCRIPT}"));
    let operator = host.operator().await;
    let tool = async |id: &str, level: &str, permission: &str| {
        let mut wanted = registration(id, &script);
        wanted["mgp"]["trust_level"] = json!(level);
        wanted["mgp"]["permissions_required"] = json!([permission]);
        let result = operator.call_tool("mgp.discovery.register", wanted).await;
        result.is_ok_and(|result| result.is_error != Some(true))
    };
    // For the code, and for the permission.
    assert!(!tool("one", "sandboxed", "memory.read").await);
    written(&host, SCRIPT);
    assert!(!tool("two", "sandboxed", "shell.execute").await);
    written(&host, &format!("import subprocess\n{SCRIPT}"));
    for (id, level) in [("three", "standard"), ("four", "trusted")] {
        assert!(tool(id, level, "shell.execute").await, "{level}");
    }
    let listed = ask(&operator, "kernel/registrations/list", json!({})).await.unwrap();
    let rows = listed["registrations"].as_array().unwrap().iter();
    let levels: Vec<_> = rows.map(|row| row["trust_level"].as_str().unwrap().to_owned()).collect();
    assert_eq!(levels, ["trusted", "standard"]);
}

async fn what_was_registered_outlives_the_kernel_and_is_not_touched_by_a_reload() {
    let (host, script, coder, operator) = with_script().await;
    for id in ["adds", "waits"] {
        ask(&coder, "mgp/discovery/register", registration(id, &script)).await.unwrap();
    }
    ask(&operator, "kernel/registrations/approve", waiting(&operator, "adds").await).await.unwrap();
    let before = host.up("adds").await.pid;
    let applied = host.kernel.reload(allowing(config(vec![child("files")]))).await.unwrap();
    assert_eq!((applied.added, applied.removed), (vec!["files".into()], vec![]));
    host.up("files").await;
    assert_eq!(host.view("adds").pid, before);
    drop((coder, operator));

    let host = host.start_again(allowing(config(vec![]))).await;
    host.up("adds").await;
    let coder = host.client("coder").await;
    assert_eq!(say(&coder, "adds.add", json!({"a": 1, "b": 2})).await, "3");
    assert_eq!(host.kernel.servers().len(), 1, "what waits is not started");
    // What the configuration forbids meanwhile is not resumed.
    drop(coder);
    let host = host.start_again(config(vec![])).await;
    assert!(host.kernel.servers().is_empty());
    let listed = ask(&host.operator().await, "kernel/registrations/list", json!({})).await.unwrap();
    assert_eq!(listed["registrations"].as_array().unwrap().len(), 2);
}

async fn a_script_that_changed_is_not_started_again() {
    let (host, script, coder, operator) = with_script().await;
    ask(&coder, "mgp/discovery/register", registration("adds", &script)).await.unwrap();
    written(&host, &SCRIPT.replace("return arguments", "return 0 + arguments"));
    let approve = ask(&operator, "kernel/registrations/approve", waiting(&operator, "adds").await).await;
    assert_eq!(approve.unwrap_err().code(), code::CODE_SAFETY_VIOLATION);
    // Now it was shown as it is.
    ask(&operator, "kernel/registrations/approve", waiting(&operator, "adds").await).await.unwrap();
    host.up("adds").await;
    written(&host, SCRIPT);
    let restarted = ask(&operator, "kernel/server/restart", json!({"server_id": "adds"})).await;
    assert!(restarted.is_err());
    until("the server is gone", || host.kernel.servers().is_empty().then_some(())).await;
    drop((coder, operator));
    let host = host.start_again(allowing(config(vec![]))).await;
    assert!(host.kernel.servers().is_empty());
    let operator = host.operator().await;
    ask(&operator, "kernel/registrations/approve", waiting(&operator, "adds").await).await.unwrap();
    host.up("adds").await;
}

async fn the_script_that_is_started_is_the_one_that_was_inspected() {
    let host = Host::start_with(allowing(config(vec![]))).await;
    std::fs::write(host.folder().join("evil.py"), SCRIPT.replace("\"add\"", "\"evil\"")).unwrap();
    let script = host.folder().join("${NOWHERE:-evil}.py");
    std::fs::write(&script, SCRIPT).unwrap();
    let (coder, operator) = (host.client("coder").await, host.operator().await);
    ask(&coder, "mgp/discovery/register", registration("adds", &script)).await.unwrap();
    ask(&operator, "kernel/registrations/approve", waiting(&operator, "adds").await).await.unwrap();
    host.up("adds").await;
    assert_eq!(names(&coder).await, ["adds.add"]);
}

async fn operators_alone_decide_about_what_was_registered() {
    let (host, script, coder, operator) = with_script().await;
    ask(&coder, "mgp/discovery/register", registration("adds", &script)).await.unwrap();
    let (named, waits) = (json!({"server_id": "adds"}), waiting(&operator, "adds").await);
    for (method, params) in [("approve", &waits), ("deny", &waits), ("keep", &named), ("list", &named)] {
        let method: &'static str = format!("kernel/registrations/{method}").leak();
        let answer = ask(&coder, method, params.clone()).await;
        assert_eq!(answer.unwrap_err().code(), code::METHOD_NOT_FOUND, "{method}");
    }
    // The agent chose the id of the server, and so nobody approves that.
    assert!(ask(&operator, "kernel/registrations/approve", json!({"id": "adds"})).await.is_err());
    assert_eq!(ask(&operator, "kernel/registrations/keep", named.clone()).await.unwrap(), named);
    assert_eq!(ask(&operator, "kernel/registrations/deny", waits.clone()).await.unwrap(), named);
    assert!(ask(&operator, "kernel/registrations/deny", waits).await.is_err());
    let listed = ask(&operator, "kernel/registrations/list", json!({})).await.unwrap();
    assert_eq!(listed, json!({"registrations": []}));
    until("no server is left", || host.kernel.servers().is_empty().then_some(())).await;
}
