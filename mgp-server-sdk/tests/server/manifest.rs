//! The service manifest of a server: what it offers in one document.

use crate::peer::{Era, Peer, declaring};
use mgp_server_sdk::types::ext::{
    Cost, ExtensionId, Impact, LatencyClass, MatchConfidence, ServerRecommendation, ServiceManifest,
    ToolDeclaration,
};
use mgp_server_sdk::types::{RpcService, code};
use mgp_server_sdk::{RawJson, Server, ServerCore, Tool};
use serde_json::{Value, json};
use tower_layer::Layer;

const METHOD: &str = "mgp/manifest/get";

fn declared() -> ToolDeclaration {
    ToolDeclaration {
        latency: Some(LatencyClass::Seconds),
        cost: Some(Cost::metered(2.0, "credits")),
        idempotent: true,
        requires_confirmation: true,
        confirmation_message: Some("Delete {ticket}?".into()),
        risk_level: Some(Impact::Destructive),
        required_scopes: vec!["write:tickets".into(), "read:tickets".into()],
        input_types: vec!["application/json".into()],
        output_types: vec!["text/plain".into()],
        max_input_size_bytes: Some(4096),
        supports_streaming: true,
        supports_batch: true,
        ..ToolDeclaration::default()
    }
}

/// A tracker of tickets, whose tool `delete` declares all that it can.
fn server() -> Server {
    let delete = Tool::new("Tickets.Delete", "Deletes a ticket.").declare(declared());
    let search = Tool::new("search", "Searches tickets.").declare(ToolDeclaration {
        required_scopes: vec!["read:tickets".into()],
        ..ToolDeclaration::default()
    });
    Server::new("tracker", "1.4.2")
        .description("Tickets of a project.")
        .offer_manifest()
        .tool(delete, async || "gone")
        .tool(search, async || "found")
        .tool(Tool::new("about", "Tells about the tracker."), async || "a tracker")
}

async fn client<L, S>(server: Server<L>, era: Era, extensions: &[&str]) -> Peer
where
    L: Layer<ServerCore, Service = S>,
    S: RpcService + Sync + Unpin,
{
    Peer::silent(server, era, declaring(extensions)).await
}

async fn manifest(server: Server, era: Era) -> (Value, ServiceManifest) {
    let mut peer = client(server, era, &["service_manifest"]).await;
    let written = peer.call(METHOD, json!({})).await.unwrap();
    let read = serde_json::from_value(written.clone()).unwrap();
    (written, read)
}

// covers: EXT-01-08, EXT-01-14, EXT-10-01
#[tokio::test]
async fn a_tool_has_what_it_declares_and_else_the_defaults() {
    for era in Era::BOTH {
        let (written, read) = manifest(server(), era).await;
        assert_eq!(
            (&written["manifest_version"], &written["server"]["name"]),
            (&json!("0.1.0"), &json!("tracker"))
        );
        assert_eq!(written["tools"][0]["x_mcp_name"], "Tickets.Delete");
        assert_eq!(written["tools"][0]["latency"], "seconds");
        let of = |place: usize| (read.tools[place].mcp_name(), &read.tools[place].declaration);
        assert_eq!(of(0), ("Tickets.Delete", &declared()));
        assert_eq!(of(2), ("about", &ToolDeclaration::default()));
    }
}

// covers: EXT-01-03
#[tokio::test]
async fn a_manifest_says_which_server_it_is_about() {
    for (era, revision) in [(Era::Session, "2025-11-25"), (Era::Stateless, "2026-07-28")] {
        let (written, _) = manifest(server().website("https://tracker.example"), era).await;
        let expected = json!({
            "name": "tracker", "version": "1.4.2", "mcp_spec_version": revision,
            "description": "Tickets of a project.", "homepage": "https://tracker.example",
        });
        assert_eq!(written["server"], expected);
        // A version of another form becomes one that begins with three numbers.
        let (written, _) = manifest(Server::new("plain", "v2").offer_manifest(), era).await;
        assert_eq!(
            written["server"],
            json!({"name": "plain", "version": "0.0.0+v2", "mcp_spec_version": revision})
        );
    }
}

