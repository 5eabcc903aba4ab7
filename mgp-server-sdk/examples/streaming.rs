//! A server whose tool streams, tells events, asks before it deletes, and stops gently when it is told to.

use std::time::Duration;

use mgp_server_sdk::types::Object;
use mgp_server_sdk::types::mgp::EventSeverity;
use mgp_server_sdk::{
    Callback, Confirmation, Cx, Error, Publisher, Server, ServerLifecycle, Tool, ToolError, schemars,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Count {
    /// How far to count.
    to: u32,
}

/// Streams each number as it is reached. What was streamed is the result.
async fn count(Count { to }: Count, cx: Cx) -> Result<(), ToolError> {
    let events = cx.state::<Publisher>()?.clone();
    for number in 1..=to {
        cx.stream(format!("{number} ")).await?;
        cx.progress(f64::from(number), Some(f64::from(to)), None).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let data = Object::from_value(&serde_json::json!({ "to": to }))?;
    events.publish("tool.counted", EventSeverity::Info, &data)?;
    Ok(())
}

/// Asks first, in the client's own way.
async fn delete(cx: Cx) -> Result<&'static str, ToolError> {
    let question = Callback::confirmation("This operation will delete 15 files. Continue?");
    match cx.callback("delete", question).await? {
        Confirmation::Confirmed => Ok("deleted"),
        _ => Ok("nothing was deleted"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let events = Publisher::new(["tool.counted"])?;
    let life = ServerLifecycle::new("demo.counter".into());
    life.check("clock_works", async || true);
    Server::new("counter", "1.0.0")
        .state(events.clone())
        .tool(Tool::new("count", "Counts up, a number at a time."), count)
        .tool(Tool::new("delete", "Deletes what there is."), delete)
        .lifecycle(&life)
        .events(&events)
        .callbacks()
        .streaming()
        .serve_stdio()
        .await
}
