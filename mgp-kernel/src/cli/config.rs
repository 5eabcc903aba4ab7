//! `mgp config` and `mgp init`: check, show and begin the configuration, and print its JSON Schema and its reference.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use clap::Subcommand;
use mgp_discovery::clients::FileState;
use mgp_kernel_core::admin::config::ShowConfig;
use mgp_kernel_core::platform::private_file_options;
use mgp_kernel_core::settings;
use mgp_kernel_core::terminal::{Exit, Failure, Result};
use serde_json::json;

use super::clients::ClientLocations;
use super::context::CommandContext;
use super::link::operate;

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

pub(super) async fn run(cx: &CommandContext, command: ConfigCommand) -> Result {
    match command {
        ConfigCommand::Check => check(cx),
        ConfigCommand::Show(show) => operate(cx, show).await,
        ConfigCommand::Schema => cx.output.print(mgp_discovery::config::schema().as_bytes()),
        ConfigCommand::Reference => cx.output.print(mgp_discovery::config::reference().as_bytes()),
    }
}

fn check(cx: &CommandContext) -> Result {
    let configured = cx.read_written()?;
    settings::check_parts(&configured.config)?;
    settings::embedder(&configured.config)?;
    for server in &configured.config.servers {
        drop(settings::network_policy(&configured.config, server)?);
    }
    let files: Vec<_> = configured.files.iter().map(|file| file.display().to_string()).collect();
    let (state, socket) = (configured.state.display().to_string(), configured.socket.display().to_string());
    let (servers, warnings) = (configured.config.servers.len(), configured.warnings);
    let mut checked = json!({ "files": files, "warnings": warnings });
    if let Some(untrusted) = configured.untrusted {
        checked["untrusted"] = untrusted.into();
    }
    (checked["servers"], checked["state"], checked["socket"]) = (json!(servers), json!(state), json!(socket));
    cx.output.show(&checked, |_, out| {
        files.iter().try_for_each(|file| writeln!(out, "file    {file}"))?;
        if files.is_empty() {
            writeln!(out, "there is no configuration; `mgp add NAME -- COMMAND` writes one")?;
        }
        warnings.iter().try_for_each(|warning| writeln!(out, "{}", warning.trim_end()))?;
        writeln!(out, "servers {servers}")?;
        writeln!(out, "state   {state}")?;
        writeln!(out, "socket  {socket}")
    })
}

pub(super) fn init(cx: &CommandContext, project: bool) -> Result {
    let file = cx.to_make(project)?;
    make(&file)?;
    cx.keep_trust(&file, "", TEXT)?;
    // The configuration is written already, so a failure to look for clients is ignored.
    let detected = ClientLocations::this().map(|machine| machine.detected()).unwrap_or_default();
    let clients = detected.into_iter().filter_map(|found| match found.state {
        FileState::Servers(servers) if servers > 0 => {
            Some((found.kind.name(), found.path.display().to_string(), servers))
        }
        _ => None,
    });
    let clients: Vec<_> = clients.collect();
    let found = clients
        .iter()
        .map(|(client, path, servers)| json!({ "client": client, "path": path, "servers": servers }));
    let file = file.display().to_string();
    cx.output.show(&json!({ "file": file, "clients": found.collect::<Vec<_>>() }), |_, out| {
        writeln!(out, "wrote {file}")?;
        clients
            .iter()
            .try_for_each(|(client, path, servers)| writeln!(out, "{client} has {servers} servers ({path})"))
    })?;
    cx.output.note(if clients.is_empty() {
        "`mgp add NAME -- COMMAND` adds a server"
    } else {
        "`mgp import` imports their servers, `mgp import --dry-run` shows the result"
    });
    Ok(Exit::Done)
}

/// Creates the file with access for its owner only, and fails if the file exists.
fn make(path: &Path) -> Result<()> {
    let wrong = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::usage(format!("{} already exists", path.display()))
            .hint("`mgp config check` checks the file, `mgp add` and `mgp import` add servers to it"),
        _ => Failure::usage(format!("{}: {error}", path.display())),
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(wrong)?;
    }
    let file = private_file_options().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(TEXT.as_bytes())).map_err(wrong)
}

/// The text of the first configuration, whose examples are comments.
const TEXT: &str = include_str!("init.toml");

#[cfg(test)]
mod tests {
    use mgp_discovery::Config;

    use super::*;

    #[test]
    fn what_is_proposed_is_right_once_it_is_no_comment() {
        let (config, warnings) = Config::parse("mgp.toml".as_ref(), TEXT).unwrap();
        assert!(config.servers.is_empty() && warnings.is_empty());
        let uncommented = |line: &str| match line.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => rest.to_owned(),
            _ => line.to_owned(),
        };
        let text: Vec<_> = TEXT.lines().map(uncommented).collect();
        let (config, warnings) = Config::parse("mgp.toml".as_ref(), &text.join("\n")).unwrap();
        assert_eq!(config.servers.len(), 2);
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(config.listen.http.as_deref(), Some("127.0.0.1:7332"));
    }
}
