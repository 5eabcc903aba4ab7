//! Errors that say what to do next.

use mgp_server_sdk::{Json, Server, Tool, schemars};
use mgp_types::ext::ExtensionId;
use serde_json::{Value, json};

use crate::stage::{Shown, Stage};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Order {
    /// How many to order.
    #[schemars(range(min = 1, max = 10))]
    pieces: u32,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Ordered {
    pieces: u32,
}

fn server() -> Server {
    Server::new("shop", "1.0.0")
        .tool(Tool::new("order", "Orders pieces."), async |Order { pieces }: Order| Json(Ordered { pieces }))
}

/// Calls a tool with arguments that do not fit it, and acts on the error.
pub(crate) async fn structured() -> Shown {
    let stage = Stage::new(server(), json!({})).await?;
    let client = stage.client(ExtensionId::StructuredErrors).await?;
    let refused = client.call_tool("shop.order", json!({"pieces": "two"})).await;
    let error = refused.err().ok_or("the tool took text for a number")?;
    let data: Value = error.data().map(mgp_types::RawJson::to).transpose()?.unwrap_or_default();
    Ok(vec![format!("{} ({}): {}", data["code"], data["category"], data["message"])])
}

/// Asks whether arguments fit a tool, and calls nothing.
pub(crate) async fn registry() -> Shown {
    let stage = Stage::new(server(), json!({})).await?;
    let client = stage.client(ExtensionId::ToolRegistry).await?;
    let wanted = json!({"name": "shop.order", "arguments": {"pieces": 11}});
    let verdict: Value = client.request("tools/validate", wanted).await?.to()?;
    let errors = verdict["errors"].as_array().into_iter().flatten();
    let mut lines = vec![format!("valid: {}", verdict["valid"])];
    lines.extend(errors.map(|error| format!("{}: {}", error["path"], error["reason"])));
    Ok(lines)
}
