//! Errors (§14): the codes by what happened, and the advice that comes with them.

use mgp_types::mgp::{ServerState, ShutdownReason};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::raw::{ERAS, Raw};
use crate::host::{Host, ask, quiet, until};
use crate::http;
use crate::runner::tests;
use crate::scripted::{Script, defined};

tests![
    codes_of_security_say_who_refused_what,
    codes_of_authentication_say_whether_to_log_in_or_to_log_in_again,
    codes_of_lifecycle_say_when_a_server_is_back,
    codes_of_resources_say_what_ran_out,
    codes_of_validation_say_what_the_caller_got_wrong,
    codes_of_external_services_come_through,
    codes_of_json_rpc_keep_their_meaning,
    advice_of_a_server_comes_through_as_it_is_and_only_to_who_speaks_mgp,
];

/// Looks at an error of the kernel: its code, its category, and whether it may be tried again.
fn is(error: &Value, code: i64, category: &str, retryable: bool) {
    assert_eq!(error["code"], code, "{error}");
    let advice = &error["data"]["_mgp"];
    assert_eq!((&advice["category"], &advice["retryable"]), (&json!(category), &json!(retryable)), "{error}");
}

// covers: MGP-14.2-02, MGP-14.3-01, MGP-14.3-02, MGP-14.3-05, MGP-14.3-06, MGP-14.5-02
async fn codes_of_security_say_who_refused_what() {
    let checked = json!({"security": {"risk_level": "safe", "validator": "code_safety"}});
    let script = Script::of([
        defined("execute_command", &["command"], &json!({})),
        defined("run_python", &["code"], &checked),
    ]);
    let mut config = quiet([script.server("granted"), script.server("other")]);
    config["permissions"] = json!({
        "policy": "deny_all",
        "grants": [
            {"server": "granted", "permission": "shell.execute"},
            {"server": "granted", "permission": "code_execution"},
        ],
    });
    config["access"] = json!({"rules": [{"agent": "eve", "server": "granted", "permission": "deny"}]});
    let host = Host::ready_with(config).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        let mut eve = Raw::agent(&host, "eve", revision).await;
        let list = || json!({"command": "ls"});
        is(&ada.refused("other.execute_command", list()).await, 1000, "security", false);
        is(&eve.refused("granted.execute_command", list()).await, 1001, "security", false);
        let wipe = json!({"command": "rm -rf /"});
        is(&ada.refused("granted.execute_command", wipe).await, 1010, "security", false);
        let code = json!({"code": "import subprocess"});
        is(&ada.refused("granted.run_python", code).await, 1011, "security", false);
    }
    assert!(script.calls().is_empty());
}

// covers: MGP-14.3-03, MGP-14.3-04
async fn codes_of_authentication_say_whether_to_log_in_or_to_log_in_again() {
    let script = Script::named(&["fail", "works"]).speaking(&[]);
    let mut config = quiet([script.server("files")]);
    config["listen"] = json!({"require_keys": true});
    config["access"] = json!({"default": "opt-out"});
    let host = Host::ready_with(config).await;
    // Of a server that knows its users.
    for revision in ERAS {
        for (code, message) in [(1002, "log in first"), (1003, "the token has expired")] {
            let advice = json!({"category": "security", "retryable": false});
            script
                .fails_with(&json!({"code": code, "message": message, "data": {"_mgp": advice}}).to_string());
            let mut ada = Raw::agent(&host, "ada", revision).await;
            is(&ada.refused("files.fail", json!({})).await, code, "security", false);
            let mut plain = Raw::plain(&host, "bob", revision).await;
            let answer = plain.call("tools/call", json!({"name": "files__fail", "arguments": {}})).await;
            let said = format!("files: {message}");
            assert_eq!(answer["error"], json!({"code": -32600, "message": said}));
        }
    }
    // The kernel's own keys are a matter of HTTP, which has a status for it.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let kernel = host.kernel.clone();
    let serving = tokio::spawn(async move { kernel.serve_http(listener, std::future::pending()).await });
    let operator = host.operator().await;
    let expired = json!({"owner": "bob", "permissions": [], "expires_at": "2020-01-01T00:00:00Z"});
    let expired = ask(&operator, "kernel/keys/new", expired).await["secret"].as_str().unwrap().to_owned();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    for key in [None, Some("mgp_wrong"), Some(&*expired)] {
        let headers = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
        assert_eq!(http::post(port, &headers, body).status, 401);
    }
    serving.abort();
}

