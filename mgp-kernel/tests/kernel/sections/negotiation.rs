//! Negotiation (§2), and what holds without it.

use mgp_types::{Principal, Revision};
use serde_json::{Value, json};

use super::raw::{ALL, ERAS, Raw};
use crate::host::{Host, quiet};
use crate::runner::tests;
use crate::scripted::{Script, defined};

tests![
    each_extension_opens_its_section_and_no_other_does,
    both_sides_use_what_both_offer,
    a_peer_without_mgp_or_with_another_major_version_has_mcp,
    errors_of_mgp_need_no_extension,
    mcp_is_the_same_with_and_without_mgp,
    every_frame_has_the_form_and_the_names_of_the_specification,
];

/// A server whose tool declares its security, and that of its code.
fn lab() -> Script {
    let security = json!({
        "risk_level": "dangerous", "validator": "code_safety",
        "code_safety": {"level": "standard", "language": "python"},
    });
    let run = defined("run", &["code"], &json!({"security": security}));
    Script::of([run]).speaking(&["security", "code_safety", "audit"])
}

async fn kernel(script: &Script) -> Host {
    Host::ready_with(quiet([script.server("lab")])).await
}

/// Returns whether the client has the section of an extension.
async fn has(client: &mut Raw, extension: &str) -> bool {
    let answers = match extension {
        "security" | "code_safety" => {
            let listed = client.result("tools/list", json!({})).await;
            let security = listed["tools"][0]["security"].clone();
            return if extension == "security" {
                security.is_object()
            } else {
                security["code_safety"].is_object()
            };
        }
        "access_control" => {
            client.call("mgp/access/query", json!({"agent_id": "ada", "server_id": "lab"})).await
        }
        "lifecycle" => client.call("mgp/health/ping", json!({})).await,
        "streaming" => client.call("mgp/stream/cancel", json!({"request_id": 7})).await,
        "bidirectional" => client.call("mgp/events/subscribe", json!({"channels": ["lifecycle"]})).await,
        "discovery" => {
            let unknown = json!({"id": "no-such"});
            // Who has the methods is told that the server is unknown, or that nobody may register one.
            for (method, params) in [
                ("mgp/discovery/register", json!({"id": "new", "command": "true"})),
                ("mgp/discovery/deregister", unknown),
            ] {
                let is_there = client.error(method, params).await["code"] != -32601;
                let list = client.call("mgp/discovery/list", json!({})).await;
                assert_eq!(is_there, list["result"].is_object(), "{method}");
            }
            client.call("mgp/discovery/list", json!({})).await
        }
        "tool_discovery" => client.call("mgp/tools/session", json!({})).await,
        other => panic!("{other}"),
    };
    assert!(answers["result"].is_object() || answers["error"]["code"] == -32601, "{extension}: {answers}");
    answers["result"].is_object()
}

// covers: MGP-2.2-06, MGP-2.2-07, MGP-2.2-09..14, MGP-12.2-01, MGP-16.2-01
async fn each_extension_opens_its_section_and_no_other_does() {
    let host = kernel(&lab()).await;
    for revision in ERAS {
        for extension in ALL.iter().filter(|extension| **extension != "audit") {
            // What is declared of code stands within what is declared of the security of a tool.
            let offered: &[&str] =
                if *extension == "code_safety" { &["security", "code_safety"] } else { &[extension] };
            let mut with = Raw::offering(&host, Principal::new("ada"), revision, offered).await;
            assert!(has(&mut with, extension).await, "{revision:?} {extension}");
            if !revision.is_stateless() {
                let agreed = &with.opened["result"]["capabilities"]["mgp"]["extensions"];
                assert_eq!(*agreed, json!(offered));
            }
            if *extension == "code_safety" {
                let refused = with.refused("lab.run", json!({"code": "import subprocess"})).await;
                assert_eq!(refused["code"], 1011, "{refused}");
                continue;
            }
            let others: Vec<_> = ALL.iter().copied().filter(|other| other != extension).collect();
            let mut without = Raw::offering(&host, Principal::new("ada"), revision, &others).await;
            assert!(!has(&mut without, extension).await, "{revision:?} {extension}");
        }
    }
}

/// The first request of a method that came to the server.
fn asked(script: &Script, method: &str) -> Value {
    script.asked().into_iter().find(|frame| frame["method"] == method).unwrap()
}

