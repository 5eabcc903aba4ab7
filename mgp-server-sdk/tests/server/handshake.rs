//! The beginning of a connection, line by line.

use crate::peer::{Raw, hello};
use mgp_server_sdk::mcp::{CreateMessageParams, Role, SamplingMessage};
use mgp_server_sdk::types::Revision;
use mgp_server_sdk::types::mgp::{ExtensionSet, Offer, TrustLevel};
use mgp_server_sdk::{Cx, Server, Tool, ToolError, VersionMismatch};
use serde_json::{Value, json};

fn server() -> Server {
    Server::new("test", "1.2.3").tool(Tool::new("think", "Asks the caller's model."), async |cx: Cx| {
        let params = CreateMessageParams::new(vec![SamplingMessage::new(Role::User, "who are you?")], 10);
        Ok::<_, ToolError>(cx.sample("think", params).await?.model)
    })
}

// covers: BASE-12, BASE-20
#[tokio::test]
async fn a_session_opens_in_the_revision_that_is_asked_for() {
    for revision in Revision::ALL.into_iter().filter(|revision| !revision.is_stateless()) {
        let answer = Raw::of(server()).hello(revision.as_str(), &json!({})).await;
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], revision.as_str());
        assert!(result["capabilities"]["tools"].is_object(), "{answer}");
        assert_eq!(result["serverInfo"], json!({"name": "test", "version": "1.2.3"}));
    }
}

// covers: BASE-21, BASE-22, BASE-24, BASE-29, BASE-30
#[tokio::test]
async fn a_revision_that_is_not_served_is_countered_with_the_latest_or_refused() {
    for asked in ["1999-01-01", "2026-07-28", "1.0.0"] {
        let answer = Raw::of(server()).hello(asked, &json!({})).await;
        assert_eq!(answer["result"]["protocolVersion"], Revision::LATEST_SESSION.as_str());
    }
    let old = || server().revisions([Revision::V2024_11_05]);
    assert_eq!(Raw::of(old()).hello("1.0.0", &json!({})).await["result"]["protocolVersion"], "2024-11-05");
    let refused = Raw::of(old().version_mismatch(VersionMismatch::Refuse)).hello("1.0.0", &json!({})).await;
    let data = json!({"supported": ["2024-11-05"], "requested": "1.0.0"});
    let error = json!({"code": -32602, "message": "Unsupported protocol version", "data": data});
    assert_eq!(refused["error"], error);
    // Where there are no sessions the number is another one.
    let newest = server().revisions([Revision::V2026_07_28]);
    let refused = Raw::of(newest).hello("2025-11-25", &json!({})).await;
    let data = json!({"supported": ["2026-07-28"], "requested": "2025-11-25"});
    assert_eq!((&refused["error"]["code"], &refused["error"]["data"]), (&json!(-32022), &data));
}

