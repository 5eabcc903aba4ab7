//! The demo's office: a mailbox, a calendar, notes and an issue tracker, in a process that crashes on demand. All tools but the two
//! that show the crash stand in `office.json`, each with the one answer that it always gives: the demo and the figures of its tools
//! need definitions like those of real servers, and nothing that they do.

use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;
use mgp_server_sdk::{Server, Tool};
use mgp_types::RawJson;
use mgp_types::mgp::{ExtensionSet, Offer, ToolSecurity};

/// A tool with its one answer.
#[derive(Debug, serde::Deserialize)]
struct ScriptedTool {
    name: String,
    description: String,
    schema: RawJson,
    #[serde(default)]
    read_only: bool,
    security: Option<ToolSecurity>,
    answer: String,
}

pub(super) fn server() -> anyhow::Result<Server> {
    let script: Vec<ScriptedTool> =
        serde_json::from_str(include_str!("office.json")).context("the tools of the office")?;
    let mut server = Server::new("office", "1.0.0").mgp(Offer::new(ExtensionSet::from_names(["security"])));
    for ScriptedTool { name, description, schema, read_only, security, answer } in script {
        let mut tool = Tool::with_schema(name, description, schema);
        if read_only {
            tool = tool.read_only();
        }
        if let Some(security) = &security {
            tool = tool.security(security);
        }
        server = server.tool(tool, move |_: RawJson| ready(answer.clone()));
    }
    let counted = AtomicU64::new(0);
    Ok(server
        .tool(Tool::new("count", "Counts the calls since the server started."), move || {
            ready(counted.fetch_add(1, Ordering::Relaxed) + 1)
        })
        .tool(Tool::new("crash", "Ends the server's process at once, in error."), async || -> () {
            // All that runs in this process ends with it: that is what a crash is.
            std::process::abort()
        }))
}
