//! Tools that report while they run, and tools that change the catalog.

use std::time::Duration;

use mgp_server_sdk::mcp::LogLevel;
use mgp_server_sdk::{Cx, Error, Prompt, Server, Tool};
use mgp_transport::http::ResponseStream;
use tokio::time::sleep;

pub(crate) fn add(server: Server) -> Server {
    server
        .tool(Tool::new("test_tool_with_logging", "Logs three messages."), with_logging)
        .tool(Tool::new("test_logging_tool", "Logs one message, if the client wants any."), logging)
        .tool(Tool::new("test_tool_with_progress", "Tells its progress three times."), with_progress)
        .tool(Tool::new("test_reconnection", "Closes the stream of its own call, and goes on."), reconnection)
        .tool(Tool::new("test_trigger_tool_change", "Adds a tool, or takes it away."), trigger_tool_change)
        .tool(
            Tool::new("test_trigger_prompt_change", "Adds a prompt, or takes it away."),
            trigger_prompt_change,
        )
}

async fn with_logging(cx: Cx) -> &'static str {
    cx.log(LogLevel::Info, None, "Tool execution started").await;
    sleep(STEP).await;
    cx.log(LogLevel::Info, None, "Tool processing data").await;
    sleep(STEP).await;
    cx.log(LogLevel::Info, None, "Tool execution completed").await;
    "Tool with logging executed successfully"
}

async fn logging(cx: Cx) -> &'static str {
    cx.log(LogLevel::Info, Some("everything"), "Log message from the tool").await;
    "Logged"
}

async fn with_progress(cx: Cx) -> &'static str {
    cx.progress(0.0, Some(100.0), Some("Started")).await;
    sleep(STEP).await;
    cx.progress(50.0, Some(100.0), Some("Half done")).await;
    sleep(STEP).await;
    cx.progress(100.0, Some(100.0), Some("Done")).await;
    "Tool with progress executed successfully"
}

async fn reconnection(cx: Cx) -> &'static str {
    if let Some(stream) = cx.extensions().get::<ResponseStream>() {
        stream.close();
    }
    sleep(2 * STEP).await;
    "Reconnection test completed successfully"
}

async fn trigger_tool_change(cx: Cx) -> Result<&'static str, Error> {
    let server = cx.server();
    if !server.remove_tool("test_dynamic_tool") {
        server.add_tool(Tool::new("test_dynamic_tool", "Comes and goes."), async || "Still here")?;
    }
    Ok("The list of tools changed")
}

async fn trigger_prompt_change(cx: Cx) -> Result<&'static str, Error> {
    let server = cx.server();
    if !server.remove_prompt("test_dynamic_prompt") {
        server.add_prompt(Prompt::new("test_dynamic_prompt", "Comes and goes."), async || "Still here")?;
    }
    Ok("The list of prompts changed")
}

const STEP: Duration = Duration::from_millis(50);