// covers: EXT-01-10
#[tokio::test]
async fn a_server_recommends_others_in_its_manifest() {
    let mut figma = ServerRecommendation::new("design_mockup", "figma", MatchConfidence::High);
    figma.registry_url = Some("https://registry.example.com/figma".into());
    let (written, read) = manifest(server().recommend(figma.clone()), Era::Session).await;
    assert_eq!(
        written["recommendations"],
        json!([{
            "capability": "design_mockup", "server_name": "figma", "match_confidence": "high",
            "registry_url": "https://registry.example.com/figma",
        }])
    );
    assert_eq!(read.recommendations, [figma]);
    assert_eq!(manifest(server(), Era::Session).await.0.get("recommendations"), None);
}

// covers: EXT-00-06
#[tokio::test]
async fn the_manifest_lists_exactly_the_extensions_that_are_on() {
    let listed: Vec<_> = ExtensionId::ALL.iter().filter(|id| id.is_listed()).collect();
    assert_eq!(listed.len(), 14);
    for era in Era::BOTH {
        let plain = Server::new("plain", "1.0.0").offer_manifest();
        assert_eq!(manifest(plain, era).await.0.get("supported_extensions"), None);
        let confirmed = json!(["human_in_the_loop"]);
        assert_eq!(manifest(server(), era).await.0["supported_extensions"], confirmed, "a tool is confirmed");
        let (written, _) = manifest(server().hints(), era).await;
        let hints = json!(["intent_hints", "human_in_the_loop", "provenance", "multimodal_signatures"]);
        assert_eq!(written["supported_extensions"], hints, "costs are no name of the list");
        let all = ExtensionId::ALL.iter();
        let all = all.fold(server(), |server, id| server.extension(id.id(), RawJson::empty_object()));
        let (written, read) = manifest(all.extension("com.example/own", RawJson::empty_object()), era).await;
        assert_eq!(written["supported_extensions"].as_array().unwrap().len(), 14);
        assert_eq!(
            read.supported_extensions.iter().map(|one| one.id()).collect::<Vec<_>>(),
            listed.iter().map(|id| **id).collect::<Vec<_>>()
        );
        let mut other = written.clone();
        other["supported_extensions"] = json!(["telepathy"]);
        assert!(serde_json::from_value::<ServiceManifest>(other).is_err(), "the list is closed");
    }
}

#[tokio::test]
async fn a_client_asks_for_some_tools_and_only_for_what_is_new() {
    let mut peer = client(server(), Era::Session, &["service_manifest"]).await;
    let whole = peer.call(METHOD, json!({})).await.unwrap();
    let revision = &whole["revision"];
    let same = peer.call(METHOD, json!({"if_revision": revision})).await.unwrap();
    assert_eq!(same, json!({"not_modified": true, "revision": revision}));
    for name in ["tickets__delete", "Tickets.Delete"] {
        let one = peer.call(METHOD, json!({"tools": [name]})).await.unwrap();
        assert_eq!(one["tools"].as_array().unwrap().len(), 1);
        assert_eq!(one["tools"][0]["name"], "tickets__delete");
    }
    let unknown = peer.call(METHOD, json!({"tools": ["none"]})).await.unwrap_err();
    assert!(unknown.message().contains("none"), "{unknown}");

    let changing = server();
    let handle = changing.handle();
    let mut peer = client(changing, Era::Session, &["service_manifest"]).await;
    assert_eq!(peer.call(METHOD, json!({})).await.unwrap()["revision"], *revision);
    handle.add_tool(Tool::new("more", "More."), async || "more").unwrap();
    let changed = peer.call(METHOD, json!({"if_revision": revision})).await.unwrap();
    assert_eq!(changed["tools"].as_array().unwrap().len(), 4);
    assert_ne!(changed["revision"], *revision);
}

#[tokio::test]
async fn the_manifest_is_not_there_for_clients_that_do_not_ask_for_it_nor_at_other_servers() {
    let mut plain = client(server(), Era::Session, &[]).await;
    let error = plain.call(METHOD, json!({})).await.unwrap_err();
    assert_eq!(error.code(), code::METHOD_NOT_FOUND);
    let without = Server::new("test", "1").tool(Tool::new("one", "One."), async || "1");
    let mut peer = client(without, Era::Session, &["service_manifest"]).await;
    assert_eq!(peer.call(METHOD, json!({})).await.unwrap_err().code(), code::METHOD_NOT_FOUND);
}
