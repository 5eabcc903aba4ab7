//! A configuration that changes while the kernel runs.

use mgp_types::mgp::ServerState;
use serde_json::json;

use crate::host::{Host, ask, listed, names, quiet, read, refused, say, until, until_listed};
use crate::runner::tests;
use crate::scripted::Script;

tests![
    a_reload_adds_changes_and_removes_servers_and_leaves_the_others_alone,
    a_reload_changes_what_is_asked_of_calls,
    a_reload_changes_who_may_use_what_and_how_often,
    what_a_reload_cannot_change_is_named_and_what_is_shown_is_in_effect,
    a_broken_configuration_changes_nothing,
];

async fn a_reload_adds_changes_and_removes_servers_and_leaves_the_others_alone() {
    let (stays, changes, goes, comes) = (
        Script::named(&["pid"]),
        Script::named(&["pid", "other"]),
        Script::named(&["pid"]),
        Script::named(&["pid"]),
    );
    let host = Host::ready([stays.server("stays"), changes.server("changes"), goes.server("goes")]).await;
    let client = host.client("one").await;
    let before = say(&client, "stays.pid", json!({})).await;
    let pid = say(&client, "changes.pid", json!({})).await;

    let mut other = changes.server("changes");
    other["tools"] = json!({"other": {"enabled": false}});
    let next = quiet([stays.server("stays"), other, comes.server("comes")]);
    host.kernel.reload(read(next)).await.unwrap();
    host.up("comes").await;
    assert_ne!(say(&client, "changes.pid", json!({})).await, pid);
    let listed = until_listed(&client, |names| names.len() == 3).await;
    assert_eq!(listed, ["changes.pid", "comes.pid", "stays.pid"]);
    refused(client.call_tool("goes.pid", json!({})).await);
    refused(client.call_tool("changes.other", json!({})).await);
    assert_eq!(say(&client, "stays.pid", json!({})).await, before);
    assert_eq!(host.view("stays").restarts, 0);
}

async fn a_reload_changes_what_is_asked_of_calls() {
    let script = Script::named(&["works"]);
    let config = quiet([script.server("files")]);
    let host = Host::ready_with(config.clone()).await;
    let client = host.client("one").await;
    listed(&client, "files.works").await;
    say(&client, "files.works", json!({})).await;

    let mut dangerous = config;
    dangerous["servers"][0]["security"] = json!({"risk_at_least": "dangerous"});
    dangerous["confirmation"] = json!({"dangerous": true});
    dangerous["permissions"]["patience_secs"] = json!(1);
    host.kernel.reload(read(dangerous)).await.unwrap();
    until("the server is up again", || (host.view("files").state == ServerState::Connected).then_some(()))
        .await;
    refused(client.call_tool("files.works", json!({})).await);
    assert_eq!(script.calls().len(), 1);
}

async fn a_reload_changes_who_may_use_what_and_how_often() {
    let script = Script::named(&["works"]);
    let mut config = quiet([script.server("files")]);
    config["access"] = json!({"default": "opt-out"});
    let host = Host::ready_with(config.clone()).await;
    let (client, operator) = (host.client("one").await, host.operator().await);
    listed(&client, "files.works").await;
    say(&client, "files.works", json!({})).await;
    let default = async || ask(&operator, "kernel/access/list", json!({})).await["default_policy"].clone();
    assert_eq!(default().await, "opt-out");

    config["access"]["default"] = json!("opt-in");
    let applied = host.kernel.reload(read(config.clone())).await.unwrap();
    assert_eq!((applied.changed.len(), applied.needs_restart.len()), (0, 0), "{applied:?}");
    refused(client.call_tool("files.works", json!({})).await);
    until_listed(&client, <[String]>::is_empty).await;
    assert_eq!(default().await, "opt-in");

    config["access"]["default"] = json!("opt-out");
    config["limits"] = json!({"agent_calls_per_minute": 1});
    host.kernel.reload(read(config)).await.unwrap();
    let other = host.client("other").await;
    let mut passed = 0;
    for _ in 0..5 {
        passed += usize::from(
            other.call_tool("files.works", json!({})).await.is_ok_and(|it| it.is_error != Some(true)),
        );
    }
    assert!(passed <= 1, "{passed}");
}

async fn what_a_reload_cannot_change_is_named_and_what_is_shown_is_in_effect() {
    let config = quiet([]);
    let host = Host::with(config.clone()).await;
    let operator = host.operator().await;
    let mut other = config;
    other["audit"] = json!({"arguments": "omitted"});
    other["listen"] = json!({"require_keys": true});
    other["tools"]["level"] = json!("L3");
    other["validators"] = json!({"first_use": "approve"});
    other["limits"] = json!({"agent_concurrency": 7, "agent_calls_per_day": 9});
    other["telemetry"] = json!({"metrics": true});
    other["kernel"] = json!({"linger": 7, "agents_manage": true});
    let applied = host.kernel.reload(read(other)).await.unwrap();
    let stays = ["audit", "kernel", "limits", "listen", "tools", "validators"];
    assert_eq!(applied.needs_restart, stays);
    let shown = ask(&operator, "kernel/config/show", json!({})).await["config"].clone();
    let taken = [
        &shown["limits"]["agent_calls_per_day"],
        &shown["telemetry"]["metrics"],
        &shown["kernel"]["agents_manage"],
    ];
    assert_eq!(taken, [&json!(9), &json!(true), &json!(true)]);
    let kept = [&shown["audit"]["arguments"], &shown["tools"]["level"], &shown["validators"]["first_use"]];
    assert_eq!(kept, [&json!("digest"), &json!("L0"), &json!("trust")]);
    assert_eq!(shown["limits"]["agent_concurrency"], json!(null));
    // Where keys would be required nobody may use anything, but they are not.
    assert_eq!(ask(&operator, "kernel/access/list", json!({})).await["default_policy"], "opt-out");
}

async fn a_broken_configuration_changes_nothing() {
    let script = Script::named(&["pid"]);
    let config = quiet([script.server("files")]);
    let host = Host::with(config.clone()).await;
    let pid = host.up("files").await.pid;
    let client = host.client("one").await;
    listed(&client, "files.pid").await;
    let mut twice = config.clone();
    twice["servers"] = json!([script.server("files"), script.server("files")]);
    assert!(host.kernel.reload(read(twice)).await.is_err());
    let mut roots = config;
    roots["validators"] = json!({"roots": ["/no/such/folder"]});
    assert!(host.kernel.reload(read(roots)).await.is_err());
    assert_eq!(host.view("files").pid, pid);
    assert_eq!(say(&client, "files.pid", json!({})).await, pid.unwrap().to_string());
    assert_eq!(names(&client).await, ["files.pid"]);
}
