//! The servers of the demo. Each is a process of its own: this program, with the name of the server.
//!
//! Most tools stand in a file, each with the one answer that it always gives: the demo and the figures of its tools need
//! definitions like those of real servers. Only the tools by whose work a step shows something have no answer there.

mod files;
mod office;
mod shell;

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use mgp_server_sdk::{Server, Tool, ToolError};
use mgp_types::RawJson;
use mgp_types::mgp::ToolSecurity;

/// The ids of the servers.
pub(super) const ALL: [&str; 3] = ["files", "office", "shell"];

/// Serves the server of this name on standard input and output, until the client is gone.
///
/// # Errors
/// Fails if there is no such server, or if the connection broke.
pub(super) async fn serve(name: &str) -> anyhow::Result<()> {
    let server = match name {
        "files" => files::server()?,
        "office" => office::server()?,
        "shell" => shell::server()?,
        _ => bail!("there is no server `{name}`; there are {}", ALL.join(", ")),
    };
    Ok(server.serve_stdio().await?)
}

/// A tool, with its one answer or none.
#[derive(Debug, serde::Deserialize)]
struct ScriptedTool {
    name: String,
    description: String,
    schema: RawJson,
    #[serde(default)]
    read_only: bool,
    security: Option<ToolSecurity>,
    answer: Option<String>,
}

/// Adds the tools of a file to a server, by `add` those without an answer, which it knows by their names.
fn scripted(
    server: Server,
    tools: &str,
    add: impl Fn(Server, Tool, &str) -> Server,
) -> anyhow::Result<Server> {
    let tools: Vec<ScriptedTool> = serde_json::from_str(tools).context("the tools of the server")?;
    Ok(tools.into_iter().fold(server, |server, scripted| {
        let ScriptedTool { name, description, schema, read_only, security, answer } = scripted;
        let mut tool = Tool::with_schema(&*name, description, schema);
        if read_only {
            tool = tool.read_only();
        }
        if let Some(security) = &security {
            tool = tool.security(security);
        }
        match answer {
            Some(answer) => server.tool(tool, move |_: RawJson| std::future::ready(answer.clone())),
            None => add(server, tool, &name),
        }
    }))
}

/// Returns the working directory, in which the servers work.
fn here() -> Result<PathBuf, ToolError> {
    Ok(std::env::current_dir()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_unknown_server_is_told_with_those_that_there_are() {
        let error = serve("nobody").await.unwrap_err().to_string();
        assert!(error.contains("`nobody`") && error.contains("files, office, shell"), "{error}");
    }

    #[test]
    fn there_are_more_tools_than_anybody_wants_in_a_prompt() {
        let servers = [files::server(), office::server(), shell::server()].map(Result::unwrap);
        let tools: usize = servers.iter().map(|server| server.tools().len()).sum();
        // So many are worth a search, whatever the budget.
        assert!(tools >= 35, "only {tools} tools");
    }
}