// covers: MGP-1.3-04, MGP-2.1-01, MGP-2.2-01, MGP-2.2-04, MGP-2.2-05, MGP-2.3-01..03, MGP-2.4-01
async fn both_sides_use_what_both_offer() {
    // The kernel as a client of its server.
    let script = Script::named(&["works"]).speaking(&["audit", "com.example.later"]);
    let host = Host::ready_with(quiet([script.server("files")])).await;
    let hello = asked(&script, "initialize");
    let params = &hello["params"];
    assert!(params["protocolVersion"].is_string() && params["clientInfo"]["name"] == "mgp", "{params}");
    let offered = &params["capabilities"]["mgp"];
    let version: Vec<_> = offered["version"].as_str().unwrap().split('.').map(str::parse::<u64>).collect();
    assert!(version.len() == 3 && version.iter().all(Result::is_ok), "{offered}");
    assert_eq!(offered["extensions"], json!(ALL));
    assert_eq!(host.view("files").mgp.unwrap().extensions, ["audit"]);

    // And as a server of its clients.
    let ours = ["audit", "com.example.earlier", "lifecycle"];
    let client = Raw::offering(&host, Principal::new("ada"), ERAS[0], &ours).await;
    let answer = &client.opened["result"];
    assert!(answer["capabilities"]["tools"].is_object() && answer["serverInfo"]["name"] == "mgp", "{answer}");
    let agreed = &answer["capabilities"]["mgp"];
    assert_eq!(
        (&agreed["version"], &agreed["extensions"]),
        (&offered["version"], &json!(["audit", "lifecycle"]))
    );
    for revision in ERAS {
        let mut client = Raw::offering(&host, Principal::new("ada"), revision, &ours).await;
        assert!(has(&mut client, "lifecycle").await);
        assert!(!has(&mut client, "discovery").await);
    }
}

// covers: MGP-1.2-02, MGP-1.3-02, MGP-2.1-02, MGP-2.4-02..04
async fn a_peer_without_mgp_or_with_another_major_version_has_mcp() {
    let mgp = |version: &str| json!({"version": version, "extensions": ALL});
    for (offer, speaks) in [(Value::Null, false), (mgp("1.0.0"), false), (mgp("0.9.1"), true)] {
        let mut capabilities = json!({"tools": {}});
        if !offer.is_null() {
            capabilities["mgp"] = offer.clone();
        }
        // The kernel as a client: what it says after the greeting is MCP alone, or it is not.
        let script = Script::named(&["works"]).capabilities(&capabilities.to_string());
        let host = Host::ready_with(quiet([script.server("files")])).await;
        assert_eq!(host.view("files").mgp.is_some(), speaks, "{offer}");
        let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
        ada.tool("files.works", json!({})).await;
        let called = asked(&script, "tools/call");
        assert_eq!(called["params"]["trace_id"].is_string(), speaks, "{called}");

        // And as a server.
        let host = kernel(&lab()).await;
        for revision in ERAS {
            let mut client = Raw::open(&host, Principal::new("ada"), revision, offer.clone()).await;
            assert_eq!(client.opened.to_string().contains("mgp\":{"), speaks && !revision.is_stateless());
            for extension in ["security", "lifecycle", "discovery"] {
                assert_eq!(has(&mut client, extension).await, speaks, "{revision:?} {offer} {extension}");
            }
            let listed = client.call("tools/list", json!({})).await.to_string();
            assert_eq!(listed.contains("risk_level"), speaks, "{listed}");
        }
    }
}

// covers: MGP-2.2-15, MGP-14.1-01
async fn errors_of_mgp_need_no_extension() {
    let host = kernel(&lab()).await;
    for revision in ERAS {
        let mut client = Raw::offering(&host, Principal::new("ada"), revision, &[]).await;
        let error = client.refused("lab.nothing", json!({})).await;
        let recovery = &error["data"]["_mgp"];
        assert_eq!((&error["code"], &recovery["category"]), (&json!(4001), &json!("validation")), "{error}");
        assert_eq!(recovery["retryable"], false);
        let mut plain = Raw::plain(&host, "ada", revision).await;
        let answer = plain.call("tools/call", json!({"name": "lab__nothing", "arguments": {}})).await;
        assert!(!answer.to_string().contains("_mgp"), "{answer}");
        assert_eq!(answer["error"]["code"], -32602);
    }
}

