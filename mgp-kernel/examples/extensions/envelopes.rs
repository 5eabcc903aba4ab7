//! Tools called in envelopes.

use mgp_server_sdk::{Json, Server, Tool, schemars};
use mgp_types::Object;
use mgp_types::ext::{DottedName, EnvelopeClient, ExtensionId, ToolCall};
use serde_json::json;

use crate::stage::{Shown, Stage, line};

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Price {
    cents: u32,
}

/// Calls a tool that there is, and one that there is not.
pub(crate) async fn envelopes() -> Shown {
    let server = Server::new("shop", "1.0.0")
        .tool(Tool::new("price", "Tells a price."), async |_: mgp_server_sdk::Object| {
            Json(Price { cents: 250 })
        });
    let stage = Stage::new(server, json!({})).await?;
    let client = stage.client(ExtensionId::Envelopes).await?;
    let mut envelopes = EnvelopeClient::new(client.get_ref().clone(), "kernel").await?;
    let mut lines = Vec::new();
    for name in ["shop.price", "shop.gift"] {
        let tool_name = DottedName::read(name).ok_or("the name has no dot")?;
        let result = envelopes.call(&ToolCall::new(tool_name, Object::new())).await;
        lines.push(line(&result.to_raw()));
    }
    Ok(lines)
}
