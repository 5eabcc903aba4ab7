//! `mgp add` and `mgp remove`: change the servers of the configuration.

use clap::Args;
use mgp_discovery::config::model::{ServerConfig, TransportKind};
use serde_json::json;

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

pub(super) fn add(cx: &CommandContext, add: AddServerArgs) -> Result<Exit, Failure> {
    if let Some(document) = add.package.server_json.clone() {
        return package::add(cx, add, &document);
    }
    let path = cx.to_change_in(add.scope)?;
    let server = add.server();
    cx.change(&path, |file| Ok(file.add(&server)?))?;
    let (id, file) = (&server.id, path.display().to_string());
    cx.output.line(&json!({ "server_id": id, "file": file }), &format!("added {id} to {file}"))
}

pub(super) fn remove(cx: &CommandContext, remove: &RemoveServerArgs) -> Result<Exit, Failure> {
    let path = cx.to_change_in(remove.scope)?;
    let (id, file) = (&remove.name, path.display().to_string());
    cx.change(&path, |file| {
        file.remove(id).map_err(|error| {
            let places =
                format!("`mgp servers --no-start` shows the servers, {} is the file", path.display());
            Failure::from(error).hint(places)
        })
    })?;
    cx.output.line(&json!({ "server_id": id, "file": file }), &format!("removed {id} from {file}"))
}

impl AddServerArgs {
    fn server(self) -> ServerConfig {
        let mut server = ServerConfig::default();
        server.id = self.name;
        let mut command = self.command.into_iter();
        server.command = command.next();
        server.args = command.collect();
        server.url = self.url;
        server.env = self.env.into_iter().collect();
        server.headers = self.header.into_iter().collect();
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
