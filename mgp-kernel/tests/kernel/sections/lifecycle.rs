//! The states of servers, and what becomes of servers that end (§11).

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_types::mcp::ElicitResult;
use mgp_types::mgp::{ServerState, ShutdownReason};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::raw::{ERAS, Raw};
use crate::host::{Host, ask, gone, quiet, read, say, until};
use crate::runner::tests;
use crate::scripted::Script;
use crate::talking;

tests![
    a_server_goes_from_registered_to_connected_and_by_draining_to_disconnected,
    a_server_that_fails_or_is_restarted_comes_back,
    the_policy_decides_which_ends_are_followed_by_a_start,
    the_keys_of_a_server_decide_when_it_is_started_again,
    a_server_that_ends_too_often_is_given_up,
    a_server_is_told_why_it_is_to_stop,
    a_program_that_ignores_the_end_of_its_input_and_every_request_to_end_is_ended,
];

/// The changes of a server that an operator was told: from which state to which.
async fn goes(operator: &mut Raw, server: &str, expected: &[(&str, &str)]) {
    for (from, to) in expected {
        let change = loop {
            let event = operator.next_notification("notifications/mgp.event").await["params"].clone();
            if event["channel"] == "lifecycle" && event["data"]["server_id"] == server {
                break event["data"].clone();
            }
        };
        assert_eq!((&change["previous_state"], &change["new_state"]), (&json!(from), &json!(to)), "{server}");
    }
}

/// An operator who is told of each change.
async fn watching(host: &Host) -> Raw {
    let mut operator = Raw::operator(host, ERAS[0]).await;
    operator.result("mgp/events/subscribe", json!({"channels": ["lifecycle"]})).await;
    operator
}

/// The state of a server, as clients that look for servers are told it.
async fn status(client: &mut Raw, server: &str) -> Value {
    let listed = client.result("mgp/discovery/list", json!({})).await;
    let servers = listed["servers"].as_array().unwrap();
    servers.iter().find(|entry| entry["id"] == server).map_or(Value::Null, |entry| entry["status"].clone())
}

// covers: MGP-11.1-01, MGP-11.2-01, MGP-11.2-02, MGP-11.2-04, MGP-11.2-05, MGP-11.2-09..13
async fn a_server_goes_from_registered_to_connected_and_by_draining_to_disconnected() {
    let host = Host::start([]).await;
    let mut operator = watching(&host).await;
    // One that each agent has a connection of its own to is not started before somebody comes.
    let mut idle = talking::server("idle");
    idle["sharing"] = json!("agent");
    let slow = Script::named(&["works"]).slow(Duration::from_secs(10));
    let servers = [idle, slow.server("slow"), talking::server("files")];
    host.kernel.reload(read(quiet(servers))).await.unwrap();
    assert_eq!(status(&mut operator, "idle").await, "registered");
    while status(&mut operator, "slow").await == "registered" {}
    assert_eq!(status(&mut operator, "slow").await, "connecting");
    goes(&mut operator, "files", &[("registered", "connecting"), ("connecting", "connected")]).await;
    host.up("files").await;
    assert_eq!(status(&mut operator, "files").await, "connected");
    let health = operator.result("mgp/health/ping", json!({"server_id": "files"})).await;
    assert_eq!(health["status"], "healthy");

    let pid = host.view("files").pid.unwrap();
    // A call that goes on until its human has answered.
    let (asked, answers) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (asking, answering) = (Arc::clone(&asked), Arc::clone(&answers));
    let builder = Client::builder("tests", "1.0.0").revisions([ERAS[0]]).on_elicitation(move |_, _| {
        let (asking, answering) = (Arc::clone(&asking), Arc::clone(&answering));
        async move {
            asking.notify_one();
            answering.notified().await;
            let answer = json!({"action": "accept", "content": {"colour": "red"}});
            serde_json::from_value::<ElicitResult>(answer).unwrap()
        }
    });
    let ada = host.connect("ada", builder).await;
    let calling = tokio::spawn(async move { say(&ada, "files.colour", json!({})).await });
    asked.notified().await;
    let shutdown = json!({"server_id": "files", "reason": "operator_request", "timeout_ms": 60_000});
    let stopping = operator.send("mgp/lifecycle/shutdown", shutdown).await;
    goes(&mut operator, "files", &[("connected", "draining")]).await;
    let mut bob = Raw::agent(&host, "bob", ERAS[1]).await;
    assert_eq!(bob.refused("files.pid", json!({})).await["code"], 2001, "it takes nothing new");
    answers.notify_one();
    assert_eq!(calling.await.unwrap(), "red", "what was in work is finished");
    assert_eq!(operator.answer(stopping).await["result"]["accepted"], true);
    goes(&mut operator, "files", &[("draining", "disconnected")]).await;
    gone(pid).await;
    assert_eq!(status(&mut operator, "files").await, "disconnected");
    assert_eq!(bob.refused("files.pid", json!({})).await["data"]["_mgp"]["category"], "lifecycle");
}

