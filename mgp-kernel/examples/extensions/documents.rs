//! Documents about a kernel: its manifest, and the servers that it recommends.

use mgp_server_sdk::{Object, Server, Tool};
use mgp_types::ext::{Cost, ExtensionId, ToolDeclaration};
use serde_json::{Value, json};

use crate::stage::{Shown, Stage};

fn server() -> Server {
    let declared =
        ToolDeclaration { cost: Some(Cost::metered(4.0, "credits")), ..ToolDeclaration::default() };
    let render = Tool::new("render_image", "Renders an image of a scene.").declare(declared);
    Server::new("shop", "1.0.0").hints().tool(render, async |_: Object| "done")
}

/// Reads what a manifest says of tools and limits.
pub(crate) async fn manifest() -> Shown {
    let stage = Stage::new(server(), json!({"limits": {"agent_calls_per_minute": 60}})).await?;
    let client = stage.client(ExtensionId::ServiceManifest).await?;
    let manifest: Value = client.request("mgp/manifest/get", ()).await?.to()?;
    let tools = manifest["tools"].as_array().into_iter().flatten();
    let mut lines: Vec<_> = tools.map(|tool| format!("{}: {}", tool["name"], tool["cost"])).collect();
    lines.push(format!("{} requests per minute", manifest["rate_limits"]["requests_per_minute"]));
    Ok(lines)
}

/// Asks for servers with a capability.
pub(crate) async fn recommendations() -> Shown {
    let stage = Stage::new(server(), json!({})).await?;
    let client = stage.client(ExtensionId::ServerRecommendations).await?;
    let wanted = json!({"capability_needed": "render_image"});
    let recommended = loop {
        let answer: Value = client.request("mgp/discovery/recommend", &wanted).await?.to()?;
        match answer["recommendations"].as_array() {
            Some(servers) if !servers.is_empty() => break servers.clone(),
            // Tools are found a moment after they are listed.
            _ => tokio::task::yield_now().await,
        }
    };
    let lines =
        recommended.iter().map(|found| format!("{}: {}", found["server_name"], found["match_confidence"]));
    Ok(lines.collect())
}
