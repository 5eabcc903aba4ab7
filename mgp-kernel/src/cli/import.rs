//! `mgp import`: adds the servers of other MCP clients to the configuration.

use std::collections::BTreeMap;
use std::env;
use std::io::Write as _;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use clap::Args;
use mgp_discovery::clients::{
    ClientKind, DetectedClient, FileScope, FileState, Imported, ReferenceKind, read,
};
use mgp_discovery::config::{ConfigFile, EditError, ProcessEnvironment};
use mgp_kernel_core::admin::config_import::{AddedServer, ConfigImport, ImportOutcome, LiteralSecrets};
use mgp_kernel_core::terminal::{Exit, Failure, Result, printable};
use serde_json::{Value, json};

use super::clients::{ClientLocations, is_mgp, text_of};
use super::context::{CommandContext, ConfigScope};
use super::server_advice::suggestion;

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

/// A part of the result of an import, as rows of JSON and as lines of text.
#[derive(Debug, Default)]
struct ReportSection {
    rows: Vec<Value>,
    text: String,
}

impl ReportSection {
    fn add(&mut self, row: Value, text: &str) {
        self.rows.push(row);
        self.text.push_str(text);
        self.text.push('\n');
    }
}

pub(super) fn run(cx: &CommandContext, import: &ImportArgs) -> Result {
    let machine = ClientLocations::this()?;
    let sources = sources(&machine, import)?;
    let path = cx.to_change_in(import.scope)?;
    let file = ConfigFile::open(&path)?;
    let secrets = if import.keep_secrets { LiteralSecrets::Keep } else { LiteralSecrets::Refer };
    let mut taking = ConfigImport::into(&path, file, secrets, &ProcessEnvironment)?;
    for read in sources.iter().filter_map(|source| source.read.as_ref().ok()) {
        taking.reserve(read.servers.iter().map(|server| &server.config));
    }
    let (report, text, added) = report(&path, import, sources, &mut taking)?;
    // The secrets are stored before the configuration refers to them. They also complete servers that are already configured.
    if !import.dry_run {
        taking.keep_secrets()?;
    }
    if added && !import.dry_run {
        taking.save()?;
        let file = &taking.file;
        cx.keep_trust(file.path(), file.text_before(), file.text())?;
    }
    cx.output.show(&report, |_, out| write!(out, "{text}"))?;
    if added && !import.dry_run {
        cx.output.note(
            "`mgp servers` starts the servers and shows their states; `mgp export --to CLIENT` adds mgp to a client",
        );
    }
    Ok(Exit::Done)
}

