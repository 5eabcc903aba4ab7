use std::io::Write as _;

use clap::Subcommand;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::link::{Link, Need};
use super::output::Output;
use super::place::Place;
use crate::operator::config::ShownConfig;
use crate::operator::method;

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Look whether the configuration is right
    Check,
    /// Show what the kernel runs with, without secrets
    Show,
    /// Print the JSON Schema of mgp.toml, for editors
    Schema,
}

/// What was read.
#[derive(Debug, Serialize)]
struct Checked {
    file: Option<String>,
    servers: usize,
    state: String,
    socket: String,
}

pub(super) async fn run(place: &Place, output: &Output, command: ConfigCommand) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Check => check(place, output),
        ConfigCommand::Show => show(place, output).await,
        ConfigCommand::Schema => schema(output),
    }
}

fn check(place: &Place, output: &Output) -> Result<Exit, Failure> {
    let configured = place.read()?;
    let checked = Checked {
        file: configured.file.map(|file| file.display().to_string()),
        servers: configured.config.servers.len(),
        state: configured.state.display().to_string(),
        socket: configured.socket.display().to_string(),
    };
    output.show(&checked, |checked, out| {
        match &checked.file {
            Some(file) => writeln!(out, "{file}: {} servers", checked.servers)?,
            None => writeln!(out, "there is no configuration; `mgp add NAME -- COMMAND` writes one")?,
        }
        writeln!(out, "state   {}", checked.state)?;
        writeln!(out, "socket  {}", checked.socket)
    })?;
    Ok(Exit::Done)
}

async fn show(place: &Place, output: &Output) -> Result<Exit, Failure> {
    let link = Link::open(place, Need::Configured).await?;
    let shown: Result<ShownConfig, Failure> = link.ask(method::CONFIG_SHOW, &()).await;
    link.close().await;
    output.show(&shown?, |shown, out| {
        serde_json::to_writer_pretty(&mut *out, &shown.config)?;
        writeln!(out)
    })?;
    Ok(Exit::Done)
}

fn schema(output: &Output) -> Result<Exit, Failure> {
    let schema = schemars::schema_for!(mgp_discovery::Config);
    output.show(&schema, |schema, out| {
        serde_json::to_writer_pretty(&mut *out, schema)?;
        writeln!(out)
    })?;
    Ok(Exit::Done)
}
