//! Scopes of tools: what an agent has, asked before a call, and a session with fewer of them.

use mgp_server_sdk::{Object, Server, Tool};
use mgp_types::RawJson;
use mgp_types::ext::ExtensionId;
use serde_json::{Value, json};

use crate::stage::{Shown, Stage};

/// Opens a session, asks before a call, and calls within the session.
pub(crate) async fn scopes() -> Shown {
    let server = Server::new("shop", "1.0.0")
        .tool(Tool::new("order", "Orders pieces."), async |_: Object| "ordered")
        .tool(Tool::new("price", "Tells a price.").read_only(), async |_: Object| "2.50");
    let config = json!({
        "agents": [{"id": "painter", "scopes": ["read:shop", "write:shop"]}],
        "tool_rules": {
            "order": {"required_scopes": ["write:shop"]},
            "price": {"required_scopes": ["read:shop"]},
        },
    });
    let stage = Stage::new(server, config).await?;
    let client = stage.client(ExtensionId::ScopedAuth).await?;
    let wanted = json!({"requested_scopes": ["read:shop", "temp:30min"]});
    let given: Value = client.request("mgp/permission/negotiate", wanted).await?.to()?;
    let token = RawJson::from_value(&given["session"]["token"])?;
    let asked = client.request("mgp/permission/check", json!({"tool": "shop.order"}));
    let check: Value = asked.meta("session_token", token.clone()).await?.to()?;
    let mut lines = vec![
        format!("granted: {}", given["granted_scopes"]),
        format!("shop.order: allowed: {}, missing: {}", check["allowed"], check["missing_scopes"]),
    ];
    for tool in ["shop.price", "shop.order"] {
        let called = client.call_tool(tool, json!({})).meta("session_token", token.clone()).await;
        lines.push(match called {
            Ok(result) => format!("{tool}: {}", result.content[0].as_text().unwrap_or_default()),
            Err(error) => format!("{tool}: {}: {}", error.code(), error.message()),
        });
    }
    Ok(lines)
}
