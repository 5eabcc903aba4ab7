//! `mgp add` and `mgp remove`: change the servers of the configuration. A server may be one that the `server.json` of a
//! registry describes.

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use mgp_discovery::FileReaders;
use mgp_discovery::config::ConfigFile;
use mgp_discovery::config::model::{ServerConfig, TransportKind};
use mgp_discovery::launch::{LaunchError, PreparedLaunch, RequiredInput, ServerJson, launch};
use serde_json::json;

use super::context::{CommandContext, ConfigScope};
use super::input::{read_text, word};
use crate::terminal::{Failure, Result, printable};

#[derive(Debug, Args)]
pub(super) struct AddServerArgs {
    /// The id of the server: letters, digits, `.`, `_` and `-`
    name: String,
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
    /// The transport, if not the default: stdio with a command, http with a URL; sse is the older HTTP+SSE
    #[arg(long, value_name = "HOW", value_parser = PossibleValuesParser::new(TRANSPORTS).try_map(word::<TransportKind>))]
    transport: Option<TransportKind>,
    /// The purpose of the server, in one line
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    package: PackageArgs,
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
    if let Some(document) = add.package.server_json.clone() {
        return add_package(cx, add, &document);
    }
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

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| format!("`{text}` is not NAME=VALUE"))
}

#[derive(Debug, Args)]
struct PackageArgs {
    /// Add the server that this server.json of a registry describes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "url", "transport"])]
    server_json: Option<PathBuf>,
    /// A value that the server.json asks for; repeat for more
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "server_json")]
    answer: Vec<(String, String)>,
    /// The number, from 1, of a package or remote in the server.json; the first that works if left out
    #[arg(long, value_name = "N", requires = "server_json")]
    way: Option<usize>,
    /// Print what would be added, and change nothing
    #[arg(long, requires = "server_json")]
    dry_run: bool,
}

/// Adds the server that the document describes.
fn add_package(cx: &CommandContext, add: AddServerArgs, document: &Path) -> Result {
    let AddServerArgs { name, description, package, scope, .. } = add;
    let server = ServerJson::parse(&read_text(document)?).map_err(|error| Failure::file(document, error))?;
    let mut launch =
        chosen(&server, package.way, &package.answer).map_err(|error| failure(document, &error))?;
    launch.config.id.clone_from(&name);
    launch.config.description = description.or(launch.config.description);
    let path = cx.to_change_in(scope)?;
    let mut file = ConfigFile::open(&path)?;
    file.add(&launch.config)?;
    if !package.dry_run {
        file.save(FileReaders::Kept)?;
        cx.keep_trust(&file)?;
    }
    let (file, is_trial) = (path.display().to_string(), package.dry_run);
    let asked = launch.permissions.iter().map(|asked| json!({ "kind": asked.kind, "words": asked.words }));
    let report = json!({
        "server_id": name,
        "command": launch.shown,
        "permissions": asked.collect::<Vec<_>>(),
        "variables": launch.variables,
        "notes": launch.notes,
        "file": file,
        "dry_run": is_trial,
    });
    // A person judges the server, because a stranger wrote its description.
    cx.output.show(&report, |_, out| {
        writeln!(out, "starts, or reaches: {}", printable(&launch.shown))?;
        for asked in &launch.permissions {
            writeln!(out, "asks for {}: {}", asked.kind, printable(&asked.words))?;
        }
        for variable in &launch.variables {
            let state = if env::var_os(variable).is_some() { "is set" } else { "set it before mgp starts" };
            writeln!(out, "variable {variable}: {state}")?;
        }
        launch.notes.iter().try_for_each(|note| writeln!(out, "{}", printable(note)))?;
        writeln!(out, "{} {name} to {file}", if is_trial { "would add" } else { "added" })
    })
}

/// Returns the launch with the number `way`, or else the first that is possible on this machine.
fn chosen(
    server: &ServerJson,
    way: Option<usize>,
    answers: &[(String, String)],
) -> Result<PreparedLaunch, LaunchError> {
    if let Some(way) = way {
        // Number 0 is none of the ways.
        return launch(server, way.checked_sub(1).unwrap_or_else(|| server.ways()), answers);
    }
    let mut first = None;
    for way in 0..server.ways() {
        match launch(server, way, answers) {
            Ok(launch) => return Ok(launch),
            // The launch is possible once the answers are given.
            Err(error @ (LaunchError::Missing { .. } | LaunchError::BadAnswer { .. })) => return Err(error),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or(LaunchError::NoSuchWay { ways: 0 }))
}

fn failure(document: &Path, error: &LaunchError) -> Failure {
    let message = printable(&format!("{}: {error}", document.display()));
    let LaunchError::Missing { needed } = error else { return Failure::usage(message) };
    let asked: Vec<_> = needed.iter().map(question).collect();
    Failure::usage(message).hint(printable(&asked.join("\n")))
}

/// Returns the option that gives an answer, with a description of the answer.
fn question(needed: &RequiredInput) -> String {
    let mut text = format!("--answer {}=VALUE", needed.name);
    text.extend(needed.description.iter().map(|description| format!("  {description}")));
    if !needed.choices.is_empty() {
        text = format!("{text} ({})", needed.choices.join(", "));
    }
    text
}
