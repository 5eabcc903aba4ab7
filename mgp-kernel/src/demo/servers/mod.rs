//! The servers of the demo. Each is a process of its own: this program, with the name of the server.

mod files;
mod office;
mod shell;

use std::path::PathBuf;

use anyhow::bail;
use mgp_server_sdk::ToolError;

/// The ids of the servers, with their descriptions.
pub(super) const ALL: [(&str, &str); 3] = [
    ("files", "Files of one folder"),
    ("office", "Mail, appointments and issues"),
    ("shell", "Commands and scripts"),
];

/// Serves the server of this name on standard input and output, until the client is gone.
///
/// # Errors
/// Fails if there is no such server, or if the connection broke.
pub(super) async fn serve(name: &str) -> anyhow::Result<()> {
    let server = match name {
        "files" => files::server(),
        "office" => office::server()?,
        "shell" => shell::server(),
        _ => bail!("there is no server `{name}`; there are {}", ALL.map(|(name, _)| name).join(", ")),
    };
    Ok(server.serve_stdio().await?)
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
        let servers = [files::server(), office::server().unwrap(), shell::server()];
        let tools: usize = servers.iter().map(|server| server.tools().len()).sum();
        // So many are worth a search, whatever the budget.
        assert!(tools >= 35, "only {tools} tools");
    }
}
