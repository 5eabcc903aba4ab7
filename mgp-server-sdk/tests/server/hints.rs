//! Hints of calls: what tools declare, budgets, sizes, and what results tell beside their content.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::peer::{Era, Peer, declaring};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mgp_server_sdk::types::code;
use mgp_server_sdk::types::ext::{
    Confidence, Cost, LatencyClass, Provenance, Quota, Suggestion, ToolDeclaration,
};
use mgp_server_sdk::types::mcp::{ContentBlock, ImageContent};
use mgp_server_sdk::{Cx, Object, Server, Tool, ToolError};
use serde_json::{Value, json};

/// A server whose tool `render` costs five credits and takes twelve bytes, and counts its calls.
fn server() -> (Server, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let render = Tool::new("render", "Renders an image.").declare(ToolDeclaration {
        latency: Some(LatencyClass::Minutes),
        cost: Some(Cost::metered(5.0, "credits")),
        input_types: vec!["image/png".into()],
        max_input_size_bytes: Some(12),
        max_output_size_bytes: Some(1_000_000),
        ..ToolDeclaration::default()
    });
    let server = Server::new("studio", "1.0.0")
        .hints()
        .tool(render, move |_: Object, cx: Cx| {
            let made = counted.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                cx.cost(4.0, "credits");
                cx.quota(Quota::new(10_u64.saturating_sub(made as u64), None));
                cx.source(Provenance::new("scene.blend"));
                cx.suggest(Suggestion::new("preview", "it costs nothing"));
                "done"
            }
        })
        .tool(
            Tool::new("paint", "Paints as many bytes as it is told.").declare(ToolDeclaration {
                output_types: vec!["image/png".into(), "image/webp".into()],
                max_output_size_bytes: Some(10),
                ..ToolDeclaration::default()
            }),
            async |arguments: Object, cx: Cx| {
                let size = arguments.get("size").and_then(|size| size.to().ok()).unwrap_or_default();
                let media_type = cx.accepted_type(&["image/png", "image/webp"]).unwrap_or("none");
                let image = ImageContent::new(STANDARD.encode(vec![7_u8; size]), media_type);
                Ok::<_, ToolError>(ContentBlock::from(image))
            },
        )
        .tool(Tool::new("why", "Says why it was called."), async |cx: Cx| {
            let intent = cx.intent()?;
            Ok::<_, ToolError>(intent.map_or_else(|| "no reason".to_owned(), |intent| intent.text.into()))
        });
    (server, calls)
}

/// Connects as a client that declares these extensions.
async fn client(server: Server, era: Era, extensions: &[&str]) -> Peer {
    Peer::silent(server, era, declaring(extensions)).await
}

async fn render(
    peer: &mut Peer,
    arguments: Value,
    meta: Value,
) -> Result<Value, mgp_server_sdk::types::Error> {
    peer.call("tools/call", json!({"name": "render", "arguments": arguments, "_meta": meta})).await
}

const ALL: [&str; 3] = ["intent_hints", "cost_transparency", "provenance"];

// covers: EXT-03-01, EXT-03-02
#[tokio::test]
async fn what_a_tool_declares_stands_on_the_top_level_of_its_definition() {
    for era in Era::BOTH {
        let mut peer = client(server().0, era, &[]).await;
        let tool = peer.listed("render").await;
        assert_eq!(tool["latency"], "minutes");
        assert_eq!(tool["cost"]["estimated_units"], 5.0);
        assert_eq!(tool["input_types"], json!(["image/png"]));
        assert_eq!(
            (&tool["max_input_size_bytes"], &tool["max_output_size_bytes"]),
            (&json!(12), &json!(1_000_000))
        );
    }
}

// covers: EXT-10-06
#[tokio::test]
async fn a_result_has_as_many_bytes_as_declared_and_a_type_that_the_caller_accepts() {
    for era in Era::BOTH {
        let mut peer = client(server().0, era, &["multimodal_signatures"]).await;
        for (size, accept, media_type) in [
            (10, json!(null), Some("image/png")),
            (10, json!(["image/webp", "image/png"]), Some("image/webp")),
            (10, json!(["image/*"]), Some("image/png")),
            (10, json!(["audio/ogg"]), Some("none")),
            (11, json!(null), None),
            (5_000, json!(null), None),
        ] {
            let mut params = json!({"name": "paint", "arguments": {"size": size}, "_meta": {}});
            if !accept.is_null() {
                params["_meta"]["accept"] = accept;
            }
            let result = peer.call("tools/call", params).await.unwrap();
            assert_eq!(result["content"][0]["mimeType"].as_str(), media_type, "{era:?}: {result}");
            if media_type.is_none() {
                assert_eq!(result["isError"], true);
                assert_eq!(result["_meta"]["error"]["code"], "PAYLOAD_TOO_LARGE");
                assert_eq!(
                    result["_meta"]["error"]["details"],
                    json!({"size_bytes": size, "max_output_size_bytes": 10})
                );
            }
        }
    }
}

