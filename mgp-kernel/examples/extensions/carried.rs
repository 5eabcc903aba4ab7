//! What clients carry for servers: the state of a conversation, places to go on from, confirmations, and references.

use std::time::Duration;

use mgp_client_sdk::{Client, ConfirmationPrompt, SessionStates, StreamPart};
use mgp_server_sdk::mcp::ContentBlock;
use mgp_server_sdk::mgp::{Extension, ExtensionSet, Offer};
use mgp_server_sdk::{Cx, Object, ReferenceStore, Server, Tool, ToolError};
use mgp_types::RawJson;
use mgp_types::ext::{ExtensionId, Impact, ToolDeclaration};
use serde_json::{Value, json};

use crate::stage::Shown;

async fn next_page(cx: Cx) -> Result<String, ToolError> {
    let page = cx.session_state::<u32>()?.map_or(1, |last| last + 1);
    cx.set_session_state(&page)?;
    Ok(format!("page {page}"))
}

/// Makes two calls of a conversation, whose state the client carries.
pub(crate) async fn state() -> Shown {
    let server = Server::new("docs", "1.0.0")
        .session_state(Duration::from_mins(30))
        .tool(Tool::new("next_page", "Returns the next page."), next_page);
    let client = Client::builder("example", "1.0.0").session_state().in_process(server.accept()?).await?;
    let chat = SessionStates::new().conversation("docs", "chat-7");
    let mut lines = Vec::new();
    for _ in 0..2 {
        let reply = client.call_tool("next_page", ()).within(&chat).await?;
        lines.push(reply.result.content[0].as_text().unwrap_or_default().to_owned());
    }
    Ok(lines)
}

async fn export(cx: Cx) -> Result<String, ToolError> {
    for row in cx.resumed_from::<u32>()?.unwrap_or(0)..4 {
        cx.stream_with_checkpoint(format!("row {row}"), &(row + 1)).await?;
    }
    Ok("done".into())
}

/// Gives a call up after two parts, and goes on with another one.
pub(crate) async fn checkpoints() -> Shown {
    let declared = ToolDeclaration { supports_checkpoint: true, ..ToolDeclaration::default() };
    let server = Server::new("exports", "1.0.0")
        .tool(Tool::new("export", "Exports rows.").declare(declared), export)
        .streaming();
    let mut offer = Offer::new(ExtensionSet::new());
    offer.extensions.insert(Extension::Streaming);
    let builder = Client::builder("example", "1.0.0").mgp(offer);
    let builder = builder.extension(ExtensionId::Streaming.id(), &Object::new());
    let client = builder.in_process(server.accept()?).await?;
    let mut lines = Vec::new();
    let mut first = client.call_tool("export", ()).stream()?;
    while lines.len() < 2 {
        let Some(StreamPart::Chunk(chunk)) = first.next().await else {
            return Err("a part is missing".into());
        };
        lines.push(chunk.content.as_text().unwrap_or_default().to_owned());
    }
    let place = first.checkpoint().cloned();
    drop(first);
    let mut second = client.call_tool("export", ()).resume(place.as_ref()).stream()?;
    while let Some(StreamPart::Chunk(chunk)) = second.next().await {
        lines.push(format!("{}, after the break", chunk.content.as_text().unwrap_or_default()));
    }
    lines.push(second.finish().await?.content[0].as_text().unwrap_or_default().to_owned());
    Ok(lines)
}

/// Has a person agree to a call.
pub(crate) async fn confirmations() -> Shown {
    let delete = Tool::new("delete", "Deletes a repository.").confirm("Delete {repo}?", Impact::Destructive);
    let server = Server::new("forge", "1.0.0").tool(delete, async |_: Object| "deleted");
    let client = Client::builder("example", "1.0.0").confirmations().in_process(server.accept()?).await?;
    let tools = client.list_tools().await?;
    let mut lines = Vec::new();
    let person = |prompt: ConfirmationPrompt| {
        lines.push(format!("{} yes", prompt.message));
        std::future::ready(true)
    };
    let result = client.call_confirmed(&tools[0], json!({"repo": "web"}), person).await?;
    lines.push(result.content[0].as_text().unwrap_or_default().to_owned());
    Ok(lines)
}

async fn rows(cx: Cx) -> Result<ContentBlock, ToolError> {
    let rows = "1,one\n2,two\n";
    if cx.wants_reference() {
        return Ok(cx.refer_to(rows, "text/csv").await?);
    }
    Ok(ContentBlock::text(rows))
}

/// Asks for a reference in place of the data.
pub(crate) async fn references() -> Shown {
    let store = ReferenceStore::new("warehouse", "https://warehouse.example/data")?;
    let server =
        Server::new("warehouse", "1.0.0").references(&store).tool(Tool::new("rows", "Exports rows."), rows);
    let builder = Client::builder("example", "1.0.0");
    let builder = builder.extension(ExtensionId::DataReferences.id(), &Object::new());
    let client = builder.in_process(server.accept()?).await?;
    let call = client.call_tool("rows", ()).meta("return_reference", RawJson::parse("true")?);
    let link = serde_json::to_value(&call.await?.content[0])?;
    let reference: &Value = &link["_meta"]["data_reference"];
    Ok(vec![format!(
        "{} bytes of {}, {} {}",
        reference["size_bytes"],
        reference["mime_type"],
        reference["checksum"]["algorithm"],
        reference["checksum"]["value"].as_str().unwrap_or_default().get(..8).unwrap_or_default(),
    )])
}
