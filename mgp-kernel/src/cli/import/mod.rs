//! `mgp import`: adds the servers of other MCP clients to the configuration.

mod config_import;

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use clap::Args;
use mgp_discovery::clients::{
    ClientKind, DetectedClient, FileScope, FileState, Imported, LiteralSecrets, ReadOptions, ReferenceKind,
    read,
};
use mgp_discovery::config::{ConfigFile, EditError, ProcessEnvironment};
use mgp_discovery::secrets::user_store;
use serde::Serialize;

use self::config_import::{AddedServer, ConfigImport, ImportOutcome};
use super::clients::{ClientLocations, is_mgp, text_of};
use super::context::{CommandContext, ConfigScope};
use super::server_advice::suggestion;
use crate::terminal::{Exit, Failure, printable};

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// Clients such as claude-desktop or cursor, or their files; all clients that are found if left out
    #[arg(value_name = "CLIENT|FILE")]
    from: Vec<String>,
    /// The client whose files these are, if neither name nor content tells
    #[arg(long = "as", value_name = "CLIENT", requires = "from")]
    kind: Option<ClientKind>,
    /// Show what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Copy secrets into the configuration instead of storing them with `mgp secrets`
    #[arg(long)]
    keep_secrets: bool,
    #[command(flatten)]
    scope: ConfigScope,
}

/// The result of an import: the servers that were added, and those that were not.
#[derive(Debug, Serialize)]
struct ImportReport {
    file: PathBuf,
    dry_run: bool,
    clients: Vec<ClientReport>,
    servers: Vec<ServerReport>,
    /// The references that replace secrets, and the places where the secrets were.
    secrets: Vec<SecretReport>,
    skipped: Vec<SkippedReport>,
}

#[derive(Debug, Serialize)]
struct ClientReport {
    client: &'static str,
    path: PathBuf,
    /// `user` or `project`; left out for a file that was named on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    servers: usize,
    /// The reason why the file was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct ServerReport {
    /// The id of the server in `mgp.toml`.
    server_id: String,
    /// The name of the server in the client's file.
    name: String,
    client: &'static str,
    outcome: ImportOutcome,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct SecretReport {
    /// The name of the secret, or of the variable.
    name: String,
    kept: SecretLocation,
    places: Vec<String>,
    /// The servers whose command line contains the secret, where every user of the machine can read it.
    in_command_line_of: Vec<String>,
}

/// The place in which a secret of a client's file is kept now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum SecretLocation {
    /// The secret is among the user's secrets, or would be without `--dry-run`.
    Store,
    /// The configuration refers to a variable, which is set.
    Variable,
    /// The configuration refers to a variable, which is not set.
    UnsetVariable,
}

#[derive(Debug, Serialize)]
struct SkippedReport {
    name: String,
    path: PathBuf,
    line: usize,
    why: String,
}

pub(super) fn run(cx: &CommandContext, import: &ImportArgs) -> Result<Exit, Failure> {
    let machine = ClientLocations::this()?;
    let sources = sources(&machine, import)?;
    let path = cx.to_change_in(import.scope)?;
    let file = ConfigFile::open(&path)?;
    let secrets = if import.keep_secrets { LiteralSecrets::Keep } else { LiteralSecrets::Refer };
    let mut taking = ConfigImport::into(&path, file, secrets, &ProcessEnvironment)?;
    for read in sources.iter().filter_map(|source| source.read.as_ref().ok()) {
        for server in &read.servers {
            taking.announce(server);
        }
    }
    let report = report(&path, import, sources, &mut taking)?;
    let added = report.servers.iter().any(|server| server.outcome.is_added());
    if !import.dry_run {
        // The secrets are stored before the configuration refers to them. They also complete servers that are already
        // configured.
        if !taking.stored.is_empty() {
            user_store(&ProcessEnvironment)?.set(taking.stored.clone())?;
        }
    }
    if added && !import.dry_run {
        taking.save()?;
        cx.keep_trust(&taking.file)?;
    }
    cx.output.show(&report, write)?;
    if added && !import.dry_run {
        cx.output.note(
            "`mgp servers` starts the servers and shows their states; `mgp export --to CLIENT` adds mgp to a client",
        );
    }
    Ok(Exit::Done)
}

