//! A copy of a kernel's state in a folder: its files, its manifest, how it is made, and how it is checked.
//!
//! The record is copied last. Decisions are recorded before they are stored, so no decision of the copy is missing in the
//! record of the copy.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use mgp_discovery::registry::Registry;
use mgp_security::audit::{Filter, LogEntry, LogStore, Query};
use mgp_security::sqlite::Database;
use mgp_types::Error;
use mgp_types::canonical::Digest;
use mgp_types::mgp::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::audit_log_ends::LogEnd;
use crate::state_folder::{read_json, write_json};
use crate::terminal::with_causes;

/// The database with the decisions of operators.
pub(crate) const DECISIONS: &str = "mgp.db";
/// The database with the keys of calls, and the log of transactions.
pub(crate) const EFFECTS: &str = "effects.db";
/// The database with the servers that registered themselves.
pub(crate) const REGISTRY: &str = "registry.db";
/// The database with the record.
pub(crate) const RECORD: &str = "audit.db";
/// The other files of a state that cannot be made again. Secrets and logins are not kept in the state.
const FILES: [&str; 4] = ["accepted.json", "arguments.key", "audit.forwarded", "operators.json"];
/// The folder with the scripts of tools that were made on demand.
const CREATED: &str = "created";
const MANIFEST: &str = "manifest.json";

/// The manifest of a copy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StateCopy {
    /// The version of the program that made the copy.
    version: String,
    pub(crate) made_at: Timestamp,
    /// The end of the record.
    pub(crate) record: LogEnd,
    /// The versions of the tables of each database, by section.
    schemas: BTreeMap<String, BTreeMap<String, u32>>,
    /// The files, with the SHA-256 digests of their bytes.
    pub(crate) files: BTreeMap<String, Digest>,
}

/// A copy that is being made, in a folder beside its own, which is removed if the copy is given up.
pub(crate) struct StateCopying {
    state: PathBuf,
    folder: PathBuf,
    unfinished: TempDir,
    names: Vec<String>,
}

impl StateCopying {
    /// Begins a copy of the state in `state`, which belongs in `folder`, with everything but the record.
    ///
    /// # Errors
    /// Fails if something cannot be read or written.
    pub(crate) fn begin(state: &Path, folder: PathBuf, registry: &Registry) -> Result<Self, Error> {
        let above = folder.parent().unwrap_or(&folder);
        let unfinished = private_folder(above, ".mgp-backup-").map_err(failed(above))?;
        let mut copying = Self { state: state.to_owned(), folder, unfinished, names: Vec::new() };
        copying.copy_database(DECISIONS)?;
        copying.copy_database(EFFECTS)?;
        let registered = copying.place(REGISTRY);
        registry.copy_to(&registered).map_err(failed(&registered))?;
        for name in FILES.iter().filter(|name| state.join(name).exists()) {
            copying.copy_file(name)?;
        }
        copying.copy_created()?;
        Ok(copying)
    }

    /// Copies the record, which has to be written up to now, and puts the copy in its folder.
    ///
    /// # Errors
    /// Fails if something cannot be read or written; there is no copy then.
    pub(crate) fn finish(mut self, made_at: Timestamp) -> Result<StateCopy, Error> {
        self.copy_database(RECORD)?;
        let folder = self.unfinished.path();
        let record = folder.join(RECORD);
        let mut newest = Query::new(Filter::default());
        newest.limit = 1;
        let last = LogStore::open_read_only(&record).and_then(|record| record.query(&newest));
        let last = last.map_err(failed(&record))?;
        let end = last.first().map(LogEntry::head).ok_or_else(|| Error::internal("the record has no event"))?;
        let (mut schemas, mut files) = (BTreeMap::new(), BTreeMap::new());
        for name in &self.names {
            let path = folder.join(name);
            files.insert(name.clone(), settle(&path).map_err(failed(&path))?);
            if path.extension().is_some_and(|ending| ending == "db") {
                let versions = Database::open_read_only(&path).and_then(|database| database.versions());
                schemas.insert(name.clone(), versions.map_err(failed(&path))?);
            }
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let copy = StateCopy { version, made_at, record: LogEnd::of(end), schemas, files };
        let manifest = folder.join(MANIFEST);
        write_json(&manifest, &copy).map_err(failed(&manifest))?;
        fs::rename(folder, &self.folder).map_err(failed(&self.folder))?;
        Ok(copy)
    }

    /// Returns the path of a file in the copy, and notes that the copy has it.
    fn place(&mut self, name: &str) -> PathBuf {
        self.names.push(name.to_owned());
        self.unfinished.path().join(name)
    }

    fn copy_database(&mut self, name: &str) -> Result<(), Error> {
        let path = self.state.join(name);
        if !path.exists() {
            return Ok(());
        }
        let place = self.place(name);
        let copied = Database::open_read_only(&path).and_then(|database| database.copy_to(&place, &[]));
        copied.map_err(failed(&path))
    }

    fn copy_file(&mut self, name: &str) -> Result<(), Error> {
        let place = self.place(name);
        fs::copy(self.state.join(name), &place).map(drop).map_err(failed(&place))
    }

    fn copy_created(&mut self) -> Result<(), Error> {
        let from = self.state.join(CREATED);
        let Ok(scripts) = fs::read_dir(&from) else { return Ok(()) };
        let place = self.unfinished.path().join(CREATED);
        fs::create_dir(&place).map_err(failed(&place))?;
        for script in scripts {
            let name = script.map_err(failed(&from))?.file_name();
            let name = format!("{CREATED}/{}", name.to_string_lossy());
            if is_of_state(&name) && self.state.join(&name).is_file() {
                self.copy_file(&name)?;
            }
        }
        Ok(())
    }
}

impl StateCopy {
    /// Reads the manifest of the copy in `folder`, and checks that all files are as they were copied.
    ///
    /// # Errors
    /// Fails if it is no copy, or is not whole.
    pub(crate) fn read(folder: &Path) -> Result<Self, Error> {
        let manifest = folder.join(MANIFEST);
        let copy: Option<Self> = read_json(&manifest).map_err(failed(&manifest))?;
        let wrong = |what: &str| Err(Error::invalid_params(format!("{}: {what}", folder.display())));
        let Some(copy) = copy else { return wrong("there is no copy that `mgp backup` made") };
        if [DECISIONS, RECORD].iter().any(|name| !copy.files.contains_key(*name)) {
            return wrong("the copy is not whole");
        }
        for (name, digest) in &copy.files {
            let path = folder.join(name);
            if !is_of_state(name) || digest_of(&path).map_err(failed(&path))? != *digest {
                return wrong(&format!("{} is not what was copied", name.escape_debug()));
            }
        }
        Ok(copy)
    }