// covers: BASE-02, BASE-07, BASE-15
#[tokio::test]
async fn before_the_session_nothing_but_ping_is_answered() {
    let mut raw = Raw::of(server());
    let ping = raw.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).await;
    assert_eq!(ping, json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
    for method in ["tools/list", "tools/call", "resources/list", "logging/setLevel"] {
        let line = json!({"jsonrpc": "2.0", "id": 8, "method": method, "params": {"name": "think"}});
        let refused = raw.ask(&line.to_string()).await;
        assert_eq!(refused["error"]["code"], -32600, "{method}: {refused}");
    }
    assert!(raw.hello("2025-11-25", &json!({})).await["result"].is_object());
    let list = raw.ask(r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#).await;
    assert_eq!(list["result"]["tools"][0]["name"], "think");
}

// covers: BASE-09, BASE-17
#[tokio::test]
async fn a_greeting_without_its_members_is_refused_and_so_is_a_confirmation_with_an_id() {
    for missing in ["protocolVersion", "capabilities", "clientInfo"] {
        let mut line = hello("2025-11-25", &json!({}));
        line["params"].as_object_mut().unwrap().remove(missing);
        let refused = Raw::of(server()).ask(&line.to_string()).await;
        assert_eq!(refused["error"]["code"], -32602, "{missing}: {refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(missing), "{refused}");
    }
    let mut raw = Raw::of(server());
    raw.hello("2025-11-25", &json!({})).await;
    let refused = raw.ask(r#"{"jsonrpc":"2.0","id":5,"method":"notifications/initialized"}"#).await;
    assert!(refused["id"] == 5 && refused["error"].is_object(), "{refused}");
}

// covers: BASE-01, BASE-14, GGEN-9-04
#[tokio::test]
async fn an_answer_has_the_id_of_its_request_and_what_is_no_request_is_told_so() {
    let mut raw = Raw::of(server());
    for id in [json!(0), json!(-7), json!(9_007_199_254_740_993_i64), json!("a"), json!("7"), json!("")] {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        assert_eq!(raw.ask(&line.to_string()).await, json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    }
    for (line, id, code) in [
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, json!(1), -32600),
        (r#"{"id":1,"method":"ping"}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, Value::Null, -32700),
        ("no JSON", Value::Null, -32700),
    ] {
        let refused = raw.ask(line).await;
        assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(code), &id), "{line}: {refused}");
    }
    // Notifications and answers that nobody waits for are answered with nothing.
    raw.write(r#"{"jsonrpc":"2.0","method":"notifications/elsewhere"}"#).await;
    raw.write(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#).await;
    raw.write(r#"{"jsonrpc":"2.0","id":78,"error":{"code":1,"message":"no"}}"#).await;
    assert_eq!(raw.ask(r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#).await["id"], "last");
}

// covers: BASE-16
#[tokio::test]
async fn a_server_asks_nothing_before_its_client_is_ready() {
    let mut raw = Raw::of(server());
    raw.hello("2025-11-25", &json!({"sampling": {}})).await;
    raw.write(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"think","arguments":{}}}"#)
        .await;
    // Whatever comes in between is the answer to this.
    let ping = raw.ask(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#).await;
    assert_eq!(ping["id"], 3, "{ping}");
    let asked = raw.ask(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!(asked["method"], "sampling/createMessage");
    let answer = json!({"role": "assistant", "content": {"type": "text", "text": "I"}, "model": "raw"});
    let line = json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer});
    assert_eq!(raw.ask(&line.to_string()).await["result"]["content"][0]["text"], "raw");
}

// covers: MGP-1.1-02, MGP-1.3-02, MGP-2.4-03
#[tokio::test]
async fn a_server_of_mgp_is_one_of_mcp_to_a_client_that_asks_for_no_more() {
    let offer = Offer::new(ExtensionSet::standard()).with_server_id("mind.test");
    let mut spoken = Vec::new();
    for server in [server(), server().mgp(offer)] {
        let mut raw = Raw::of(server);
        let mut said = vec![raw.hello("2025-11-25", &json!({})).await];
        raw.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        for line in [
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"none"}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"mgp/health/ping"}"#,
        ] {
            said.push(raw.ask(line).await);
        }
        spoken.push(said);
    }
    assert_eq!(spoken[0], spoken[1]);
    assert!(!json!(spoken[1][..3]).to_string().contains("mgp"), "{spoken:?}");
}

/// The `mgp` of a server as it answers the client's, in a session and without one.
async fn answered(offer: Offer, theirs: &[&str]) -> [Value; 2] {
    let server = || server().mgp(offer.clone());
    let theirs = json!({"version": "0.2.0", "extensions": theirs});
    let session = Raw::of(server()).hello("2025-11-25", &json!({"mgp": theirs})).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"dev.cloto/mgp": theirs}},
    });
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}});
    let stateless = Raw::of(server()).ask(&line.to_string()).await;
    let result = &session["result"];
    assert!(result["capabilities"]["tools"].is_object() && result["serverInfo"].is_object(), "{session}");
    [
        result["capabilities"]["mgp"].clone(),
        stateless["result"]["capabilities"]["extensions"]["dev.cloto/mgp"].clone(),
    ]
}

// covers: MGP-2.3-01..06, MGP-3.1-01
#[tokio::test]
async fn a_server_answers_with_its_version_what_both_have_and_what_it_is() {
    let bare = Offer::new(ExtensionSet::from_names(["audit", "streaming", "com.example.own"]));
    let [session, _] = answered(bare.clone(), &["audit", "security"]).await;
    assert_eq!(session, json!({"version": "0.2.0", "extensions": ["audit"]}), "what is optional is left out");
    let whole = bare
        .with_permissions_required(["shell.execute", "com.example.own"])
        .with_server_id("mind.cerebras")
        .with_trust_level(TrustLevel::Sandboxed);
    for mgp in answered(whole, &["audit", "streaming"]).await {
        assert_eq!(mgp["version"], "0.2.0");
        let names = mgp["extensions"].as_array().unwrap();
        assert!(names.contains(&json!("audit")) && names.contains(&json!("streaming")), "{mgp}");
        assert_eq!(mgp["permissions_required"], json!(["shell.execute", "com.example.own"]));
        assert_eq!((&mgp["server_id"], &mgp["trust_level"]), (&json!("mind.cerebras"), &json!("sandboxed")));
    }
}

// covers: MGP-2.3-07..09
#[tokio::test]
async fn each_level_of_trust_has_its_name() {
    for (level, name) in [
        (TrustLevel::Trusted, "trusted"),
        (TrustLevel::Standard, "standard"),
        (TrustLevel::Sandboxed, "sandboxed"),
    ] {
        let offer = Offer::new(ExtensionSet::from_names(["audit"])).with_trust_level(level);
        for mgp in answered(offer, &["audit"]).await {
            assert_eq!(mgp["trust_level"], name);
        }
    }
}
