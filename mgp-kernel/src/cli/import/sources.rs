//! The client files that `mgp import` reads.

use std::path::{MAIN_SEPARATOR, PathBuf};

use mgp_discovery::clients::{
    ClientKind, DetectedClient, FileScope, FileState, Imported, LiteralSecrets, ReadOptions, read,
};

use super::ImportArgs;
use crate::cli::clients::{ClientLocations, text_of};
use crate::terminal::Failure;

/// A client's file, and the result of reading it.
pub(super) struct ImportSource {
    pub(super) kind: ClientKind,
    pub(super) path: PathBuf,
    /// The scope of a file that was found; `None` for a file that was named.
    pub(super) scope: Option<FileScope>,
    /// The servers of the file, or the reason why they are not known.
    pub(super) read: Result<Imported, String>,
}

/// Returns the files to import from: all that are found, or those that were named.
///
/// A broken file is reported and does not keep the others from being read, unless it was named.
pub(super) fn sources(machine: &ClientLocations, import: &ImportArgs) -> Result<Vec<ImportSource>, Failure> {
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
