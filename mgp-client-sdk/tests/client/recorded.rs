//! What other MGP programs were seen to send to clients. The numbers are those under which the observations were noted.

use mgp_client_sdk::Client;
use mgp_types::Revision;
use mgp_types::mgp::{Extension, ExtensionSet, Offer};
use serde_json::{Value, json};

use crate::peer::{Peer, PlainClient, builder};

/// A server that opens a session in these words, and answers what it does not know as the Python SDK does.
async fn connect(builder: mgp_client_sdk::ClientBuilder, capabilities: Value) -> (Peer, PlainClient) {
    let (peer, stream) = Peer::raw(move |message| {
        let id = message["id"].clone();
        if id.is_null() {
            return Vec::new();
        }
        let outcome = match message["method"].as_str() {
            Some("initialize") => (
                "result",
                json!({
                    "protocolVersion": "2025-11-25", "capabilities": capabilities,
                    "serverInfo": {"name": "cloto-mcp-local", "version": "1.30.0"},
                }),
            ),
            Some("tools/call") => ("result", json!({"content": [{"type": "text", "text": "done"}]})),
            _ => ("error", json!({"code": -32602, "message": "Invalid request parameters", "data": ""})),
        };
        vec![json!({"jsonrpc": "2.0", "id": id, outcome.0: outcome.1})]
    });
    let (reader, writer) = tokio::io::split(stream);
    (peer, builder.connect_io(reader, writer).await.unwrap())
}

fn recorded() -> Value {
    let mgp = json!({"version": "0.6.0", "extensions": ["permissions", "streaming"], "server_id": "cloto-mcp-local"});
    json!({"tools": {"listChanged": false}, "experimental": {"mgp": mgp}})
}

#[tokio::test]
async fn i_1_an_offer_among_the_experimental_capabilities_is_read() {
    let offer = Offer::new(ExtensionSet::standard());
    let (_peer, client) = connect(builder().mgp(offer), recorded()).await;
    let session = client.session().unwrap();
    let agreed = session.mgp.as_ref().unwrap();
    assert!(agreed.has(&Extension::Permissions) && agreed.has(&Extension::Streaming));
    assert!(!agreed.has(&Extension::Audit));
}

#[tokio::test]
async fn i_3_an_offer_to_a_client_that_made_none_is_no_agreement() {
    let (peer, client) = connect(builder().mgp(None), recorded()).await;
    assert!(client.session().unwrap().mgp.is_none());
    client.call_tool("think", json!({})).await.unwrap();
    assert!(peer.all().iter().all(|message| !message.to_string().contains("_mgp")));
}

#[tokio::test]
async fn i_6_a_server_that_calls_unknown_methods_invalid_is_found_and_used() {
    let client: Client<_> = connect(builder().mgp(Offer::new(ExtensionSet::standard())), recorded()).await.1;
    assert_eq!(client.revision(), Some(Revision::V2025_11_25));
    let refused = client.request("mgp/health/ping", json!({"timestamp": "2026-01-01T00:00:00Z"})).await;
    assert_eq!(refused.unwrap_err().code(), -32602);
    assert_eq!(client.call_tool("think", json!({})).await.unwrap().content[0].as_text(), Some("done"));
}