    /// Copies the files of the copy in `folder` to the folder `to`.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written.
    pub(crate) fn unpack(&self, folder: &Path, to: &Path) -> io::Result<()> {
        fs::create_dir(to.join(CREATED))?;
        self.files.keys().try_for_each(|name| fs::copy(folder.join(name), to.join(name)).map(drop))
    }
}

/// Creates a folder under a new name in `above` that only its owner may open. It is removed with the result.
pub(crate) fn private_folder(above: &Path, prefix: &str) -> io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix(prefix);
    #[cfg(unix)]
    folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    folder.tempdir_in(above)
}

/// Returns whether a copy may have a file of this name.
fn is_of_state(name: &str) -> bool {
    let is_script =
        name.strip_prefix("created/").is_some_and(|script| !script.starts_with('.') && !script.contains('/'));
    is_script || FILES.contains(&name) || [DECISIONS, EFFECTS, REGISTRY, RECORD].contains(&name)
}

/// Lets nobody but its owner read a file, waits until it is on the disk, and returns its digest.
fn settle(path: &Path) -> io::Result<Digest> {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    File::open(path)?.sync_all()?;
    digest_of(path)
}

fn digest_of(path: &Path) -> io::Result<Digest> {
    let mut file = File::open(path)?;
    let (mut digest, mut part) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            return Ok(<[u8; 32]>::from(digest.finalize()).into());
        }
        digest.update(&part[..read]);
    }
}

/// Returns a function that makes the error of a file that cannot be read or written.
fn failed<E: std::error::Error>(path: &Path) -> impl FnOnce(E) -> Error + use<E> {
    let path = path.display().to_string();
    move |error| Error::internal(with_causes(&format!("{path}: {error}"), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_nothing_outside_of_a_state() {
        for name in ["mgp.db", "operators.json", "created/created-7.py"] {
            assert!(is_of_state(name), "{name}");
        }
        for name in ["", "../mgp.db", "/etc/passwd", "created/../mgp.db", "created/..", "created/", "mgp.sock"] {
            assert!(!is_of_state(name), "{name}");
        }
    }

    #[test]
    fn a_folder_that_is_no_copy_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |what: &str| {
            let error = StateCopy::read(folder.path()).unwrap_err();
            assert!(error.message().contains(what), "{error}");
        };
        refused("no copy");
        fs::write(folder.path().join(MANIFEST), "{}").unwrap();
        refused(MANIFEST);
        fs::write(folder.path().join(DECISIONS), "changed").unwrap();
        fs::write(folder.path().join(RECORD), "").unwrap();
        let (made_at, hash) = (Timestamp::EPOCH, Digest::from([7; 32]));
        let files = [DECISIONS, RECORD].map(|name| (name.to_owned(), hash));
        let record = LogEnd { seq: 1, hash };
        let (version, schemas) = (String::new(), BTreeMap::new());
        let copy = StateCopy { version, made_at, record, schemas, files: files.into() };
        write_json(&folder.path().join(MANIFEST), &copy).unwrap();
        refused("is not what was copied");
    }
}