/// Imports from `sources`, and returns what came of it as JSON and as text, and whether a server is added. Names and notes are
/// escaped in the text, because anybody may have written the files they come from.
fn report(
    path: &Path,
    import: &ImportArgs,
    sources: Vec<ImportSource>,
    taking: &mut ConfigImport<'_>,
) -> Result<(Value, String, bool), EditError> {
    let (mut clients, mut servers) = (ReportSection::default(), ReportSection::default());
    let (mut skipped, mut moved) = (ReportSection::default(), MovedSecrets::new());
    let verb = if import.dry_run { "would add" } else { "added" };
    let mut is_added = false;
    for ImportSource { kind, path: from, scope, read } in sources {
        let (client, from) = (kind.name(), from.display().to_string());
        let mut row = json!({ "client": client, "path": from });
        if let Some(scope) = scope {
            row["scope"] = if scope == FileScope::Project { "project" } else { "user" }.into();
        }
        let imported = match read {
            Ok(imported) => {
                let found = imported.servers.len() + imported.skipped.len();
                row["servers"] = found.into();
                clients.add(row, &format!("{client} ({from}): {found} servers"));
                imported
            }
            Err(problem) => {
                let text = format!("{client} ({from}): {}", printable(&problem));
                (row["servers"], row["problem"]) = (0.into(), problem.into());
                clients.add(row, &text);
                continue;
            }
        };
        let mut skip = |name: String, line: usize, why: String| {
            let text = format!("skipped {} ({from}, line {line}): {}", printable(&name), printable(&why));
            skipped.add(json!({ "name": name, "path": from, "line": line, "why": why }), &text);
        };
        imported.skipped.into_iter().for_each(|one| skip(one.name, one.at.line, one.why));
        for server in imported.servers {
            if scope == Some(FileScope::Project) {
                skip(server.name, server.at.line, OF_THE_FOLDER.to_owned());
                continue;
            }
            if is_mgp(&server) {
                skip(server.name, server.at.line, "this entry is mgp itself".to_owned());
                continue;
            }
            let suggested = suggestion(&server.config);
            let AddedServer { id, outcome, secrets } = match taking.take(server.config) {
                Err(error @ EditError::Unfit { .. }) => {
                    skip(server.name, server.at.line, error.to_string());
                    continue;
                }
                taken => taken?,
            };
            for secret in secrets {
                let stands = format!("{} of `{}` in {from}", secret.place, server.name);
                let is_shown = secret.place == "command" || secret.place.starts_with("args[");
                let (places, shown) = moved.entry((secret.held_in, secret.name)).or_default();
                places.push(stands);
                if is_shown && !shown.contains(&id) {
                    shown.push(id.clone());
                }
            }
            let mut notes = server.notes;
            let mut text = match &outcome {
                ImportOutcome::Added { instead_of: None } => format!("{verb} {id} from {client}"),
                ImportOutcome::Added { instead_of: Some(taken) } => {
                    format!("{verb} {id} from {client}: another server is called `{taken}`")
                }
                ImportOutcome::Present => format!("already configured: {id}, also in {client}"),
            };
            if outcome != ImportOutcome::Present {
                is_added = true;
                notes.extend(suggested);
            }
            text.extend(notes.iter().map(|note| format!("\n    {}", printable(note))));
            let (name, outcome) = (server.name, json!(outcome));
            let row = json!({ "server_id": id, "name": name, "client": client, "outcome": outcome, "notes": notes });
            servers.add(row, &text);
        }
    }
    let secrets = secrets_moved(moved, import.dry_run);
    let file = path.display().to_string();
    let mut text = [&*clients.text, &*servers.text, &*skipped.text, &*secrets.text].concat();
    if clients.rows.is_empty() {
        "no client was found on this machine; `mgp import FILE` reads a file\n".clone_into(&mut text);
    }
    if is_added {
        let is_written = if import.dry_run { "would be written to" } else { "in" };
        text = format!("{text}{is_written} {file}\n");
    }
    let report = json!({
        "file": file,
        "dry_run": import.dry_run,
        "clients": clients.rows,
        "servers": servers.rows,
        "secrets": secrets.rows,
        "skipped": skipped.rows,
    });
    Ok((report, text, is_added))
}

/// The reason why a server of a folder is not added to those of the user.
const OF_THE_FOLDER: &str =
    "it comes with this folder; `mgp trust` shows its command and adds it to the mgp.toml of the folder";

/// The secrets that references replace, by where they are kept and their names: the places where they were, and the servers whose
/// command lines contain them, where every user of the machine can read them.
type MovedSecrets = BTreeMap<(ReferenceKind, String), (Vec<String>, Vec<String>)>;

fn secrets_moved(moved: MovedSecrets, is_trial: bool) -> ReportSection {
    let mut secrets = ReportSection::default();
    for ((held_in, name), (places, shown)) in moved {
        let (what, kept, state) = match held_in {
            ReferenceKind::Store if is_trial => ("secret", "store", "would be kept among your secrets"),
            ReferenceKind::Store => ("secret", "store", "kept among your secrets, see `mgp secrets list`"),
            ReferenceKind::Environment if env::var_os(&name).is_some() => ("variable", "variable", "is set"),
            ReferenceKind::Environment => ("variable", "unset_variable", "set it before mgp starts"),
        };
        let mut text = format!("{what} {name}: {state}");
        text.extend(places.iter().map(|place| format!("\n    from {}", printable(place))));
        text.extend(shown.iter().map(|server| {
            format!("\n    the list of processes shows it while {server} runs, as it did before")
        }));
        secrets
            .add(json!({ "name": name, "kept": kept, "places": places, "in_command_line_of": shown }), &text);
    }
    secrets
}

