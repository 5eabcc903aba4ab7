//! The servers of the demo. Each is a process of its own: this program, with the name of the server.
//!
//! Most tools stand in a file, each with the one answer that it always gives: the demo and the figures of its tools need
//! definitions like those of real servers. Only the tools by whose work a step shows something have no answer there.

use std::fs;
use std::future::ready;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use mgp_server_sdk::{Server, Tool, ToolError};
use mgp_types::RawJson;
use mgp_types::mgp::{ExtensionSet, Offer, Permission, ToolSecurity};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::process::Command;
use tokio::time::timeout;

/// The ids of the servers.
pub(super) const ALL: [&str; 3] = ["files", "office", "shell"];

/// Serves the server of this name on standard input and output, until the client is gone.
///
/// # Errors
/// Fails if there is no such server, or if the connection broke.
pub(super) async fn serve(name: &str) -> anyhow::Result<()> {
    let server = match name {
        "files" => files()?,
        "office" => office()?,
        "shell" => shell()?,
        _ => bail!("there is no server `{name}`; there are {}", ALL.join(", ")),
    };
    Ok(server.serve_stdio().await?)
}

/// A tool, with its one answer or none.
#[derive(Debug, Deserialize)]
struct ScriptedTool {
    name: String,
    description: String,
    schema: RawJson,
    #[serde(default)]
    read_only: bool,
    security: Option<ToolSecurity>,
    answer: Option<String>,
}

/// Returns a server that needs `permissions`, with the tools of a file; those without an answer, which it knows by their
/// names, are added by `add`.
fn scripted(
    name: &str,
    permissions: &[Permission],
    tools: &str,
    add: impl Fn(Server, Tool, &str) -> Server,
) -> anyhow::Result<Server> {
    let offer = Offer::new(ExtensionSet::from_names(["security"]));
    let offer = offer.with_permissions_required(permissions.iter().map(Permission::as_str));
    let server = Server::new(name, "1.0.0").mgp(offer);
    let tools: Vec<ScriptedTool> = serde_json::from_str(tools).context("the tools of the server")?;
    Ok(tools.into_iter().fold(server, |server, scripted| {
        let ScriptedTool { name, description, schema, read_only, security, answer } = scripted;
        let tool = Tool::with_schema(&*name, description, schema);
        let tool = if read_only { tool.read_only() } else { tool };
        let tool = security.iter().fold(tool, Tool::security);
        match answer {
            Some(answer) => server.tool(tool, move |_: RawJson| ready(answer.clone())),
            None => add(server, tool, &name),
        }
    }))
}

/// Returns the working directory, in which the servers work.
fn here() -> Result<PathBuf, ToolError> {
    Ok(std::env::current_dir()?)
}

#[derive(Deserialize, JsonSchema)]
struct FilePath {
    /// The file, as a path within the folder.
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct Write {
    /// The file, as a path within the folder.
    path: String,
    /// What will stand in it.
    content: String,
}

/// Returns a server of the files of the working directory. The kernel checks paths before they come here; this checks them
/// again.
fn files() -> anyhow::Result<Server> {
    let permissions = [Permission::FilesystemRead, Permission::FilesystemWrite];
    scripted("files", &permissions, include_str!("files.json"), |server, tool, name| match name {
        "read_file" => server.tool(tool, async |FilePath { path }: FilePath| read(&here()?, &path)),
        _ => server.tool(tool, async |Write { path, content }: Write| write(&here()?, &path, &content)),
    })
}

fn file(folder: &Path, path: &str) -> Result<PathBuf, ToolError> {
    let path = Path::new(path);
    let within = path.strip_prefix(folder).unwrap_or(path);
    if within.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(ToolError::new("the path leaves the folder"));
    }
    Ok(folder.join(within))
}

