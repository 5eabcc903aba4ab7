//! What calls are for and cost, where results come from, and how large they may be.

use mgp_client_sdk::ResultHints;
use mgp_server_sdk::{Cx, Object, Server, Tool};
use mgp_types::Error;
use mgp_types::ext::{Cost, ExtensionId, Provenance, Suggestion, ToolDeclaration};
use serde_json::{Value, json};

use crate::stage::{Shown, Stage};

/// A server whose tool costs four credits a call and takes 64 bytes.
fn server() -> Server {
    let declared = ToolDeclaration {
        cost: Some(Cost::metered(4.0, "credits")),
        max_input_size_bytes: Some(64),
        ..ToolDeclaration::default()
    };
    let render = Tool::new("render", "Renders an image.").declare(declared).destructive(false);
    let preview = Tool::new("preview", "Draws a sketch.").read_only();
    Server::new("shop", "1.0.0")
        .hints()
        .tool(render, async |_: Object, cx: Cx| {
            cx.cost(1.0, "credits");
            cx.source(Provenance::new("scene.blend"));
            cx.suggest(Suggestion::new("preview", "it costs nothing"));
            "done"
        })
        .tool(preview, async |_: Object| "sketched")
}

/// Tells the server what a call is for, and reads which tool would have done as well.
pub(crate) async fn intent() -> Shown {
    let stage = Stage::new(server(), json!({})).await?;
    let client = stage.client(ExtensionId::IntentHints).await?;
    let tools = client.list_tools().await?;
    let render = tools.iter().find(|tool| tool.name == "shop.render").ok_or("there is no such tool")?;
    let result = client.call_listed(render, json!({})).intent("see what the scene is like").await?;
    let suggestion = ResultHints::of(&result).suggestion(render, &tools).ok_or("nothing was suggested")?;
    Ok(vec![format!("{}: {}", suggestion.recommended_tool, suggestion.reason)])
}

/// Spends the budget of an agent.
pub(crate) async fn costs() -> Shown {
    let stage = Stage::new(server(), json!({"agents": [{"id": "painter", "budget": {"units": 6}}]})).await?;
    let client = stage.client(ExtensionId::CostTransparency).await?;
    let mut lines = Vec::new();
    for max_units in [2.0, 5.0, 5.0, 5.0] {
        lines.push(match client.call_tool("shop.render", json!({})).budget(max_units).await {
            Ok(result) => {
                let meta: Value =
                    result.meta.as_ref().map(serde_json::to_value).transpose()?.unwrap_or_default();
                format!("cost {}, {} left", meta["cost"], meta["quota"]["remaining"])
            }
            Err(error) => describe(&error),
        });
    }
    Ok(lines)
}

/// Reads where a result comes from.
pub(crate) async fn provenance() -> Shown {
    let stage = Stage::new(server(), json!({})).await?;
    let client = stage.client(ExtensionId::Provenance).await?;
    let result = client.call_tool("shop.render", json!({})).await?;
    let meta: Value = result.meta.as_ref().map(serde_json::to_value).transpose()?.unwrap_or_default();
    let origin = &meta["io.github.mcp-extension-proposals/origin"]["server_id"];
    let claimed = ResultHints::of(&result).provenance().into_claim();
    let sources: Vec<_> = claimed.iter().map(|source| source.source.to_string()).collect();
    Ok(vec![format!("from the server {origin}, which names {}", sources.join(", "))])
}

/// Sends more than a tool takes.
pub(crate) async fn media() -> Shown {
    let stage = Stage::new(server(), json!({})).await?;
    let client = stage.client(ExtensionId::MultimodalSignatures).await?;
    let refused = client.call_tool("shop.render", json!({"scene": "a".repeat(65)})).await;
    Ok(vec![match refused {
        Ok(result) => result.content[0].as_text().unwrap_or_default().to_owned(),
        Err(error) => describe(&error),
    }])
}

fn describe(error: &Error) -> String {
    format!("{}: {}", error.code(), error.message())
}