fn report(
    path: &Path,
    import: &ImportArgs,
    sources: Vec<ImportSource>,
    taking: &mut ConfigImport<'_>,
) -> Result<ImportReport, EditError> {
    let (mut clients, mut servers, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    let mut secrets: BTreeMap<(ReferenceKind, String), (Vec<String>, Vec<String>)> = BTreeMap::new();
    for ImportSource { kind, path: from, scope, read } in sources {
        let client = kind.name();
        let found = read.as_ref().map_or(0, |read| read.servers.len() + read.skipped.len());
        let (imported, problem) = match read {
            Ok(imported) => (imported, None),
            Err(problem) => (Imported::default(), Some(problem)),
        };
        let mut skip = |name, line, why| skipped.push(SkippedReport { name, path: from.clone(), line, why });
        for one in imported.skipped {
            skip(one.name, one.at.line, one.why);
        }
        for server in imported.servers {
            if is_mgp(&server) {
                skip(server.name, server.at.line, "this entry is mgp itself".to_owned());
                continue;
            }
            let suggested = suggestion(&server.config);
            let taken = match taking.take(server.config) {
                Err(error @ EditError::Unfit { .. }) => {
                    skip(server.name, server.at.line, error.to_string());
                    continue;
                }
                taken => taken?,
            };
            let AddedServer { id: server_id, outcome, secrets: moved } = taken;
            for secret in moved {
                let stands = format!("{} of `{}` in {}", secret.place, server.name, from.display());
                let is_shown = secret.place == "command" || secret.place.starts_with("args[");
                let (places, shown) = secrets.entry((secret.held_in, secret.name)).or_default();
                places.push(stands);
                if is_shown && !shown.contains(&server_id) {
                    shown.push(server_id.clone());
                }
            }
            let mut notes = server.notes;
            notes.extend(suggested.filter(|_| outcome.is_added()));
            servers.push(ServerReport { server_id, name: server.name, client, outcome, notes });
        }
        let scope = scope.map(|scope| if scope == FileScope::Project { "project" } else { "user" });
        clients.push(ClientReport { client, path: from, scope, servers: found, problem });
    }
    let secrets = secrets.into_iter().map(|((held_in, name), (places, in_command_line_of))| {
        let kept = match held_in {
            ReferenceKind::Store => SecretLocation::Store,
            ReferenceKind::Environment if env::var_os(&name).is_some() => SecretLocation::Variable,
            ReferenceKind::Environment => SecretLocation::UnsetVariable,
        };
        SecretReport { name, kept, places, in_command_line_of }
    });
    let secrets = secrets.collect();
    Ok(ImportReport { file: path.to_owned(), dry_run: import.dry_run, clients, servers, secrets, skipped })
}

/// Writes the report as a text. Names and notes are escaped, because anybody may have written the files they come from.
fn write(report: &ImportReport, out: &mut impl io::Write) -> io::Result<()> {
    if report.clients.is_empty() {
        return writeln!(out, "no client was found on this machine; `mgp import FILE` reads a file");
    }
    for client in &report.clients {
        let path = client.path.display();
        match &client.problem {
            Some(problem) => writeln!(out, "{} ({path}): {}", client.client, printable(problem))?,
            None => writeln!(out, "{} ({path}): {} servers", client.client, client.servers)?,
        }
    }
    let verb = if report.dry_run { "would add" } else { "added" };
    for server in &report.servers {
        let (id, from) = (&server.server_id, server.client);
        match &server.outcome {
            ImportOutcome::Added { instead_of: None } => writeln!(out, "{verb} {id} from {from}")?,
            ImportOutcome::Added { instead_of: Some(taken) } => {
                writeln!(out, "{verb} {id} from {from}: another server is called `{taken}`")?;
            }
            ImportOutcome::Present => writeln!(out, "already configured: {id}, also in {from}")?,
        }
        for note in &server.notes {
            writeln!(out, "    {}", printable(note))?;
        }
    }
    for skip in &report.skipped {
        let (name, why) = (printable(&skip.name), printable(&skip.why));
        writeln!(out, "skipped {name} ({}, line {}): {why}", skip.path.display(), skip.line)?;
    }
    for secret in &report.secrets {
        let name = &secret.name;
        match secret.kept {
            SecretLocation::Store if report.dry_run => {
                writeln!(out, "secret {name}: would be kept among your secrets")?;
            }
            SecretLocation::Store => {
                writeln!(out, "secret {name}: kept among your secrets, see `mgp secrets list`")?;
            }
            SecretLocation::Variable => {
                writeln!(out, "variable {name}: is set")?;
            }
            SecretLocation::UnsetVariable => {
                writeln!(out, "variable {name}: set it before mgp starts")?;
            }
        }
        for place in &secret.places {
            writeln!(out, "    from {}", printable(place))?;
        }
        for server in &secret.in_command_line_of {
            writeln!(out, "    the list of processes shows it while {server} runs, as it did before")?;
        }
    }
    if report.servers.iter().any(|server| server.outcome.is_added()) {
        let is_written = if report.dry_run { "would be written to" } else { "in" };
        writeln!(out, "{is_written} {}", report.file.display())?;
    }
    Ok(())
}

/// A client's file, and the result of reading it.
struct ImportSource {
    kind: ClientKind,
    path: PathBuf,
    /// The scope of a file that was found; `None` for a file that was named.
    scope: Option<FileScope>,
    /// The servers of the file, or the reason why they are not known.
    read: Result<Imported, String>,
}

/// Returns the files to import from: all that are found, or those that were named.
///
/// A broken file is reported and does not keep the others from being read, unless it was named.
fn sources(machine: &ClientLocations, import: &ImportArgs) -> Result<Vec<ImportSource>, Failure> {
    // The values of secrets are read, because they decide whether two servers are the same.
    let options = &ReadOptions { secrets: LiteralSecrets::Keep, ..machine.options() };
    if import.from.is_empty() {
        let found = machine.detected().into_iter();
        return Ok(found.filter_map(|found| from_detected(found, options)).collect());
    }
    let mut sources = Vec::new();
    for name in &import.from {
        match name.parse::<ClientKind>() {
            Ok(kind) => sources.extend(of_client(machine, kind, options)?),
            // A name without a dot or a slash is meant as the name of a client.
            Err(unknown) if !name.contains(['.', MAIN_SEPARATOR]) && !PathBuf::from(name).exists() => {
                return Err(Failure::usage(unknown.to_string()).hint("to import a file, name its path"));
            }
            Err(_) => sources.push(of_file(machine, name, import.kind, options)?),
        }
    }
    Ok(sources)
}

fn from_detected(found: DetectedClient, options: &ReadOptions) -> Option<ImportSource> {
    let DetectedClient { kind, path, scope, state, .. } = found;
    let contents = match state {
        FileState::Missing => return None,
        FileState::Broken(error) => Err(error.to_string()),
        FileState::Unreadable(error) => Err(format!("the file cannot be read: {error}")),
        _ => text_of(&path)
            .map_err(|failure| failure.message().to_owned())
            .and_then(|text| read(kind, &text, options).map_err(|error| error.to_string())),
    };
    Some(ImportSource { kind, path, scope: Some(scope), read: contents })
}

fn of_client(
    machine: &ClientLocations,
    kind: ClientKind,
    options: &ReadOptions,
) -> Result<Vec<ImportSource>, Failure> {
    let found = machine.detected().into_iter().filter(|found| found.kind == kind);
    let sources: Vec<_> = found.filter_map(|found| from_detected(found, options)).collect();
    if sources.is_empty() {
        let looked: Vec<_> = machine.places.candidates(kind);
        let looked: Vec<_> = looked.iter().map(|file| file.path.display().to_string()).collect();
        return Err(Failure::usage(format!("{} has no file on this machine", kind.title())).hint(format!(
            "the expected file is {}; `mgp import FILE --as {kind}` reads another file",
            looked.join(" or ")
        )));
    }
    for source in &sources {
        if let Err(problem) = &source.read {
            return Err(Failure::file(&source.path, problem));
        }
    }
    Ok(sources)
}

fn of_file(
    machine: &ClientLocations,
    name: &str,
    kind: Option<ClientKind>,
    options: &ReadOptions,
) -> Result<ImportSource, Failure> {
    let path = PathBuf::from(name);
    let text = text_of(&path)?;
    let kind = kind.or_else(|| machine.kind_of(&path, &text)).ok_or_else(|| {
        let kinds = ClientKind::ALL.map(ClientKind::name).join(", ");
        Failure::usage(format!("{name}: the client of this file cannot be told"))
            .hint(format!("`--as CLIENT` names the client: {kinds}"))
    })?;
    let imported = read(kind, &text, options).map_err(|error| {
        Failure::usage(format!("{name}: {error}")).hint(format!("the file was read as a file of {kind}"))
    })?;
    Ok(ImportSource { kind, path, scope: None, read: Ok(imported) })
}
