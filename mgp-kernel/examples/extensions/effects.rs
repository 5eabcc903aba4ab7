//! Effects that happen once, and effects that are taken back.

use mgp_client_sdk::Client;
use mgp_lifecycle::idempotency::IdempotencyBook;
use mgp_lifecycle::transaction::TransactionBook;
use mgp_server_sdk::{Cx, Object, RawJson, Server, Tool, ToolError};
use mgp_types::ext::ExtensionId;
use serde_json::{Value, json};

use crate::stage::Shown;

/// Makes a call twice with one key.
pub(crate) async fn idempotency() -> Shown {
    let paid = std::sync::atomic::AtomicU32::new(0);
    let server = Server::new("bank", "1.0.0").idempotency(&IdempotencyBook::in_memory()).tool(
        Tool::new("pay", "Pays."),
        move |_: Object| {
            let times = paid.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
            async move { format!("payment {times}") }
        },
    );
    let builder = Client::builder("example", "1.0.0");
    let builder = builder.extension(ExtensionId::Idempotency.id(), &Object::new());
    let client = builder.in_process(server.accept()?).await?;
    let mut lines = Vec::new();
    for _ in 0..2 {
        let call = client.call_tool("pay", json!({"euro": 5}));
        let result = call.meta("idempotency_key", RawJson::from_text("order-7")).await?;
        let meta: Value = result.meta.as_ref().map(serde_json::to_value).transpose()?.unwrap_or_default();
        let text = result.content[0].as_text().unwrap_or_default();
        lines.push(format!("{text}, told again: {}", meta["was_replay"]));
    }
    Ok(lines)
}

async fn create(arguments: Object, cx: Cx) -> Result<String, ToolError> {
    if arguments.text("title").as_deref() == Some("impossible") {
        return Err(ToolError::new("there is no such project"));
    }
    cx.undo_with(arguments);
    Ok("created".into())
}

/// Makes two steps of a transaction, fails at the third, and has the two taken back.
pub(crate) async fn transactions() -> Shown {
    let server = Server::new("tracker", "1.0.0")
        .transactions(&TransactionBook::in_memory(), &IdempotencyBook::in_memory())
        .tool(Tool::new("create", "Creates a ticket.").undone_by("delete"), create)
        .tool(Tool::new("delete", "Deletes a ticket."), async |_: Object| "deleted");
    let builder = Client::builder("example", "1.0.0");
    let builder = builder.extension(ExtensionId::Transactions.id(), &Object::new());
    let builder = builder.extension(ExtensionId::Idempotency.id(), &Object::new());
    let client = builder.in_process(server.accept()?).await?;
    let of = json!({"transaction_id": "tx-1"});
    client.request("transaction/begin", &of).await?;
    let mut lines = Vec::new();
    for title in ["a", "b", "impossible"] {
        let call = client.call_tool("create", json!({"title": title}));
        let result = call.meta("transaction_id", RawJson::from_text("tx-1")).await?;
        lines.push(format!("{title}: {}", result.content[0].as_text().unwrap_or_default()));
    }
    let report: Value = client.request("transaction/rollback", &of).await?.to()?;
    let steps = report["steps_compensated"].as_array().into_iter().flatten();
    lines.push(format!("{}, {} steps", report["status"], steps.count()));
    Ok(lines)
}