// covers: MGP-14.2-03, MGP-14.3-07..09, MGP-14.5-03, MGP-14.5-08
async fn codes_of_lifecycle_say_when_a_server_is_back() {
    let slow = |script: &Script, id: &str| {
        let mut server = script.server(id);
        (server["backoff_base_ms"], server["backoff_max_ms"]) = (json!(60_000), json!(60_000));
        server
    };
    let (crashing, ending, draining) =
        (Script::named(&["crash"]), Script::named(&["crash"]), Script::named(&["wait", "works"]));
    let mut never = ending.server("never");
    never["restart_policy"] = json!("never");
    let mut servers = [slow(&crashing, "later"), never, draining.server("draining")];
    // Else each client would have an instance that does well.
    for server in &mut servers {
        server["sharing"] = json!("shared");
    }
    let host = Host::ready(servers).await;
    let mut busy = Raw::agent(&host, "busy", ERAS[0]).await;
    for server in ["later", "never"] {
        busy.call("tools/call", json!({"name": format!("{server}.crash"), "arguments": {}})).await;
        until("the crash is noticed", || (host.view(server).state != ServerState::Connected).then_some(()))
            .await;
    }
    // A call is in work, so that draining takes its time.
    busy.send("tools/call", json!({"name": "draining.wait", "arguments": {}})).await;
    until("the call is in work", || (!draining.calls().is_empty()).then_some(())).await;
    let operator = host.operator().await;
    let shutdown = json!({"server_id": "draining", "reason": "operator_request", "timeout_ms": 60_000});
    let stopping = tokio::spawn(async move { ask(&operator, "mgp/lifecycle/shutdown", shutdown).await });
    until("it drains", || (host.view("draining").state == ServerState::Draining).then_some(())).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        let error = ada.refused("never.crash", json!({})).await;
        assert_eq!((&error["code"], &error["data"]["_mgp"]["category"]), (&json!(2000), &json!("lifecycle")));
        is(&ada.refused("draining.works", json!({})).await, 2001, "lifecycle", true);
        let restarting = ada.refused("later.crash", json!({})).await;
        is(&restarting, 2002, "lifecycle", true);
        let wait = restarting["data"]["_mgp"]["retry_after_ms"].as_u64().unwrap();
        assert!((1..=90_000).contains(&wait), "{restarting}");
    }
    stopping.abort();
    host.kernel.shutdown(ShutdownReason::KernelShutdown, std::time::Duration::ZERO).await;
}

// covers: MGP-14.2-04, MGP-14.3-10..13, MGP-14.5-04, MGP-14.5-12
async fn codes_of_resources_say_what_ran_out() {
    let (files, narrow, late) =
        (Script::named(&["works"]), Script::named(&["wait"]), Script::named(&["wait"]));
    let mut limited = files.server("limited");
    limited["limits"] = json!({"calls_per_minute": 1});
    let mut one = narrow.server("narrow");
    one["limits"] = json!({"concurrency": 1});
    one["sharing"] = json!("shared");
    let mut timed = late.server("late");
    timed["limits"] = json!({"timeout_ms": 200});
    let mut config = quiet([limited, one, timed]);
    config["limits"]["waiting_calls"] = json!(0);
    let host = Host::ready_with(config).await;
    let mut busy = Raw::agent(&host, "busy", ERAS[0]).await;
    busy.tool("limited.works", json!({})).await;
    busy.send("tools/call", json!({"name": "narrow.wait", "arguments": {}})).await;
    until("the call is in work", || (!narrow.calls().is_empty()).then_some(())).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        let often = ada.refused("limited.works", json!({})).await;
        is(&often, 3000, "resource", true);
        let advice = &often["data"]["_mgp"];
        assert_eq!(advice["retry_strategy"], "exponential_backoff");
        assert!(advice["retry_after_ms"].as_u64().is_some_and(|wait| wait > 0), "{advice}");
        is(&ada.refused("narrow.wait", json!({})).await, 3001, "resource", true);
        is(&ada.refused("late.wait", json!({})).await, 3003, "resource", true);
    }
    // The subscriptions of a session are counted.
    let refused = loop {
        let answer = busy.call("mgp/events/subscribe", json!({"channels": ["lifecycle"]})).await;
        if answer["error"].is_object() {
            break answer["error"].clone();
        }
    };
    is(&refused, 3002, "resource", false);
}

