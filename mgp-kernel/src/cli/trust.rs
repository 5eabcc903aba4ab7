//! `mgp trust` and `mgp untrust`: decide whether the `mgp.toml` of a folder is used.
//!
//! A folder that was cloned must not start its programs unseen.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mgp_discovery::config::model::{RuleSource, ServerConfig};
use mgp_discovery::config::{Config, FolderFile, Locations, ProcessEnvironment, TrustedFolders};
use mgp_discovery::launch::command_line;
use mgp_types::mgp::AccessPermission;
use serde::Serialize;
use serde_json::json;

use super::context::CommandContext;
use super::input::{agrees, is_person_there};
use super::output::Output;
use super::proof;
use crate::terminal::{Exit, Failure, printable};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct TrustArgs {
    #[command(subcommand)]
    command: Option<TrustCommand>,
    /// The folder; the current folder if left out
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Show what the file would do, and do not trust it
    #[arg(long)]
    dry_run: bool,
    /// Trust the file without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
}

#[derive(Debug, Subcommand)]
enum TrustCommand {
    /// List the trusted files
    List,
}

#[derive(Debug, Args)]
pub(super) struct UntrustArgs {
    /// The folder; the current folder if left out
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// The effects of a folder's file, and whether the file is trusted now.
#[derive(Debug, Serialize)]
struct ShownFolder {
    path: PathBuf,
    sha256: String,
    servers: Vec<ShownServer>,
    /// The permissions that the file grants to its servers.
    grants: Vec<String>,
    /// The access rules of the file.
    rules: Vec<String>,
    /// The keys of the file that take effect.
    applied: Vec<String>,
    ignored: Vec<IgnoredKey>,
    trusted: bool,
}

#[derive(Debug, Serialize)]
struct ShownServer {
    id: String,
    enabled: bool,
    /// The whole command line of the server, or its address.
    starts: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    /// The environment variables, with the values as the file writes them.
    variables: Vec<String>,
    headers: Vec<String>,
    /// The secrets of the user that the server is given.
    secrets: Vec<String>,
    /// The resources that the program may reach, as JSON; left out for a program that is not confined.
    #[serde(skip_serializing_if = "Option::is_none")]
    confined: Option<String>,
}

#[derive(Debug, Serialize)]
struct IgnoredKey {
    key: String,
    why: &'static str,
}

pub(super) async fn run(cx: &CommandContext, trust: &TrustArgs) -> Result<Exit, Failure> {
    if let Some(TrustCommand::List) = trust.command {
        return list(&cx.output);
    }
    let locations = locations(trust.folder.as_deref())?;
    let trusted = notes(&locations)?;
    let path = locations.folder_file().unwrap_or_else(|| Path::new("mgp.toml"));
    let wrong = |error: io::Error| Failure::file(path, error);
    let file = FolderFile::read(path).map_err(wrong)?.ok_or_else(|| {
        Failure::usage(format!("there is no {}", path.display()))
            .hint("`mgp init --project` writes one, which is trusted")
    })?;
    let mut shown = shown(&locations, &file)?;
    let asks = is_person_there() && !cx.output.is_json() && !trust.yes;
    if asks && !trust.dry_run {
        cx.output.show(&shown, write)?;
        if !agrees("trust this file?").await? {
            return Err(Failure::usage("the file was not trusted"));
        }
    }
    if !trust.dry_run {
        proof::person(cx).await?;
        // The file as it was read and shown above is trusted, even if it has changed since then.
        trusted.trust(&file).map_err(wrong)?;
        shown.trusted = true;
    }
    cx.output.show(&shown, |shown, out| {
        if !asks || trust.dry_run {
            write(shown, out)?;
        }
        if shown.trusted { writeln!(out, "{} is trusted", shown.path.display()) } else { Ok(()) }
    })?;
    if shown.trusted {
        cx.output.note("a client that starts `mgp serve` in this folder uses the file, and the folder's kernel after `mgp reload`; `mgp untrust` \
             takes the trust back");
    }
    Ok(Exit::Done)
}

/// Removes the trust in a folder's file.
pub(super) fn forget(output: &Output, untrust: &UntrustArgs) -> Result<Exit, Failure> {
    let locations = locations(untrust.folder.as_deref())?;
    let path = locations.folder_file().unwrap_or_else(|| Path::new("mgp.toml")).to_path_buf();
    if !notes(&locations)?.forget(&path).map_err(|error| Failure::file(&path, error))? {
        return Err(Failure::usage(format!("{} was not trusted", path.display()))
            .hint("`mgp trust list` shows the trusted files"));
    }
    let path = path.display().to_string();
    let text = format!("{path} is not trusted any more");
    output.line(&json!({ "path": path, "forgotten": true }), &text)?;
    output.note("a kernel of the folder that runs continues without the file, and ends with its clients");
    Ok(Exit::Done)
}

fn list(output: &Output) -> Result<Exit, Failure> {
    let locations = locations(None)?;
    let trusted = notes(&locations)?;
    let files = trusted.list().map_err(|error| Failure::usage(error.to_string()))?;
    output.show(&json!({ "files": files }), |_, out| {
        let rows = files.iter().map(|file| [file.path.display().to_string(), file.sha256.clone()]);
        out.table(&["FILE", "SHA-256"], rows, "no file is trusted")
    })
}

fn locations(folder: Option<&Path>) -> Result<Locations, Failure> {
    let folder = std::path::absolute(folder.unwrap_or_else(|| Path::new(".")))
        .map_err(|error| Failure::usage(format!("the folder cannot be found: {error}")))?;
    // The folder may also be given by the path of the file itself.
    let is_file = folder.file_name().is_some_and(|name| name == "mgp.toml") && folder.is_file();
    let folder = if is_file { folder.parent().unwrap_or(&folder).to_owned() } else { folder };
    Ok(Locations::of_folder(&ProcessEnvironment, &folder))
}

fn notes(locations: &Locations) -> Result<&TrustedFolders, Failure> {
    locations.trusted().ok_or_else(|| {
        Failure::usage("there is no home directory for the list of trusted files")
            .hint("set HOME, or name the file: `--config`")
    })
}

fn shown(locations: &Locations, file: &FolderFile) -> Result<ShownFolder, Failure> {
    let loaded = Config::load_with(locations, Some(file), &ProcessEnvironment)
        .map_err(|error| Failure::configuration(&error).hint("a file with errors cannot be trusted"))?;
    let declared: BTreeSet<_> =
        loaded.sources.iter().filter(|(_, source)| *source == file.path()).map(|(id, _)| id).collect();
    let servers = loaded.config.servers.iter().filter(|server| declared.contains(&server.id));
    let grants = loaded.config.permissions.grants.iter().filter_map(|grant| {
        let server = grant.server.as_ref().filter(|server| declared.contains(server))?;
        let scope = grant.scope.as_ref().and_then(|scope| serde_json::to_string(scope).ok());
        let scope = scope.map_or_else(String::new, |scope| format!(" within {scope}"));
        Some(format!("{} to {server}{scope}", grant.permission))
    });
    let rules = loaded.config.access.rules.iter().filter(|rule| rule.source == RuleSource::Folder);
    let rules = rules.map(|rule| {
        let word = if rule.permission == AccessPermission::Deny { "denies" } else { "allows" };
        let tool = rule.tool.as_deref().unwrap_or("everything");
        format!("{word} {} {tool} at {}", rule.agent, rule.server)
    });
    let keys = loaded.folder.unwrap_or_default();
    Ok(ShownFolder {
        path: file.path().to_path_buf(),
        sha256: file.sha256(),
        servers: servers.map(ShownServer::of).collect(),
        grants: grants.collect(),
        rules: rules.collect(),
        applied: keys.applied,
        ignored: keys.ignored.into_iter().map(|(key, why)| IgnoredKey { key, why }).collect(),
        trusted: false,
    })
}

impl ShownServer {
    fn of(server: &ServerConfig) -> Self {
        let said = |table: &std::collections::BTreeMap<String, String>| {
            table.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        let address = server.url.as_ref().or(server.socket.as_ref());
        let starts = address.map_or_else(|| command_line(server), Clone::clone);
        let (mut variables, mut headers) = (said(&server.env), said(&server.headers));
        for agent in server.agents.values() {
            variables.extend(said(&agent.env));
            headers.extend(said(&agent.headers));
        }
        let (id, enabled, cwd) = (server.id.clone(), server.enabled, server.cwd.clone());
        let confinement = server.confinement.as_ref().and_then(|reached| serde_json::to_string(reached).ok());
        let confined = server.is_confined().then(|| confinement.unwrap_or_default());
        let secrets: BTreeSet<_> = server.secret_references().into_iter().map(|found| found.secret).collect();
        let secrets = secrets.into_iter().collect();
        Self { id, enabled, starts, cwd, variables, headers, secrets, confined }
    }
}

fn write(shown: &ShownFolder, out: &mut impl io::Write) -> io::Result<()> {
    writeln!(out, "{}\nsha256 {}", printable(&shown.path.display().to_string()), shown.sha256)?;
    let mut line = |what: &str, text: &str| writeln!(out, "{what}{}", printable(text).replace('\n', "\\n"));
    for server in &shown.servers {
        let enabled = if server.enabled { "" } else { " (switched off)" };
        line("server  ", &format!("{}{enabled}: {}", server.id, server.starts))?;
        server.cwd.iter().try_for_each(|cwd| line("          in ", cwd))?;
        server.variables.iter().try_for_each(|variable| line("          variable ", variable))?;
        server.confined.iter().try_for_each(|reached| line("          confined ", reached))?;
        server.headers.iter().try_for_each(|header| line("          header ", header))?;
        server.secrets.iter().try_for_each(|secret| line("          is given your secret ", secret))?;
    }
    shown.grants.iter().try_for_each(|grant| line("grants  ", grant))?;
    shown.rules.iter().try_for_each(|rule| line("rule    ", rule))?;
    let settings = shown.applied.iter().filter(|key| !key.ends_with(']'));
    settings.clone().try_for_each(|key| line("holds   ", key))?;
    shown
        .ignored
        .iter()
        .try_for_each(|IgnoredKey { key, why }| line("ignored ", &format!("{key}: {why}")))?;
    if shown.servers.is_empty() && settings.count() == 0 && shown.rules.is_empty() {
        line("", "no key of this file would be used")?;
    }
    Ok(())
}
