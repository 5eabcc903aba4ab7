//! `mgp config`: checks and shows the configuration, its JSON Schema and its reference.

use std::io::Write as _;

use clap::Subcommand;
use serde_json::json;

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
    let files: Vec<_> = configured.files.iter().map(|file| file.display().to_string()).collect();
    let (state, socket) = (configured.state.display().to_string(), configured.socket.display().to_string());
    let (servers, warnings) = (configured.config.servers.len(), configured.warnings);
    let mut checked = json!({ "files": files, "warnings": warnings });
    if let Some(untrusted) = configured.untrusted {
        checked["untrusted"] = untrusted.into();
    }
    (checked["servers"], checked["state"], checked["socket"]) = (json!(servers), json!(state), json!(socket));
    cx.output.show(&checked, |_, out| {
        for file in &files {
            writeln!(out, "file    {file}")?;
        }
        if files.is_empty() {
            writeln!(out, "there is no configuration; `mgp add NAME -- COMMAND` writes one")?;
        }
        for warning in &warnings {
            writeln!(out, "{}", warning.trim_end())?;
        }
        writeln!(out, "servers {}", servers)?;
        writeln!(out, "state   {}", state)?;
        writeln!(out, "socket  {}", socket)
    })
}
