//! The beginning of a connection, as the client writes it.

use mgp_client_sdk::EraMode;
use mgp_types::Revision;
use serde_json::{Value, json};

use crate::peer::*;

fn answer(message: &Value, result: &Value) -> Vec<Value> {
    vec![json!({"jsonrpc": "2.0", "id": message["id"], "result": result})]
}

fn refusal(message: &Value, error: &Value) -> Vec<Value> {
    vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": error})]
}

fn opened(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
}

// covers: BASE-07
#[tokio::test]
async fn a_session_begins_with_initialize_and_nothing_else_is_sent_before_its_answer() {
    let (peer, (reader, writer)) = Peer::raw(|_| Vec::new());
    let connecting = tokio::spawn(builder().mgp(None).era(EraMode::Session).connect_io(reader, writer));
    let hello = peer.until_seen("initialize").await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(peer.all().len(), 1, "{:?}", peer.all());
    peer.push(&answer(&hello, &opened(Revision::LATEST_SESSION.as_str()))[0]);
    connecting.await.unwrap().unwrap();
    peer.until_seen("notifications/initialized").await;
}

// covers: BASE-09, BASE-15, BASE-17..19, MGP-2.2-02
#[tokio::test]
async fn a_session_begins_with_a_greeting_in_the_latest_revision_and_one_confirmation() {
    let (peer, (reader, writer)) = Peer::raw(|message| match message["method"].as_str() {
        // The answer comes later.
        Some("initialize") => Vec::new(),
        Some("tools/list") => answer(message, &json!({"tools": []})),
        _ if message["id"].is_null() => Vec::new(),
        _ => refusal(message, &json!({"code": -32601, "message": "no"})),
    });
    let connecting = tokio::spawn(builder().mgp(None).connect_io(reader, writer));
    let hello = peer.until_seen("initialize").await;
    let params = &hello["params"];
    assert_eq!(params["protocolVersion"], Revision::LATEST_SESSION.as_str());
    assert_eq!(params["capabilities"], json!({}), "it offers nothing that it was not told to");
    assert_eq!(params["clientInfo"], json!({"name": "tester", "version": "1.0.0"}));
    // A server with sessions was asked for more before; until the answer nothing else is said.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let methods = |peer: &Peer| -> Vec<String> {
        peer.all().iter().map(|message| message["method"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(methods(&peer), ["server/discover", "initialize"]);
    let discover = &peer.params("server/discover")[0]["_meta"];
    assert_eq!(discover["io.modelcontextprotocol/protocolVersion"], Revision::LATEST.as_str());

    peer.push(&answer(&hello, &opened(Revision::LATEST_SESSION.as_str()))[0]);
    let client = connecting.await.unwrap().unwrap();
    for _ in 0..2 {
        client.clear_cache();
        client.list_tools().await.unwrap();
    }
    let said = methods(&peer).split_off(2);
    assert_eq!(said, ["notifications/initialized", "tools/list", "tools/list"]);
    assert!(peer.seen("notifications/initialized")[0].get("id").is_none());
}

// covers: BASE-24, BASE-29
#[tokio::test]
async fn a_counter_offer_is_taken_and_so_is_a_refusal_that_names_what_there_is() {
    let offered = json!({"supported": ["2025-03-26"], "requested": "2025-11-25"});
    let mismatch = json!({"code": -32602, "message": "Unsupported protocol version", "data": offered});
    for refuses in [false, true] {
        let mismatch = mismatch.clone();
        let (peer, (reader, writer)) = Peer::raw(move |message| match message["method"].as_str() {
            Some("initialize") if refuses && message["params"]["protocolVersion"] != "2025-03-26" => {
                refusal(message, &mismatch)
            }
            Some("initialize") => answer(message, &opened("2025-03-26")),
            _ if message["id"].is_null() => Vec::new(),
            _ => refusal(message, &json!({"code": -32601, "message": "no"})),
        });
        let client = builder().connect_io(reader, writer).await.unwrap();
        assert_eq!(client.revision(), Some(Revision::V2025_03_26), "{refuses}");
        assert_eq!(peer.seen("initialize").len(), if refuses { 2 } else { 1 });
    }
}

// covers: MGP-4.2-02
#[tokio::test]
async fn what_a_tool_declares_of_its_security_is_nothing_to_a_client_of_mcp() {
    for era in ERAS {
        let tool = json!({
            "name": "wipe", "inputSchema": {"type": "object"},
            "security": {"risk_level": "dangerous", "confirmation_required": true, "validator": ["odd"]},
        });
        let (peer, client) = Peer::connect(era, builder().mgp(None), move |method, _| match method {
            "tools/list" => json!({"resultType": "complete", "tools": [tool]}),
            _ => text("wiped"),
        })
        .await;
        let tools = client.list_tools().await.unwrap();
        assert_eq!((tools.len(), tools[0].name.as_str()), (1, "wipe"));
        let result = client.call_tool("wipe", json!({})).await.unwrap();
        assert_eq!(result.content[0].as_text(), Some("wiped"), "{era:?}: it is called without further ado");
        assert_eq!(peer.params("tools/call").len(), 1);
    }
}

/// A server that answers `initialize` and `server/discover` as it is told.
fn server(initialize: Value, discover: Value) -> impl FnMut(&Value) -> Vec<Value> {
    move |message| {
        let members = match message["method"].as_str() {
            Some("initialize") => &initialize,
            Some("server/discover") => &discover,
            _ => return Vec::new(),
        };
        let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
        for (name, value) in members.as_object().unwrap() {
            answer[name] = value.clone();
        }
        vec![answer]
    }
}

#[tokio::test]
async fn a_client_that_prefers_sessions_has_one_unless_the_server_refuses() {
    let session = json!({"result": opened("2025-11-25")});
    let described = json!({"result": {
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
    }});
    let extended = json!({"result": {
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}, "extensions": {"io.github.mcp-extension-proposals/transactions": {}}},
    }});
    let unknown = json!({"error": {"code": -32601, "message": "no"}});
    let versions = json!({"supported": ["2026-07-28"], "requested": "2025-11-25"});
    let other =
        json!({"error": {"code": -32022, "message": "Unsupported protocol version", "data": versions}});
    let both = json!({"result": {
        "protocolVersion": "2025-11-25", "serverInfo": {"name": "s", "version": "1"},
        "capabilities": {"tools": {}, "extensions": {"io.github.mcp-extension-proposals/transactions": {}}},
    }});
    for (initialize, discover, revision, asked) in [
        (&session, &described, Revision::V2025_11_25, vec!["initialize"]),
        (&session, &unknown, Revision::V2025_11_25, vec!["initialize"]),
        (&unknown, &described, Revision::V2026_07_28, vec!["initialize", "server/discover"]),
        (&other, &described, Revision::V2026_07_28, vec!["initialize", "server/discover"]),
        (
            &both,
            &extended,
            Revision::V2026_07_28,
            vec!["initialize", "notifications/initialized", "server/discover"],
        ),
        (
            &both,
            &unknown,
            Revision::V2025_11_25,
            vec!["initialize", "notifications/initialized", "server/discover"],
        ),
    ] {
        let (peer, (reader, writer)) = Peer::raw(server(initialize.clone(), discover.clone()));
        let client = builder().era(EraMode::PreferSession).connect_io(reader, writer).await.unwrap();
        assert_eq!(client.revision(), Some(revision), "{initialize}");
        let methods: Vec<_> = peer.all().iter().map(|it| it["method"].as_str().unwrap().to_owned()).collect();
        assert_eq!(methods[..asked.len()], asked, "{initialize}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_slow_to_open_a_session_is_not_taken_for_one_that_has_none() {
    let (peer, (reader, writer)) = Peer::raw(|_| Vec::new());
    let error = builder().era(EraMode::PreferSession).connect_io(reader, writer).await.unwrap_err();
    assert!(error.message().contains("did not answer"), "{error}");
    assert!(peer.seen("server/discover").is_empty());
}
