//! Scopes of agents and of their sessions: what a check says is what a call is told.

use std::time::Duration;

use mgp_types::Revision;
use serde_json::{Value, json};

use crate::host::{Host, quiet, until_found};
use crate::runner::tests;
use crate::scripted::{Script, defined};
use crate::sections::raw::Raw;

tests![
    what_a_check_says_is_what_the_call_is_told,
    a_session_is_negotiated_scope_by_scope_and_the_manifest_tells_what_it_may,
    a_refreshed_session_goes_on_and_its_old_tokens_are_dead,
    one_scope_ends_while_the_others_of_its_session_live,
];

const SCOPES: [&str; 3] = ["read:github_repoX", "write:linear_ticket", "banana/peel.v2"];

/// The scopes of this set, of which there are eight.
fn subset(set: usize) -> Vec<&'static str> {
    SCOPES.iter().enumerate().filter(|(place, _)| set & (1 << place) != 0).map(|(_, scope)| *scope).collect()
}

/// A kernel with a tool for each set of scopes. `ada` may have two of the three, and `bob` is held to none.
async fn kernel() -> (Host, Script) {
    let tool = |set: usize| defined(&format!("t{set}"), &[], &json!({"required_scopes": subset(set)}));
    let script = Script::of((0..8).map(tool));
    let mut config = quiet([script.server("files")]);
    config["agents"] = json!([{"id": "ada", "scopes": &SCOPES[..2]}]);
    let host = Host::ready_with(config).await;
    (host, script)
}

async fn client(host: &Host, agent: &str) -> Raw {
    let extensions = &["scoped_auth", "service_manifest", "ggen", "structured_errors"];
    Raw::declaring(host, agent, Revision::V2025_11_25, extensions).await
}

async fn negotiated(client: &mut Raw, scopes: &[&str]) -> Value {
    client.result("mgp/permission/negotiate", json!({"requested_scopes": scopes})).await
}

/// Calls a tool with the token of a session, if there is one.
async fn call(client: &mut Raw, tool: &str, token: &Value) -> Value {
    let mut params = json!({"name": format!("files.{tool}"), "arguments": {}});
    if token.is_string() {
        params["_meta"] = json!({"session_token": token});
    }
    client.call("tools/call", params).await
}

// covers: EXT-04-06, EXT-04-02
async fn what_a_check_says_is_what_the_call_is_told() {
    let (host, script) = kernel().await;
    let mut allowed_calls = 0;
    for agent in ["ada", "bob"] {
        let mut client = client(&host, agent).await;
        let mut tokens = vec![Value::Null];
        for set in 0..8 {
            tokens.push(negotiated(&mut client, &subset(set)).await["session"]["token"].clone());
        }
        for (place, token) in tokens.iter().enumerate() {
            for set in 0..8 {
                let tool = format!("t{set}");
                let mut asked = json!({"tool": format!("files.{tool}"), "scopes_held": SCOPES});
                if token.is_string() {
                    asked["_meta"] = json!({"session_token": token});
                }
                let checked = client.result("mgp/permission/check", asked).await;
                let called = call(&mut client, &tool, token).await;
                assert_eq!(checked["allowed"] == true, called["result"].is_object(), "{checked} {called}");
                if checked["allowed"] == true {
                    allowed_calls += 1;
                } else {
                    let error = &called["error"]["data"];
                    assert_eq!(error["code"], "SCOPE_INSUFFICIENT", "{called}");
                    assert_eq!(error["details"]["missing_scopes"], checked["missing_scopes"], "{called}");
                }
                // What is held is what was asked for, as far as the agent may have it.
                let held = match place {
                    0 if agent == "ada" => subset(0b011),
                    0 => subset(0b111),
                    _ if agent == "ada" => subset((place - 1) & 0b011),
                    _ => subset(place - 1),
                };
                let has_all = subset(set).iter().all(|scope| held.contains(scope));
                assert_eq!(checked["allowed"] == true, has_all, "{agent} {held:?} {tool}");
            }
        }
    }
    assert_eq!(script.calls().len(), allowed_calls);
}

