//! `mgp trust` and `mgp untrust`: decide whether the `mgp.toml` of a folder is used.
//!
//! A folder that was cloned must not start its programs unseen. Servers that it has for other clients are shown like its
//! own, and are used as they were shown: they are written into its `mgp.toml`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mgp_discovery::FileReaders;
use mgp_discovery::config::model::{RuleSource, ServerConfig};
use mgp_discovery::config::{
    Config, ConfigFile, EditError, FolderFile, Locations, ProcessEnvironment, TrustedFolders,
};
use mgp_discovery::launch::command_line;
use mgp_kernel_core::terminal::{Exit, Failure, Result, printable};
use mgp_types::mgp::AccessPermission;
use serde_json::{Value, json};

use super::clients::{ClientLocations, is_mgp};
use super::context::CommandContext;
use super::import;
use super::input::{agrees, is_person_there};
use super::output::Output;
use super::proof;

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

pub(super) async fn run(cx: &CommandContext, trust: &TrustArgs) -> Result {
    if let Some(TrustCommand::List) = trust.command {
        return list(&cx.output);
    }
    let locations = locations(trust.folder.as_deref())?;
    let trusted = notes(&locations)?;
    let path = locations.folder_file().unwrap_or_else(|| Path::new("mgp.toml"));
    let wrong = |error: io::Error| Failure::file(path, error);
    let ProposedFile { file, change, notes } = proposed(path)?;
    let (mut shown, text) = shown(&locations, &file)?;
    shown["of_other_clients"] = json!(notes);
    let text = notes.iter().fold(text, |text, note| text + &printable(note) + "\n");
    let asks = is_person_there() && !cx.output.json && !trust.yes;
    if asks && !trust.dry_run {
        cx.output.show(&shown, |_, out| write!(out, "{text}"))?;
        if !agrees("trust this file?").await? {
            return Err(Failure::usage("the file was not trusted"));
        }
    }
    if !trust.dry_run {
        proof::person(cx).await?;
        if let Some(change) = change {
            change.save(FileReaders::Kept)?;
        }
        // The file as it was read and shown above is trusted, even if it has changed since then.
        trusted.trust(&file).map_err(wrong)?;
    }
    shown["trusted"] = (!trust.dry_run).into();
    cx.output.show(&shown, |_, out| {
        if !asks || trust.dry_run {
            write!(out, "{text}")?;
        }
        if trust.dry_run { Ok(()) } else { writeln!(out, "{} is trusted", file.path().display()) }
    })?;
    if !trust.dry_run {
        cx.output.note("a client that starts `mgp serve` in this folder uses the file, and the folder's kernel after `mgp reload`; `mgp untrust` \
             takes the trust back");
    }
    Ok(Exit::Done)
}

/// The file of a folder as it would be trusted.
struct ProposedFile {
    file: FolderFile,
    /// The change that adds the servers that the folder has for other clients.
    change: Option<ConfigFile>,
    /// A line for people about each of these servers.
    notes: Vec<String>,
}

/// Returns the `mgp.toml` at `path` with the servers that the folder has for other clients. One that it has already stays as
/// it is.
fn proposed(path: &Path) -> Result<ProposedFile> {
    let wrong = |error: io::Error| Failure::file(path, error);
    let machine = ClientLocations::of_project(path.parent().unwrap_or(path).to_owned())?;
    let (mut change, mut notes) = (None::<ConfigFile>, Vec::new());
    for source in import::of_project(&machine) {
        let from = source.path.display();
        let imported = match source.read {
            Ok(imported) => imported,
            Err(why) => {
                notes.push(format!("skipped {from}: {why}"));
                continue;
            }
        };
        notes.extend(
            imported.skipped.iter().map(|one| format!("skipped {} of {from}: {}", one.name, one.why)),
        );
        for server in imported.servers.iter().filter(|server| !is_mgp(server)) {
            let mut file = change.take().map_or_else(|| ConfigFile::open(path), Ok)?;
            let id = &server.config.id;
            notes.push(match file.add(&server.config) {
                Ok(()) => format!("adds {id} of {from}"),
                Err(EditError::Exists(_)) => format!("keeps {id} as mgp.toml has it, whatever {from} says"),
                Err(error @ EditError::Unfit { .. }) => format!("skipped {id} of {from}: {error}"),
                Err(error) => return Err(error.into()),
            });
            change = Some(file);
        }
    }
    let change = change.filter(|file| file.text() != file.text_before());
    if change.is_some() && path.is_symlink() {
        return Err(Failure::file(
            path,
            "the file is a link, and servers are added to no other folder's file",
        ));
    }
    let file = match &change {
        Some(change) => Some(FolderFile::written(path, change.text()).map_err(wrong)?),
        None => FolderFile::read(path).map_err(wrong)?,
    };
    let file = file.ok_or_else(|| {
        Failure::usage(format!("there is no {}", path.display()))
            .hint("`mgp init --project` writes one, which is trusted")
    })?;
    Ok(ProposedFile { file, change, notes })
}

/// Removes the trust in a folder's file.
pub(super) fn forget(output: &Output, folder: Option<&Path>) -> Result {
    let locations = locations(folder)?;
    let path = locations.folder_file().unwrap_or_else(|| Path::new("mgp.toml")).to_path_buf();
    if !notes(&locations)?.forget(&path).map_err(|error| Failure::file(&path, error))? {
        return Err(Failure::usage(format!("{} was not trusted", path.display()))
            .hint("`mgp trust list` shows the trusted files"));
    }
    let path = path.display().to_string();
    output.line(&json!({ "path": path, "forgotten": true }), &format!("{path} is not trusted any more"))?;
    output.note("a kernel of the folder that runs continues without the file, and ends with its clients");
    Ok(Exit::Done)
}

