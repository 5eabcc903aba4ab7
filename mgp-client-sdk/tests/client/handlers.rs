//! The handlers of the client, and the capabilities that follow from them.

use mgp_client_sdk::Elicited;
use mgp_types::Revision;
use serde_json::{Value, json};

use crate::peer::*;

async fn ask(peer: &Peer, method: &str, params: Value) -> Value {
    let id = format!("ask-{}", peer.all().len());
    peer.push(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    peer.until(|seen| seen.iter().find(|message| message["id"] == id.as_str()).cloned()).await
}

fn declared(peer: &Peer, era: Revision) -> Value {
    if era.is_stateless() {
        return peer.params("server/discover")[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
            .clone();
    }
    peer.params("initialize")[0]["capabilities"].clone()
}

// covers: BASE-04, BASE-11, MGP-2.2-02
#[tokio::test]
async fn what_the_client_declares_follows_from_its_handlers() {
    for era in ERAS {
        let bare = builder().mgp(None);
        let (peer, _client) = Peer::connect(era, bare.clone(), |_, _| json!({})).await;
        assert_eq!(declared(&peer, era), json!({}));

        let full = bare
            .on_elicitation(|_, _| async { Elicited::declined() })
            .on_url_elicitation(|_, _| async { Elicited::Accepted(()) })
            .on_sampling_with_tools(|_, _| async { Err(mgp_types::Error::internal("no model")) })
            .roots([])
            .tasks();
        let (peer, _client) = Peer::connect(era, full, |_, _| json!({})).await;
        let roots = if era.is_stateless() { json!({}) } else { json!({"listChanged": true}) };
        let expected = json!({
            "elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": roots,
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        });
        assert_eq!(declared(&peer, era), expected);
    }
}

// covers: BASE-04
#[tokio::test]
async fn what_was_not_declared_is_refused_2025() {
    let (peer, _client) = Peer::connect(Revision::V2025_11_25, builder(), |_, _| json!({})).await;
    for method in ["sampling/createMessage", "elicitation/create", "roots/list", "acme/odd"] {
        assert_eq!(ask(&peer, method, json!({})).await["error"]["code"], -32601, "{method}");
    }
    let (peer, _client) = Peer::connect(
        Revision::V2025_11_25,
        builder().on_elicitation(|_, _| async { Elicited::cancelled() }),
        |_, _| json!({}),
    )
    .await;
    let page = json!({"mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "1"});
    assert_eq!(ask(&peer, "elicitation/create", page).await["error"]["code"], -32602);
    assert_eq!(ask(&peer, "elicitation/create", json!({"message": 1})).await["error"]["code"], -32602);
}

#[tokio::test]
async fn ping_is_answered_at_any_time() {
    for era in ERAS {
        let mut answer = crate::peer::era(era, |_, _| json!({}));
        let (peer, (reader, writer)) = Peer::raw(move |message| {
            let mut out = answer(message);
            // Before the handshake is answered, too.
            if message["method"] == "initialize" || message["method"] == "server/discover" {
                out.insert(0, json!({"jsonrpc": "2.0", "id": "early", "method": "ping"}));
            }
            out
        });
        let _client = builder().connect_io(reader, writer).await.unwrap();
        let early = peer.until(|seen| seen.iter().find(|message| message["id"] == "early").cloned()).await;
        assert_eq!(early["result"], json!({}));
        assert_eq!(ask(&peer, "ping", json!({})).await["result"], json!({}));
    }
}

// covers: BASE-23
#[tokio::test]
async fn a_failed_handshake_closes_the_connection_2025() {
    let (peer, (reader, writer)) = Peer::raw(|message| {
        let id = &message["id"];
        vec![match message["method"].as_str() {
            Some("initialize") => json!({"jsonrpc": "2.0", "id": id, "result":
                {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}}),
            _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}),
        }]
    });
    let error = builder().connect_io(reader, writer).await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains("1999-01-01") && error.contains("2025-11-25"), "{error}");
    peer.until(|seen| seen.contains(&json!("end")).then_some(())).await;
    let methods: Vec<_> =
        peer.all().iter().filter_map(|message| message["method"].as_str().map(str::to_owned)).collect();
    assert_eq!(methods, ["server/discover", "initialize"]);
}

#[tokio::test]
async fn defaults_of_a_form_can_be_taken_over() {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John"}, "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5}, "verified": {"type": "boolean", "default": true},
        "status": {"type": "string", "enum": ["active", "idle"], "default": "active"}, "none": {"type": "string"},
    }});
    let builder = builder().on_elicitation(|form, _| async move { Elicited::accept_defaults(&form) });
    let (peer, _client) = Peer::connect(Revision::V2025_11_25, builder, |_, _| json!({})).await;
    let answer = ask(&peer, "elicitation/create", json!({"message": "m", "requestedSchema": schema})).await;
    let expected = json!({"name": "John", "age": 30, "score": 95.5, "verified": true, "status": "active"});
    assert_eq!(answer["result"], json!({"action": "accept", "content": expected}));
}