// covers: EXT-04-01, EXT-04-07, EXT-04-12, EXT-01-06
async fn a_session_is_negotiated_scope_by_scope_and_the_manifest_tells_what_it_may() {
    let (host, _script) = kernel().await;
    let mut ada = client(&host, "ada").await;
    let asked = json!({
        "requested_scopes": [SCOPES[0], SCOPES[2], "temp:30min"], "justification": "to read the code",
        "ttl_seconds": 7200,
    });
    let given = ada.result("mgp/permission/negotiate", asked).await;
    assert_eq!(given["granted_scopes"], json!([SCOPES[0]]), "{given}");
    assert_eq!(given["denied_scopes"][0]["scope"], SCOPES[2], "{given}");
    assert!(!given["denied_scopes"][0]["reason"].as_str().unwrap().is_empty(), "{given}");
    let end: mgp_types::mgp::Timestamp =
        serde_json::from_value(given["session"]["expires_at"].clone()).unwrap();
    let in_minutes = |minutes| mgp_types::mgp::Timestamp::now().saturating_add(Duration::from_mins(minutes));
    assert!(end > in_minutes(20) && end <= in_minutes(30), "the shorter of the two times: {given}");
    let token = given["session"]["token"].clone();
    assert!(call(&mut ada, "t1", &token).await["result"].is_object(), "it may read");
    assert!(call(&mut ada, "t2", &token).await["error"].is_object(), "and not write");
    let unusable = json!({"requested_scopes": [SCOPES[0]], "ttl_seconds": 0});
    assert_eq!(ada.error("mgp/permission/negotiate", unusable).await["code"], -32602);

    // The manifest says which scope opens which tool, and which of them the session has.
    let of_session = json!({"_meta": {"session_token": token}});
    let manifest = ada.result("mgp/manifest/get", of_session).await;
    let auth = &manifest["auth"];
    assert_eq!(auth["current_scopes"], json!([SCOPES[0]]), "{auth}");
    let tools: Vec<_> =
        manifest["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(auth["scopes"].as_array().unwrap().len(), 3, "{auth}");
    for scope in auth["scopes"].as_array().unwrap() {
        assert!(scope["description"].is_string(), "{scope}");
        let grants = scope["grants"].as_array().unwrap();
        assert!(grants.len() == 4 && grants.iter().all(|tool| tools.contains(tool)), "{scope}");
    }
}

// covers: EXT-04-11
async fn a_refreshed_session_goes_on_and_its_old_tokens_are_dead() {
    let (host, _script) = kernel().await;
    let mut ada = client(&host, "ada").await;
    let first = negotiated(&mut ada, &[SCOPES[0]]).await["session"].clone();
    assert!(call(&mut ada, "t1", &first["token"]).await["result"].is_object());
    let refresh = json!({"refresh_token": first["refresh_token"]});
    let second = ada.result("mgp/permission/refresh", refresh.clone()).await;
    assert_ne!(second["token"], first["token"]);
    assert_eq!(second["scopes"], first["scopes"]);
    let dead = call(&mut ada, "t1", &first["token"]).await;
    assert_eq!(dead["error"]["data"]["code"], "AUTHENTICATION_REQUIRED", "{dead}");
    assert_eq!(dead["error"]["code"], -32004, "{dead}");
    assert_eq!(ada.error("mgp/permission/refresh", refresh).await["code"], -32004);
    assert!(call(&mut ada, "t1", &second["token"]).await["result"].is_object());
    // A token is worth nothing in other hands.
    let mut bob = client(&host, "bob").await;
    assert!(call(&mut bob, "t1", &second["token"]).await["error"].is_object());
}

// covers: EXT-04-15
async fn one_scope_ends_while_the_others_of_its_session_live() {
    let (host, _script) = kernel().await;
    let mut ada = client(&host, "ada").await;
    let first = negotiated(&mut ada, &[SCOPES[0]]).await["session"]["token"].clone();
    let more = json!({"requested_scopes": [SCOPES[1], "temp:3s"], "_meta": {"session_token": first}});
    let both = ada.result("mgp/permission/negotiate", more).await["session"].clone();
    assert_eq!(both["scopes"], json!(&SCOPES[..2]), "{both}");
    let token = &both["token"];
    assert!(call(&mut ada, "t1", token).await["result"].is_object());
    let ended = until_found("the scope ends", async || {
        Some(call(&mut ada, "t2", token).await).filter(|answer| answer["error"].is_object())
    })
    .await;
    assert_eq!(ended["error"]["data"]["details"]["missing_scopes"], json!([SCOPES[1]]), "{ended}");
    assert!(call(&mut ada, "t1", token).await["result"].is_object(), "the other scope lives");
}
