//! `mgp add` and `mgp remove`: change the servers of the configuration.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use mgp_discovery::FileReaders;
use mgp_discovery::config::ConfigFile;
use mgp_discovery::config::model::{ServerConfig, TransportKind};
use serde::Serialize;

use super::context::{CommandContext, ConfigScope};
use super::package::{self, PackageArgs};
use crate::terminal::{Exit, Failure};

#[derive(Debug, Args)]
pub(super) struct AddServerArgs {
    /// The id of the server: letters, digits, `.`, `_` and `-`
    pub(super) name: String,
    /// The command that starts the server, with its arguments
    #[arg(last = true, value_name = "CMD", conflicts_with = "url")]
    command: Vec<String>,
    /// The URL of a server on the network
    #[arg(long, required_unless_present_any = ["command", "server_json"])]
    url: Option<String>,
    /// A variable of the server's environment; ${NAME} refers to the kernel's environment, ${secret:NAME} to `mgp
    /// secrets`
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "command")]
    env: Vec<(String, String)>,
    /// A header of requests to the server; ${NAME} and ${secret:NAME} work as in --env
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    header: Vec<(String, String)>,
    /// The transport, if not the default: stdio with a command, http with a URL
    #[arg(long, value_enum, value_name = "HOW")]
    transport: Option<TransportArg>,
    /// The purpose of the server, in one line
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,
    #[command(flatten)]
    pub(super) package: PackageArgs,
    #[command(flatten)]
    pub(super) scope: ConfigScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TransportArg {
    /// Standard input and output
    Stdio,
    /// Streamable HTTP
    Http,
    /// The older HTTP+SSE
    Sse,
}

#[derive(Debug, Args)]
pub(super) struct RemoveServerArgs {
    /// The id of the server
    name: String,
    #[command(flatten)]
    scope: ConfigScope,
}

/// The result of a change: the server, and the file that was changed.
#[derive(Debug, Serialize)]
struct ServerEdited<'a> {
    server_id: &'a str,
    file: PathBuf,
}

pub(super) fn add(cx: &CommandContext, add: AddServerArgs) -> Result<Exit, Failure> {
    if let Some(document) = add.package.server_json.clone() {
        return package::add(cx, add, &document);
    }
    let path = cx.to_change_in(add.scope)?;
    let mut file = ConfigFile::open(&path)?;
    let server = add.server();
    file.add(&server)?;
    file.save(FileReaders::Kept)?;
    cx.keep_trust(&file)?;
    let changed = ServerEdited { server_id: &server.id, file: path };
    cx.output.show(&changed, |changed, out| {
        writeln!(out, "added {} to {}", changed.server_id, changed.file.display())
    })
}

pub(super) fn remove(cx: &CommandContext, remove: &RemoveServerArgs) -> Result<Exit, Failure> {
    let path = cx.to_change_in(remove.scope)?;
    let mut file = ConfigFile::open(&path)?;
    file.remove(&remove.name).map_err(|error| {
        Failure::from(error)
            .hint(format!("`mgp servers --no-start` shows the servers, {} is the file", path.display()))
    })?;
    file.save(FileReaders::Kept)?;
    cx.keep_trust(&file)?;
    let changed = ServerEdited { server_id: &remove.name, file: path };
    cx.output.show(&changed, |changed, out| {
        writeln!(out, "removed {} from {}", changed.server_id, changed.file.display())
    })
}

impl AddServerArgs {
    fn server(self) -> ServerConfig {
        let mut server = ServerConfig::default();
        server.id = self.name;
        let mut command = self.command.into_iter();
        server.command = command.next();
        server.args = command.collect();
        server.url = self.url;
        server.env = self.env.into_iter().collect::<BTreeMap<_, _>>();
        server.headers = self.header.into_iter().collect::<BTreeMap<_, _>>();
        server.description = self.description;
        server.transport = self.transport.map(|transport| match transport {
            TransportArg::Stdio => TransportKind::Stdio,
            TransportArg::Http => TransportKind::Http,
            TransportArg::Sse => TransportKind::Sse,
        });
        server
    }
}

pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| format!("`{text}` is not NAME=VALUE"))
}
