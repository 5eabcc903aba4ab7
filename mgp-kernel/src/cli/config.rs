//! `mgp config`: checks and shows the configuration, its JSON Schema and its reference.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use serde::Serialize;

use super::context::CommandContext;
use super::link::operate;
use crate::admin::config::ShowConfig;
use crate::terminal::{Exit, Failure};
use crate::{settings, telemetry};

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Check the configuration without starting anything
    Check,
    /// Print the configuration that the kernel uses, without secrets
    Show(ShowConfig),
    /// Print the JSON Schema of mgp.toml, for editors
    Schema,
    /// Print the reference of mgp.toml in Markdown
    Reference,
}

/// The result of `mgp config check`.
#[derive(Debug, Serialize)]
struct CheckedConfig {
    files: Vec<PathBuf>,
    /// Warnings about values that are probably mistakes.
    warnings: Vec<String>,
    /// The message that the folder's `mgp.toml` is not trusted and therefore not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    untrusted: Option<String>,
    servers: usize,
    state: String,
    socket: String,
}

pub(super) async fn run(cx: &CommandContext, command: ConfigCommand) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Check => check(cx),
        ConfigCommand::Show(show) => operate(cx, show).await,
        ConfigCommand::Schema => {
            cx.output.write(mgp_discovery::config::schema().as_bytes())?;
            Ok(Exit::Done)
        }
        ConfigCommand::Reference => {
            cx.output.write(mgp_discovery::config::reference().as_bytes())?;
            Ok(Exit::Done)
        }
    }
}

fn check(cx: &CommandContext) -> Result<Exit, Failure> {
    let configured = cx.read()?;
    for server in &configured.config.servers {
        drop(settings::network_policy(&configured.config, server)?);
    }
    telemetry::check(&configured.config.telemetry)?;
    let checked = CheckedConfig {
        files: configured.files,
        warnings: configured.warnings,
        untrusted: configured.untrusted,
        servers: configured.config.servers.len(),
        state: configured.state.display().to_string(),
        socket: configured.socket.display().to_string(),
    };
    cx.output.show(&checked, |checked, out| {
        for file in &checked.files {
            writeln!(out, "file    {}", file.display())?;
        }
        if checked.files.is_empty() {
            writeln!(out, "there is no configuration; `mgp add NAME -- COMMAND` writes one")?;
        }
        for warning in &checked.warnings {
            writeln!(out, "{}", warning.trim_end())?;
        }
        writeln!(out, "servers {}", checked.servers)?;
        writeln!(out, "state   {}", checked.state)?;
        writeln!(out, "socket  {}", checked.socket)
    })
}
