//! `mgp import`: adds the servers of other MCP clients to the configuration.

use std::collections::BTreeMap;
use std::env;
use std::io::Write as _;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use clap::Args;
use mgp_discovery::clients::{
    ClientKind, Concealer, DetectedClient, FileScope, FileState, Imported, LiteralSecrets, MovedSecret,
    ReadOptions, ReferenceKind, read,
};
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::config::{ConfigFile, EditError, Environment, ProcessEnvironment};
use mgp_discovery::secrets::{Secrets, user_store};
use mgp_discovery::{Config, FileReaders};
use serde::Serialize;
use serde_json::{Value, json};

use super::clients::{ClientLocations, is_mgp, text_of};
use super::context::{CommandContext, ConfigScope};
use super::server_advice::suggestion;
use crate::lifecycle::KERNEL;
use crate::terminal::{Exit, Failure, Result, printable};

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
        for server in &read.servers {
            // No secret gets a name that another server refers to.
            taking.concealer.reserve(&server.config);
        }
    }
    let (report, text, added) = report(&path, import, sources, &mut taking)?;
    // The secrets are stored before the configuration refers to them. They also complete servers that are already configured.
    if !import.dry_run && !taking.stored.is_empty() {
        user_store(&ProcessEnvironment)?.set(taking.stored.clone())?;
    }
    if added && !import.dry_run {
        taking.save()?;
        cx.keep_trust(&taking.file)?;
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
            let AddedServer { id, outcome, secrets } = taken;
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
fn sources(machine: &ClientLocations, import: &ImportArgs) -> Result<Vec<ImportSource>> {
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
) -> Result<Vec<ImportSource>> {
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
) -> Result<ImportSource> {
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

/// The outcome of the import of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
enum ImportOutcome {
    /// The server was added, under another id if another server has its own.
    Added {
        #[serde(skip_serializing_if = "Option::is_none")]
        instead_of: Option<String>,
    },
    /// The configuration had the same server already.
    Present,
}

/// A server that was added to the configuration, or was already there.
#[derive(Debug, PartialEq, Eq)]
struct AddedServer {
    id: String,
    outcome: ImportOutcome,
    /// The secrets that references replace in the configuration.
    secrets: Vec<MovedSecret>,
}

/// A configuration to which imported servers are added.
struct ConfigImport<'e> {
    file: ConfigFile,
    servers: Vec<ServerConfig>,
    concealer: Concealer<'e>,
    secrets: LiteralSecrets,
    /// The secrets that the configuration refers to by name, with their values.
    stored: Secrets,
}

impl<'e> ConfigImport<'e> {
    fn into(
        path: &Path,
        file: ConfigFile,
        secrets: LiteralSecrets,
        environment: &'e dyn Environment,
    ) -> Result<Self, EditError> {
        let (config, _) = Config::parse(path, file.text_before())?;
        let mut concealer = Concealer::new(environment);
        config.servers.iter().for_each(|server| concealer.reserve(server));
        Ok(Self { file, servers: config.servers, concealer, secrets, stored: Secrets::new() })
    }

    /// Adds a server, given with the values of its secrets, unless the configuration has it already. If another server
    /// has its id, the added one gets a number. Two servers are the same if they are started or reached in the same
    /// way, with the same secrets as far as these are known.
    fn take(&mut self, server: ServerConfig) -> Result<AddedServer, EditError> {
        let wanted = server.id.clone();
        let mut candidate = server;
        let mut number = 1_usize;
        loop {
            if let Some(there) = self.servers.iter().find(|there| there.id == candidate.id) {
                if let Some(secrets) = self.concealer.same(there, &candidate) {
                    self.store(&secrets);
                    return Ok(AddedServer { id: candidate.id, outcome: ImportOutcome::Present, secrets });
                }
            } else if candidate.id != KERNEL {
                break;
            }
            number += 1;
            candidate.id = numbered(&wanted, number);
        }
        let keeps = self.secrets == LiteralSecrets::Keep;
        let secrets = if keeps { Vec::new() } else { self.concealer.conceal(&mut candidate) };
        self.file.add(&candidate)?;
        self.store(&secrets);
        let (id, instead_of) = (candidate.id.clone(), (number > 1).then_some(wanted));
        self.servers.push(candidate);
        Ok(AddedServer { id, outcome: ImportOutcome::Added { instead_of }, secrets })
    }

    /// Collects the secrets that are kept outside of the configuration.
    fn store(&mut self, secrets: &[MovedSecret]) {
        for secret in secrets.iter().filter(|secret| secret.held_in == ReferenceKind::Store) {
            // Names are made of words of the client's file. A secret with an invalid name stays out of the
            // configuration as well.
            if let Ok(name) = secret.name.parse() {
                self.stored.insert(name, secret.value.clone());
            }
        }
    }

    /// Writes the file. A file that contains secrets is readable only by its owner from the beginning.
    fn save(&self) -> Result<(), EditError> {
        let keeps = self.secrets == LiteralSecrets::Keep;
        self.file.save(if keeps { FileReaders::Owner } else { FileReaders::Kept })
    }
}

/// Returns an id with a number at its end, which is no longer than ids may be.
fn numbered(id: &str, number: usize) -> String {
    let ending = format!("-{number}");
    let room = MAX_ID.saturating_sub(ending.len());
    let kept = id.char_indices().take_while(|(at, c)| at + c.len_utf8() <= room).map(|(_, c)| c);
    kept.chain(ending.chars()).collect()
}

/// The largest length of an id in bytes.
const MAX_ID: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn taking(text: &str) -> ConfigImport<'static> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mgp.toml");
        std::fs::write(&path, text).unwrap();
        ConfigImport::into(&path, ConfigFile::open(&path).unwrap(), LiteralSecrets::Refer, &unset).unwrap()
    }

    fn unset(_: &str) -> Option<String> {
        None
    }

    fn server(id: &str, command: &str) -> ServerConfig {
        let mut server = ServerConfig::default();
        (server.id, server.command) = (id.into(), Some(command.into()));
        server
    }

    fn keyed(id: &str, key: &str) -> ServerConfig {
        let mut server = server(id, "x");
        server.env.insert("KEY".into(), key.into());
        server
    }

    fn instead_of(id: &str) -> ImportOutcome {
        ImportOutcome::Added { instead_of: Some(id.into()) }
    }

    #[test]
    fn the_same_server_is_taken_once_and_another_gets_a_number() {
        let mut taking = taking("[[servers]]\nid = 'files'\ncommand = 'a'\n");
        let mut take = |id, command| {
            let taken = taking.take(server(id, command)).unwrap();
            (taken.id, taken.outcome)
        };
        assert_eq!(take("files", "a"), ("files".into(), ImportOutcome::Present));
        assert_eq!(take("files", "b"), ("files-2".into(), instead_of("files")));
        assert_eq!(take("files", "b"), ("files-2".into(), ImportOutcome::Present));
        assert_eq!(take("files", "c").0, "files-3");
        assert_eq!(take("mgp", "d").0, "mgp-2");
        let long = "x".repeat(64);
        assert_eq!(take(&long, "a").0, long);
        assert_eq!(take(&long, "b").0, format!("{}-2", "x".repeat(62)));
    }

    #[test]
    fn what_was_said_of_a_server_since_does_not_make_it_another() {
        let mut taking = taking(
            "[[servers]]\nid = 'files'\ncommand = 'a'\nenabled = false\ndescription = 'mine'\n\
             [[servers]]\nid = 'api'\ncommand = 'x'\nenv = { KEY = '${MINE}' }\n",
        );
        assert_eq!(taking.take(server("files", "a")).unwrap().outcome, ImportOutcome::Present);
        let api = taking.take(keyed("api", "s3cret")).unwrap();
        assert_eq!((api.outcome, api.secrets[0].name.as_str()), (ImportOutcome::Present, "MINE"));
    }

    #[test]
    fn the_same_command_with_another_secret_is_another_server() {
        let mut taking = taking("");
        let mut take = |key| {
            let taken = taking.take(keyed("api", key)).unwrap();
            (taken.id, taken.outcome != ImportOutcome::Present, taken.secrets[0].name.clone())
        };
        assert_eq!(take("one"), ("api".into(), true, "API_KEY".into()));
        assert_eq!(take("two"), ("api-2".into(), true, "API_2_KEY".into()));
        assert_eq!(take("one"), ("api".into(), false, "API_KEY".into()));
        assert_eq!(take("two"), ("api-2".into(), false, "API_2_KEY".into()));
    }

    #[test]
    fn a_server_that_no_file_may_have_is_refused_and_the_others_are_taken() {
        let mut taking = taking("");
        let mut odd = server("odd", "x");
        odd.args = vec!["${keyring:x}".into()];
        for refused in [odd, server("mgp_files", "x"), server("empty", "")] {
            let error = taking.take(refused).unwrap_err();
            assert!(matches!(error, EditError::Unfit { .. }), "{error}");
        }
        assert_ne!(taking.take(server("files", "x")).unwrap().outcome, ImportOutcome::Present);
    }

    #[test]
    fn a_name_that_another_server_refers_to_is_given_to_no_secret() {
        let mut taking =
            taking("[[servers]]\nid = 'other'\ncommand = 'a'\nenv = { K = '${secret:API_KEY}' }\n");
        assert_eq!(taking.take(keyed("api", "one")).unwrap().secrets[0].name, "API_KEY_2");
    }
}