// covers: MGP-1.1-01, MGP-1.2-01, MGP-1.5-04
async fn mcp_is_the_same_with_and_without_mgp() {
    let script = Script::new(
        r#"[{"name":"works","description":"Ünïcode.", "x":1.50,"inputSchema":{"type":"object"}}]"#,
    )
    .capabilities(r#"{"tools":{},"prompts":{},"resources":{},"completions":{}}"#)
    .answers("prompts/list", r#"{"prompts":[{"name":"greet","description":"Greets."}]}"#)
    .answers(
        "prompts/get",
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"their":1.50}"#,
    )
    .answers("resources/list", r#"{"resources":[{"uri":"test://a","name":"a"}]}"#)
    .answers("resources/templates/list", r#"{"resourceTemplates":[{"uriTemplate":"test://{x}","name":"x"}]}"#)
    .answers("resources/read", r#"{"contents":[{"uri":"test://a","text":"a"}],"their":1.50}"#)
    .answers("completion/complete", r#"{"completion":{"values":["one"]}}"#);
    let mut server = script.server("files");
    server["sharing"] = json!("shared");
    let host = Host::ready_with(quiet([server])).await;
    for revision in ERAS {
        // One style of names for both, so that answers can be compared.
        let mut clients =
            [Raw::agent(&host, "ada", revision).await, Raw::plain(&host, "ada", revision).await];
        for (method, params) in [
            ("prompts/get", json!({"name": "greet"})),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({"uri": "test://a"})),
            ("tools/call", json!({"name": "works", "arguments": {"a": 1.50, "b": "ü"}})),
            (
                "completion/complete",
                json!({
                    "ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "x", "value": "o"},
                }),
            ),
        ] {
            let mut answers = Vec::new();
            for client in &mut clients {
                let before = script.asked().len();
                let frame = client.call(method, params.clone()).await;
                assert!(frame["error"].is_null(), "{method}: {frame}");
                let reached = script.asked().split_off(before);
                assert!(reached.iter().all(|frame| frame["method"] == method), "{reached:?}");
                answers.push(frame["result"].clone());
            }
            assert_eq!(answers[0], answers[1], "{method}");
        }
        let called = clients[0].call("prompts/get", json!({"name": "greet"})).await;
        assert_eq!(called["result"]["their"], json!(1.50), "what nobody knows is passed on");
    }
}

/// The methods of MCP that are said here.
const OF_MCP: [&str; 10] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "prompts/list",
    "notifications/initialized",
    "notifications/tools/list_changed",
    "notifications/cancelled",
];

// covers: MGP-1.5-01..03
async fn every_frame_has_the_form_and_the_names_of_the_specification() {
    let script = Script::named(&["works", "tell"])
        .capabilities(
            r#"{"tools":{"listChanged":true},"mgp":{"version":"0.2.0","extensions":["security","audit","lifecycle"],"permissions_required":["memory.read"]}}"#,
        )
        .answers("mgp/health/ping", r#"{"status":"healthy","server_id":"files","uptime_secs":1}"#);
    let mut config = quiet([script.server("files")]);
    config["permissions"] = json!({"policy": "deny_all", "grants": [{"permission": "memory.read"}]});
    let host = Host::ready_with(config).await;
    let mut ada = Raw::agent(&host, "ada", Revision::V2025_11_25).await;
    ada.result("mgp/events/subscribe", json!({"channels": ["lifecycle"]})).await;
    let answer = ada.call("tools/call", json!({"name": "files.works", "arguments": {}})).await;
    assert_eq!((&answer["jsonrpc"], answer["id"].is_u64()), (&json!("2.0"), true), "{answer}");
    ada.result("mgp/health/ping", json!({})).await;
    host.kernel.restart("files").await.unwrap();
    ada.next_notification("notifications/mgp.event").await;
    // The same words without what MGP puts in front of them mean nothing.
    for method in ["health/ping", "events/subscribe", "access/query", "mgp.health.ping"] {
        assert_eq!(ada.error(method, json!({})).await["code"], -32601, "{method}");
    }

    let frames = [
        script.asked(),
        script.notification_lines().lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
    ];
    let mut of_mgp = [0, 0];
    for (frame, is_notification) in frames[0]
        .iter()
        .map(|frame| (frame, false))
        .chain(frames[1].iter().chain(&ada.heard).map(|frame| (frame, true)))
    {
        assert_eq!(frame["jsonrpc"], "2.0", "{frame}");
        assert_eq!(frame.get("id").is_none(), is_notification, "{frame}");
        assert!(frame["params"].is_object() || frame["params"].is_null(), "{frame}");
        let name = frame["method"].as_str().unwrap();
        if !OF_MCP.contains(&name) {
            let prefix = if is_notification { "notifications/mgp." } else { "mgp/" };
            assert!(name.starts_with(prefix), "{frame}");
            of_mgp[usize::from(is_notification)] += 1;
        }
    }
    assert!(of_mgp.iter().all(|count| *count > 0), "{of_mgp:?}");
}