// covers: MGP-11.2-03, MGP-11.2-06..08, MGP-11.2-14, MGP-11.2-15
async fn a_server_that_fails_or_is_restarted_comes_back() {
    let host = Host::start([]).await;
    let mut operator = watching(&host).await;
    let script = Script::named(&["crash"]);
    let later = host.folder.path().join("later");
    let missing = json!({
        "id": "missing", "command": later, "args": [], "backoff_base_ms": 20, "backoff_max_ms": 50,
        "max_restarts": 1_000_000,
    });
    let held_script = Script::named(&["crash"]);
    let mut held = held_script.server("held");
    (held["backoff_base_ms"], held["backoff_max_ms"]) = (json!(60_000), json!(60_000));
    host.kernel.reload(read(quiet([script.server("files"), missing, held]))).await.unwrap();
    let failing = [("connecting", "error"), ("error", "restarting"), ("restarting", "error")];
    goes(&mut operator, "missing", &[&[("registered", "connecting")][..], &failing].concat()).await;

    host.up("files").await;
    host.up("held").await;
    // What was told so far is of no interest here.
    let mut operator = watching(&host).await;
    host.kernel.restart("files").await.unwrap();
    let restarted = [("connected", "draining"), ("draining", "restarting"), ("restarting", "connected")];
    goes(&mut operator, "files", &restarted).await;
    host.up("files").await;
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    ada.refused("files.crash", json!({})).await;
    let crashed = [("connected", "error"), ("error", "restarting"), ("restarting", "connected")];
    goes(&mut operator, "files", &crashed).await;
    // While it is away its calls say so.
    host.up("held").await;
    ada.refused("held.crash", json!({})).await;
    goes(&mut operator, "held", &[("connected", "error"), ("error", "restarting")]).await;
    assert_eq!(status(&mut operator, "held").await, "restarting");
    assert_eq!(ada.refused("held.crash", json!({})).await["code"], 2002);
}

// covers: MGP-11.5-02..04
async fn the_policy_decides_which_ends_are_followed_by_a_start() {
    let cases = [
        ("never", "crash", ServerState::Error),
        ("never", "end", ServerState::Disconnected),
        ("on_failure", "crash", ServerState::Connected),
        ("on_failure", "end", ServerState::Disconnected),
        ("always", "crash", ServerState::Connected),
        ("always", "end", ServerState::Connected),
    ];
    let scripts = cases.map(|_| Script::named(&["crash", "end"]));
    let servers = scripts.iter().zip(cases).enumerate().map(|(number, (script, (policy, ..)))| {
        let mut server = script.server(&format!("s{number}"));
        server["restart_policy"] = json!(policy);
        server
    });
    let host = Host::start(servers).await;
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    for (number, (policy, end, expected)) in cases.into_iter().enumerate() {
        let server = format!("s{number}");
        let before = host.up(&server).await.pid;
        ada.refused(&format!("{server}.{end}"), json!({})).await;
        let comes_back = expected == ServerState::Connected;
        until(&format!("{policy} after {end}"), || {
            let view = host.view(&server);
            let is_back = view.pid.is_some() && view.pid != before;
            let is_counted = view.restarts == u64::from(comes_back);
            (view.state == expected && is_back == comes_back && is_counted).then_some(())
        })
        .await;
    }
    // What stayed away had the time in which others came back.
    for (number, (policy, end, expected)) in cases.into_iter().enumerate() {
        assert_eq!(host.view(&format!("s{number}")).state, expected, "{policy} after {end}");
    }
}

// covers: MGP-11.5-01, MGP-11.5-05..09
async fn the_keys_of_a_server_decide_when_it_is_started_again() {
    let script = || {
        // Whatever a server says of restarts is not asked.
        Script::named(&["crash"]).capabilities(
            r#"{"tools":{},"mgp":{"version":"0.2.0","extensions":[],"restart_policy":"never","max_restarts":0}}"#,
        )
    };
    let (slow, capped, windowed) = (script(), script(), script());
    let keyed = |script: &Script, id: &str, keys: Value| {
        let mut server = script.server(id);
        server.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        server
    };
    let servers = [
        keyed(
            &slow,
            "slow",
            json!({
                "restart_policy": "on_failure", "backoff_base_ms": 60_000, "backoff_max_ms": 600_000,
            }),
        ),
        keyed(&capped, "capped", json!({"backoff_base_ms": 600_000, "backoff_max_ms": 40_000})),
        keyed(&windowed, "windowed", json!({"max_restarts": 1, "restart_window_secs": 1})),
    ];
    let host = Host::start(servers).await;
    let hello = slow_hello(&host, &slow).await;
    assert!(!hello.contains("restart"), "nothing of it is negotiated: {hello}");
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    // Half of a pause is drawn, so that servers that end together do not start together.
    for (server, longest) in [("slow", 60_000), ("capped", 40_000)] {
        host.up(server).await;
        ada.refused(&format!("{server}.crash"), json!({})).await;
        until("it waits", || (host.view(server).state == ServerState::Restarting).then_some(())).await;
        let error = ada.refused(&format!("{server}.crash"), json!({})).await;
        let wait = error["data"]["_mgp"]["retry_after_ms"].as_u64().unwrap();
        // A part of the pause is over when it is asked for.
        assert!((longest / 2 - 20_000..=longest).contains(&wait), "{server}: {error}");
    }
    // A restart that is longer ago than the window does not count.
    for restarts in 1..=3 {
        host.up("windowed").await;
        tokio::time::sleep(Duration::from_millis(1100)).await;
        ada.refused("windowed.crash", json!({})).await;
        until("it is back", || (host.view("windowed").restarts == restarts).then_some(())).await;
    }
}