fn read(folder: &Path, path: &str) -> Result<String, ToolError> {
    let file = file(folder, path)?;
    if fs::metadata(&file)?.len() > LONGEST_FILE {
        return Err(ToolError::new("the file is too long"));
    }
    Ok(fs::read_to_string(file)?)
}

fn write(folder: &Path, path: &str, content: &str) -> Result<String, ToolError> {
    fs::write(file(folder, path)?, content)?;
    Ok(format!("{} bytes written", content.len()))
}

/// The largest length in bytes of a file that is read.
const LONGEST_FILE: u64 = 1024 * 1024;

/// Returns the office: a mailbox, a calendar, notes and an issue tracker, in a process that crashes on demand.
fn office() -> anyhow::Result<Server> {
    let counted = AtomicU64::new(0);
    Ok(scripted("office", &[], include_str!("office.json"), |server, _, _| server)?
        .tool(Tool::new("count", "Counts the calls since the server started."), move || {
            ready(counted.fetch_add(1, Ordering::Relaxed) + 1)
        })
        .tool(
            Tool::new("crash", "Shows a crash: the server's process ends at once, in error."),
            async || -> () {
                // All that runs in this process ends with it: that is what a crash is.
                std::process::abort()
            },
        ))
}

#[derive(Deserialize, JsonSchema)]
struct CommandLine {
    /// A program and its arguments, separated by spaces.
    command: String,
}

/// Returns a server that runs commands in the working directory, and declares itself as dangerous as any shell. In
/// truth it runs only commands that change nothing, so that the demo is safe on any machine, whatever the kernel lets
/// through.
fn shell() -> anyhow::Result<Server> {
    scripted("shell", &[Permission::ShellExecute], include_str!("shell.json"), |server, tool, _| {
        server.tool(tool, async |CommandLine { command }: CommandLine| run(&here()?, &command).await)
    })
}

async fn run(folder: &Path, command: &str) -> Result<String, ToolError> {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    if !HARMLESS.contains(&program) {
        return Err(ToolError::new(format!("this shell has only {}", HARMLESS.join(", "))));
    }
    // Built in, as in any shell: the demo needs it, and runs where there are no other programs.
    if program == "echo" {
        return Ok(words.collect::<Vec<_>>().join(" ") + "\n");
    }
    let mut child = Command::new(program);
    child.args(words).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(PATIENCE, child.output()).await;
    let output = output.map_err(|_| ToolError::new("the command takes too long"))??;
    if !output.status.success() {
        return Err(ToolError::new(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Programs that change nothing, whatever they are given.
const HARMLESS: [&str; 4] = ["echo", "ls", "pwd", "wc"];
const PATIENCE: Duration = Duration::from_secs(5);

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
        let servers = [files(), office(), shell()].map(Result::unwrap);
        let tools: usize = servers.iter().map(|server| server.tools().len()).sum();
        // So many are worth a search, whatever the budget.
        assert!(tools >= 35, "only {tools} tools");
    }

    #[test]
    fn files_are_written_and_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        write(folder, "a.txt", "one\ntwo\n").unwrap();
        assert_eq!(read(folder, "./a.txt").unwrap(), "one\ntwo\n");
        assert_eq!(read(folder, place.path().join("a.txt").to_str().unwrap()).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn no_path_leaves_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        for path in ["../x", "/etc/passwd", "a/../../x"] {
            assert!(file(folder, path).is_err(), "{path}");
        }
    }

    #[tokio::test]
    async fn echo_needs_no_program_of_the_system() {
        let nowhere = Path::new("/nowhere");
        assert_eq!(run(nowhere, "echo  hello you").await.unwrap(), "hello you\n");
        assert!(run(nowhere, "ls").await.is_err());
    }

    #[tokio::test]
    async fn only_harmless_commands_are_run() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(run(place.path(), "ls").await.unwrap(), "");
        for command in ["rm -rf /", "", "sh -c ls", "/bin/ls"] {
            assert!(run(place.path(), command).await.is_err(), "{command}");
        }
    }
}