/// A client's file, and the result of reading it.
pub(super) struct ImportSource {
    kind: ClientKind,
    pub(super) path: PathBuf,
    /// The scope of a file that was found; `None` for one that was named and is in no place of a client.
    scope: Option<FileScope>,
    /// The servers of the file, or the reason why they are not known.
    pub(super) read: Result<Imported, String>,
}

/// Returns the configuration files of other clients in a project.
pub(super) fn of_project(machine: &ClientLocations) -> impl Iterator<Item = ImportSource> {
    let found = machine.detected().into_iter().filter(|found| found.scope == FileScope::Project);
    found.filter_map(|found| from_detected(machine, found))
}

/// Returns the files to import from: all that are found, or those that were named.
///
/// A broken file is reported and does not keep the others from being read, unless it was named.
fn sources(machine: &ClientLocations, import: &ImportArgs) -> Result<Vec<ImportSource>> {
    if import.from.is_empty() {
        let found = machine.detected().into_iter();
        return Ok(found.filter_map(|found| from_detected(machine, found)).collect());
    }
    let mut sources = Vec::new();
    for name in &import.from {
        match name.parse::<ClientKind>() {
            Ok(kind) => sources.extend(of_kind(machine, kind)?),
            // A name without a dot or a slash is meant as the name of a client.
            Err(unknown) if !name.contains(['.', MAIN_SEPARATOR]) && !PathBuf::from(name).exists() => {
                return Err(Failure::usage(unknown.to_string()).hint("to import a file, name its path"));
            }
            Err(_) => sources.push(of_file(machine, name, import.kind)?),
        }
    }
    Ok(sources)
}

fn from_detected(machine: &ClientLocations, found: DetectedClient) -> Option<ImportSource> {
    let DetectedClient { kind, path, scope, state, .. } = found;
    let contents = match state {
        FileState::Missing => return None,
        FileState::Broken(error) => Err(error.to_string()),
        FileState::Unreadable(error) => Err(format!("the file cannot be read: {error}")),
        _ => text_of(&path)
            .map_err(|failure| failure.message().to_owned())
            .and_then(|text| read(kind, &text, Some(&machine.project)).map_err(|error| error.to_string())),
    };
    Some(ImportSource { kind, path, scope: Some(scope), read: contents })
}

fn of_kind(machine: &ClientLocations, kind: ClientKind) -> Result<Vec<ImportSource>> {
    let found = machine.detected().into_iter().filter(|found| found.kind == kind);
    let sources: Vec<_> = found.filter_map(|found| from_detected(machine, found)).collect();
    if sources.is_empty() {
        let looked: Vec<_> = machine.places.candidates(kind);
        let looked: Vec<_> = looked.iter().map(|file| file.path.display().to_string()).collect();
        return Err(Failure::usage(format!("{} has no file on this machine", kind.title())).hint(format!(
            "the expected file is {}; `mgp import FILE --as {kind}` reads another file",
            looked.join(" or ")
        )));
    }
    let failed = |source: &ImportSource| Some(Failure::file(&source.path, source.read.as_ref().err()?));
    let broken = sources.iter().find_map(failed);
    broken.map_or(Ok(sources), Err)
}

fn of_file(machine: &ClientLocations, name: &str, kind: Option<ClientKind>) -> Result<ImportSource> {
    let path = PathBuf::from(name);
    let text = text_of(&path)?;
    let kind = kind.or_else(|| machine.kind_of(&path, &text)).ok_or_else(|| {
        let kinds = ClientKind::ALL.map(ClientKind::name).join(", ");
        Failure::usage(format!("{name}: the client of this file cannot be told"))
            .hint(format!("`--as CLIENT` names the client: {kinds}"))
    })?;
    let imported = read(kind, &text, Some(&machine.project)).map_err(|error| {
        Failure::usage(format!("{name}: {error}")).hint(format!("the file was read as a file of {kind}"))
    })?;
    let scope = machine.is_of_project(&path).then_some(FileScope::Project);
    Ok(ImportSource { kind, path, scope, read: Ok(imported) })
}
