//! `mgp add` and `mgp remove`: change the servers of the configuration.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use mgp_discovery::config::model::{ServerConfig, TransportKind};
use serde_json::json;

use super::context::{CommandContext, ConfigScope};
use super::input::word;
use crate::terminal::{Failure, Result};

#[derive(Debug, Args)]
pub(super) struct AddServerArgs {
    /// The id of the server: letters, digits, `.`, `_` and `-`
    name: String,
    /// The command that starts the server, with its arguments
    #[arg(last = true, value_name = "CMD", conflicts_with = "url")]
    command: Vec<String>,
    /// The URL of a server on the network
    #[arg(long, required_unless_present = "command")]
    url: Option<String>,
    /// A variable of the server's environment; ${NAME} refers to the kernel's environment, ${secret:NAME} to `mgp
    /// secrets`
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "command")]
    env: Vec<(String, String)>,
    /// A header of requests to the server; ${NAME} and ${secret:NAME} work as in --env
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    header: Vec<(String, String)>,
    /// The transport, if not the default: stdio with a command, http with a URL; sse is the older HTTP+SSE
    #[arg(long, value_name = "HOW", value_parser = PossibleValuesParser::new(TRANSPORTS).try_map(word::<TransportKind>))]
    transport: Option<TransportKind>,
    /// The purpose of the server, in one line
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    scope: ConfigScope,
}

#[derive(Debug, Args)]
pub(super) struct RemoveServerArgs {
    /// The id of the server
    name: String,
    #[command(flatten)]
    scope: ConfigScope,
}

pub(super) fn add(cx: &CommandContext, add: AddServerArgs) -> Result {
    let path = cx.to_change_in(add.scope)?;
    let (mut server, mut command) = (ServerConfig::default(), add.command.into_iter());
    server.id = add.name;
    server.url = add.url;
    server.command = command.next();
    server.args = command.collect();
    server.env = add.env.into_iter().collect();
    server.headers = add.header.into_iter().collect();
    server.description = add.description;
    server.transport = add.transport;
    cx.change(&path, |file| Ok(file.add(&server)?))?;
    let (id, file) = (&server.id, path.display().to_string());
    cx.output.line(&json!({ "server_id": id, "file": file }), &format!("added {id} to {file}"))
}

pub(super) fn remove(cx: &CommandContext, remove: &RemoveServerArgs) -> Result {
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

/// The transports of servers that commands add.
const TRANSPORTS: [&str; 3] = ["stdio", "http", "sse"];

/// Reads a name and a value on the two sides of `=`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| format!("`{text}` is not NAME=VALUE"))
}