async fn slow_hello(host: &Host, script: &Script) -> String {
    host.up("slow").await;
    script.greeting()
}

// covers: MGP-11.5-06, MGP-11.5-10, MGP-11.5-11
async fn a_server_that_ends_too_often_is_given_up() {
    let script = Script::named(&["crash"]);
    let mut server = script.server("files");
    server["max_restarts"] = json!(2);
    let host = Host::start([server]).await;
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    for crashes in 1..=3 {
        host.up("files").await;
        ada.refused("files.crash", json!({})).await;
        if crashes < 3 {
            until("it is back", || (host.view("files").restarts == crashes).then_some(())).await;
        }
    }
    until("it is given up", || (host.view("files").state == ServerState::Error).then_some(())).await;
    let recorded = host.recorded(json!({"event_types": ["SERVER_DISCONNECTED"]})).await;
    let last = recorded.last().unwrap();
    assert!(last["details"].to_string().contains("restart_limit_exceeded"), "{last}");
    assert_eq!(last["target"]["server_id"], "files");
    assert_eq!(ada.refused("files.crash", json!({})).await["code"], 2000);
    let view = host.view("files");
    assert_eq!((view.state, view.pid, view.restarts), (ServerState::Error, None, 2));
}

// covers: MGP-11.4-08..12
async fn a_server_is_told_why_it_is_to_stop() {
    let polite = || {
        Script::named(&["works"]).speaking(&["lifecycle"]).answers(
            "mgp/lifecycle/shutdown",
            r#"{"accepted":true,"pending_requests":0,"estimated_drain_ms":0}"#,
        )
    };
    let scripts = [polite(), polite(), polite(), polite(), polite()];
    let ids = ["a", "b", "c", "changed", "last"];
    let servers: Vec<_> = scripts.iter().zip(ids).map(|(script, id)| script.server(id)).collect();
    let host = Host::ready(servers.clone()).await;
    let wait_for_reason = async |script: &Script, reason: &str| {
        until(&format!("{reason} is told"), || {
            let mut asked = script.asked().into_iter();
            asked.find(|frame| {
                frame["method"] == "mgp/lifecycle/shutdown" && frame["params"]["reason"] == reason
            })
        })
        .await;
    };
    let operator = host.operator().await;
    let reasons = ["operator_request", "resource_limit", "idle_timeout"];
    for ((script, id), reason) in scripts.iter().zip(ids).zip(reasons) {
        let shutdown = json!({"server_id": id, "reason": reason, "timeout_ms": 100});
        ask(&operator, "mgp/lifecycle/shutdown", shutdown).await;
        wait_for_reason(script, reason).await;
    }
    host.kernel.reload(read(quiet([servers[4].clone()]))).await.unwrap();
    wait_for_reason(&scripts[3], "configuration_change").await;
    host.kernel.shutdown(ShutdownReason::KernelShutdown, Duration::from_millis(100)).await;
    wait_for_reason(&scripts[4], "kernel_shutdown").await;
}

// covers: BASE-27
async fn a_program_that_ignores_the_end_of_its_input_and_every_request_to_end_is_ended() {
    let script = Script::named(&["works"]);
    let mut server = script.server("files");
    // A shell that goes on when the server in it has ended.
    let (program, own) = (server["command"].clone(), server["args"].as_array().unwrap().clone());
    let stubborn = "trap '' TERM HUP INT; \"$0\" \"$@\"; while :; do sleep 0.05; done";
    let args = [json!("-c"), json!(stubborn), program].into_iter().chain(own);
    (server["command"], server["args"]) = (json!("/bin/sh"), args.collect());
    let host = Host::start([server]).await;
    let pid = host.up("files").await.pid.unwrap();
    host.kernel.shutdown(ShutdownReason::KernelShutdown, Duration::from_millis(100)).await;
    gone(pid).await;
}
