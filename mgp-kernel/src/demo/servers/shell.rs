//! The demo's shell server.

use std::path::Path;
use std::time::Duration;

use mgp_server_sdk::{Server, ToolError};
use mgp_types::mgp::{ExtensionSet, Offer, Permission};
use tokio::process::Command;

use super::{here, scripted};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct CommandLine {
    /// A program and its arguments, separated by spaces.
    command: String,
}

/// Returns a server that runs commands in the working directory, and declares itself as dangerous as any shell. In
/// truth it runs only commands that change nothing, so that the demo is safe on any machine, whatever the kernel lets
/// through.
pub(super) fn server() -> anyhow::Result<Server> {
    let offer = Offer::new(ExtensionSet::from_names(["security"]))
        .with_permissions_required([Permission::ShellExecute.as_str()]);
    let server = Server::new("shell", "1.0.0").mgp(offer);
    scripted(server, include_str!("shell.json"), |server, tool, _| {
        server.tool(tool, async |CommandLine { command }: CommandLine| run(&here()?, &command).await)
    })
}

async fn run(folder: &Path, command: &str) -> Result<String, ToolError> {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    if !HARMLESS.contains(&program) {
        return Err(ToolError::new(format!("this shell has only {}", HARMLESS.join(", "))));
    }
    let mut child = Command::new(program);
    child.args(words).current_dir(folder).stdin(std::process::Stdio::null()).kill_on_drop(true);
    let Ok(output) = tokio::time::timeout(PATIENCE, child.output()).await else {
        return Err(ToolError::new("the command takes too long"));
    };
    let output = output?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(ToolError::new(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// Programs that change nothing, whatever they are given.
const HARMLESS: [&str; 4] = ["echo", "ls", "pwd", "wc"];
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_harmless_commands_are_run() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(run(place.path(), "echo hello").await.unwrap(), "hello\n");
        for command in ["rm -rf /", "", "sh -c ls", "/bin/ls"] {
            assert!(run(place.path(), command).await.is_err(), "{command}");
        }
    }
}