fn list(output: &Output) -> Result {
    let locations = locations(None)?;
    let trusted = notes(&locations)?;
    let files = trusted.list().map_err(|error| Failure::usage(error.to_string()))?;
    output.show(&json!({ "files": files }), |_, out| {
        let rows = files.iter().map(|file| [file.path.display().to_string(), file.sha256.clone()]);
        out.table(&["FILE", "SHA-256"], rows, "no file is trusted")
    })
}

fn locations(folder: Option<&Path>) -> Result<Locations> {
    let folder = std::path::absolute(folder.unwrap_or_else(|| Path::new(".")))
        .map_err(|error| Failure::usage(format!("the folder cannot be found: {error}")))?;
    // The folder may also be given by the path of the file itself.
    let is_file = folder.file_name().is_some_and(|name| name == "mgp.toml") && folder.is_file();
    let folder = if is_file { folder.parent().unwrap_or(&folder).to_owned() } else { folder };
    Ok(Locations::of_folder(&ProcessEnvironment, &folder))
}

fn notes(locations: &Locations) -> Result<&TrustedFolders> {
    locations.trusted().ok_or_else(|| {
        Failure::usage("there is no home directory for the list of trusted files")
            .hint("set HOME, or name the file: `--config`")
    })
}

/// Returns the effects of a folder's file, as JSON and as text.
fn shown(locations: &Locations, file: &FolderFile) -> Result<(Value, String)> {
    let loaded = Config::load_with(locations, Some(file), &ProcessEnvironment)
        .map_err(|error| Failure::from(error).hint("a file with errors cannot be trusted"))?;
    let declared: BTreeSet<_> =
        loaded.sources.iter().filter(|(_, source)| *source == file.path()).map(|(id, _)| id).collect();
    let (path, sha256) = (file.path().display().to_string(), file.sha256());
    let mut text = format!("{}\nsha256 {sha256}\n", printable(&path));
    let mut line = |what: &str, words: &str| {
        // Writing to a text does not fail.
        let _ = writeln!(text, "{what}{}", printable(words).replace('\n', "\\n"));
    };
    let servers = loaded.config.servers.iter().filter(|server| declared.contains(&server.id));
    let servers: Vec<_> = servers.map(|server| shown_server(server, &mut line)).collect();
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
    let (grants, rules): (Vec<_>, Vec<_>) = (grants.collect(), rules.collect());
    for grant in &grants {
        line("grants  ", grant);
    }
    for rule in &rules {
        line("rule    ", rule);
    }
    let settings = keys.applied.iter().filter(|key| !key.ends_with(']'));
    settings.clone().for_each(|key| line("holds   ", key));
    keys.ignored.iter().for_each(|(key, why)| line("ignored ", &format!("{key}: {why}")));
    if servers.is_empty() && settings.count() == 0 && rules.is_empty() {
        line("", "no key of this file would be used");
    }
    let ignored = keys.ignored.iter().map(|(key, why)| json!({ "key": key, "why": why }));
    let shown = json!({
        "path": path,
        "sha256": sha256,
        "servers": servers,
        // The permissions that the file grants to its servers, and its access rules.
        "grants": grants,
        "rules": rules,
        "applied": keys.applied,
        "ignored": ignored.collect::<Vec<_>>(),
    });
    Ok((shown, text))
}

/// Tells by `line` what a server of the file is and is given, with the values as the file writes them, and returns the same as
/// JSON.
fn shown_server(server: &ServerConfig, line: &mut impl FnMut(&str, &str)) -> Value {
    let said = |table: &std::collections::BTreeMap<String, String>| {
        table.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
    };
    // The whole command line of the server, or its address.
    let address = server.url.as_ref().or(server.socket.as_ref());
    let starts = address.map_or_else(|| command_line(server), Clone::clone);
    let (mut variables, mut headers) = (said(&server.env), said(&server.headers));
    for agent in server.agents.values() {
        variables.extend(said(&agent.env));
        headers.extend(said(&agent.headers));
    }
    // The resources that the program may reach, as JSON; left out for a program that is not confined.
    let confinement = server.confinement.as_ref().and_then(|reached| serde_json::to_string(reached).ok());
    let confined = server.is_confined().then(|| confinement.unwrap_or_default());
    let secrets: BTreeSet<_> = server.secret_references().into_iter().map(|found| found.secret).collect();
    let secrets: Vec<_> = secrets.into_iter().collect();
    let enabled = if server.enabled { "" } else { " (switched off)" };
    line("server  ", &format!("{}{enabled}: {starts}", server.id));
    for (what, texts) in [
        ("          in ", server.cwd.as_slice()),
        ("          variable ", &variables),
        ("          confined ", confined.as_slice()),
        ("          header ", &headers),
        ("          is given your secret ", &secrets),
    ] {
        for text in texts {
            line(what, text);
        }
    }
    let mut shown = json!({ "id": server.id, "enabled": server.enabled, "starts": starts });
    if let Some(cwd) = &server.cwd {
        shown["cwd"] = json!(cwd);
    }
    (shown["variables"], shown["headers"], shown["secrets"]) =
        (json!(variables), json!(headers), json!(secrets));
    if let Some(confined) = confined {
        shown["confined"] = confined.into();
    }
    shown
}