// covers: EXT-03-03, EXT-03-06, EXT-02-02, EXT-07-01
#[tokio::test]
async fn a_result_tells_its_cost_the_quota_its_source_and_a_better_tool() {
    for era in Era::BOTH {
        let mut peer = client(server().0, era, &ALL).await;
        let result = render(&mut peer, json!({}), json!({"intent": "a quick look"})).await.unwrap();
        assert_eq!(result["content"][0]["text"], "done");
        let meta = &result["_meta"];
        assert_eq!(meta["cost"], json!({"units": 4.0, "unit_label": "credits"}));
        assert_eq!(meta["quota"], json!({"remaining": 9}));
        assert_eq!(meta["provenance"], json!({"source": "scene.blend"}));
        assert_eq!(meta["suggestion"]["recommended_tool"], "preview");
        let result = render(&mut peer, json!({}), json!({})).await.unwrap();
        assert_eq!(result["_meta"]["quota"], json!({"remaining": 8}), "each call uses some of it");
        assert_eq!(result["_meta"].get("suggestion"), None, "nobody said what the call is for");
    }
}

// covers: EXT-03-07
#[tokio::test]
async fn a_call_above_its_budget_is_refused_and_nothing_is_done() {
    for era in Era::BOTH {
        let (server, calls) = server();
        let mut peer = client(server, era, &ALL).await;
        let dear = render(&mut peer, json!({}), json!({"budget": {"max_units": 3}})).await.unwrap_err();
        assert!(dear.message().contains("estimated at 5 credits, and its budget is 3"), "{dear}");
        let wrong = render(&mut peer, json!({}), json!({"budget": {"max_units": "3"}})).await.unwrap_err();
        assert_eq!(wrong.code(), code::INVALID_PARAMS);
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        render(&mut peer, json!({}), json!({"budget": {"max_units": 5}})).await.unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}

// covers: EXT-10-02, EXT-10-04, EXT-10-05
#[tokio::test]
async fn one_byte_more_than_declared_is_refused_and_no_type_of_media_is() {
    for era in Era::BOTH {
        let (server, calls) = server();
        let mut peer = client(server, era, &[]).await;
        // Twelve bytes, and thirteen; the type is none of those that the tool declares.
        let twelve = json!({"media": "data:audio/ogg;base64,AAECAwQFBgcICQoL"});
        let result = render(&mut peer, twelve, json!({})).await.unwrap();
        assert_eq!(result["content"][0]["text"], "done");
        let thirteen = json!({"media": "data:audio/ogg;base64,AAECAwQFBgcICQoLDA=="});
        let result = render(&mut peer, thirteen, json!({})).await.unwrap();
        assert_eq!(result["isError"], true, "{result}");
        let error = &result["_meta"]["error"];
        assert_eq!(
            (&error["code"], &error["category"]),
            (&json!("PAYLOAD_TOO_LARGE"), &json!("invalid_input"))
        );
        assert_eq!(error["details"], json!({"size_bytes": 13, "max_input_size_bytes": 12}));
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}

// covers: EXT-02-01, EXT-02-04
#[tokio::test]
async fn a_handler_hears_what_the_call_is_for_and_a_long_text_is_refused() {
    for era in Era::BOTH {
        let mut peer = client(server().0, era, &[]).await;
        let mut why =
            async |meta: Value| peer.call("tools/call", json!({"name": "why", "_meta": meta})).await;
        let reply = why(json!({"intent": "find the incident"})).await.unwrap();
        assert_eq!(reply["content"][0]["text"], "find the incident");
        assert_eq!(why(json!({})).await.unwrap()["content"][0]["text"], "no reason");
        let long = why(json!({"intent": "x".repeat(1025)})).await.unwrap_err();
        assert_eq!(long.code(), code::INVALID_PARAMS);
    }
}

// covers: EXT-07-01, EXT-07-05
#[tokio::test]
async fn more_sources_are_a_list() {
    let server = Server::new("reports", "1").hints().tool(Tool::new("sum", "Adds up."), async |cx: Cx| {
        let mut derived = Provenance::new("invoices.xlsx");
        derived.confidence = Some(Confidence::Derived);
        cx.source(derived);
        cx.source(Provenance::new("rates.json"));
        Err::<String, _>(ToolError::new("a sum is missing"))
    });
    let mut peer = client(server, Era::Stateless, &ALL).await;
    let result = peer.tool("sum", json!({})).await.unwrap();
    assert_eq!(result["isError"], true);
    assert_eq!(
        result["_meta"]["provenance"],
        json!([{"source": "invoices.xlsx", "confidence": "derived"}, {"source": "rates.json"}])
    );
}