// covers: MGP-14.2-05, MGP-14.3-14..16, MGP-14.5-05
async fn codes_of_validation_say_what_the_caller_got_wrong() {
    let script = Script::named(&["works", "off"]);
    let mut server = script.server("files");
    server["tools"] = json!({"off": {"enabled": false}});
    let host = Host::ready_with(quiet([server])).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        is(&ada.refused("files.works", json!({"a": ["no text"]})).await, 4000, "validation", false);
        is(&ada.refused("files.nothing", json!({})).await, 4001, "validation", false);
        let off = ada.refused("files.off", json!({})).await;
        is(&off, 4002, "validation", false);
        assert!(off["message"].as_str().unwrap().contains("switched off"), "{off}");
        let listed = ada.result("tools/list", json!({})).await;
        assert_eq!(listed["tools"].as_array().unwrap().len(), 1);
        // MCP has one number for all of that.
        let mut plain = Raw::plain(&host, "bob", revision).await;
        for tool in ["files__nothing", "files__off"] {
            let answer = plain.call("tools/call", json!({"name": tool, "arguments": {}})).await;
            assert_eq!((&answer["error"]["code"], &answer["error"]["data"]), (&json!(-32602), &Value::Null));
        }
    }
    assert!(script.calls().is_empty());
}

// covers: MGP-14.2-06, MGP-14.3-17..19, MGP-14.5-06
async fn codes_of_external_services_come_through() {
    let script = Script::named(&["fail", "crash"]).speaking(&[]);
    let mut server = script.server("weather");
    server["restart_policy"] = json!("never");
    let host = Host::ready_with(quiet([server])).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        for (code, message) in [
            (5000, "the service is broken"),
            (5001, "the service took too long"),
            (5002, "the service is away"),
        ] {
            let advice = json!({"category": "external", "retryable": false});
            script
                .fails_with(&json!({"code": code, "message": message, "data": {"_mgp": advice}}).to_string());
            let error = ada.refused("weather.fail", json!({})).await;
            is(&error, code, "external", false);
            assert_eq!(error["message"], format!("weather: {message}"));
        }
    }
    // A server that is lost in the middle of a call is an external service that cannot be reached.
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    let lost = ada.refused("weather.crash", json!({})).await;
    assert_eq!(
        (&lost["code"], &lost["data"]["_mgp"]["category"]),
        (&json!(5002), &json!("external")),
        "{lost}"
    );
}

// covers: MGP-14.2-01
async fn codes_of_json_rpc_keep_their_meaning() {
    let script = Script::named(&["works"]);
    let host = Host::ready_with(quiet([script.server("files")])).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        assert_eq!(ada.say("{this is no JSON").await["error"]["code"], -32700);
        assert_eq!(ada.say(r#"{"jsonrpc":"1.0","id":70,"method":"ping"}"#).await["error"]["code"], -32600);
        assert_eq!(ada.error("tools/unheard", json!({})).await["code"], -32601);
        assert_eq!(ada.error("tools/list", json!({"cursor": "elsewhere"})).await["code"], -32602);
        assert_eq!(ada.error("mgp/access/query", json!({"agent_id": 7})).await["code"], -32602);
    }
}

// covers: MGP-14.4-01, MGP-14.5-01, MGP-14.5-07, MGP-14.5-09..11, MGP-14.5-13..15
async fn advice_of_a_server_comes_through_as_it_is_and_only_to_who_speaks_mgp() {
    let script = Script::named(&["fail"]).speaking(&[]);
    for revision in ERAS {
        let host = Host::ready_with(quiet([script.server("web")])).await;
        for (strategy, after) in [("immediate", 0), ("fixed_delay", 1), ("exponential_backoff", 1)] {
            let advice = json!({
                "category": "resource", "retryable": true, "retry_after_ms": after, "retry_strategy": strategy,
                "max_retries": 1, "fallback_tool": "web.other",
                "details": {"limit": 60, "window_secs": 60, "current": 61, "their": [1.50]},
            });
            let error = json!({"code": 3000, "message": "too often", "data": {"_mgp": advice, "their": 1}});
            script.fails_with(&error.to_string());
            let before = script.calls().len();
            let mut ada = Raw::agent(&host, "ada", revision).await;
            let mut named = error.clone();
            named["message"] = json!("web: too often");
            assert_eq!(ada.refused("web.fail", json!({})).await, named, "{strategy}");
            // The advice is read as well: one more attempt was made.
            assert_eq!(script.calls().len(), before + 2, "{strategy}");

            let mut plain = Raw::plain(&host, "bob", revision).await;
            let answer = plain.call("tools/call", json!({"name": "web__fail", "arguments": {}})).await;
            let expected = json!({"code": -32603, "message": "web: too often", "data": {"their": 1}});
            assert_eq!(answer["error"], expected);
        }
    }
}
