//! A copy of a kernel's state in a folder: its files, its manifest, how it is made, and how it is checked.
//!
//! The record is copied last. Decisions are recorded before they are stored, so no decision of the copy is missing in the
//! record of the copy.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use mgp_security::audit::{Filter, LogEntry, LogHead, LogStore, Query};
use mgp_store::Database;
use mgp_types::Error;
use mgp_types::canonical::Digest;
use mgp_types::mgp::Timestamp;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::platform::{open_regular, private_file_options, set_mode};
use crate::state::folder::{digest_of, write_json};
use crate::terminal::{TextForm, TextWriter};

/// The database with the decisions of operators.
pub const DECISIONS: &str = "mgp.db";
/// The database with the keys of calls, and the log of transactions.
pub const EFFECTS: &str = "effects.db";
/// The database with the servers that registered themselves.
pub const REGISTRY: &str = "registry.db";
/// The database with the record.
pub const RECORD: &str = "audit.db";

/// The files of a state that cannot be made again. Secrets are not kept in the state, and logins only if kernels share them,
/// sealed by a secret.
const FILES: [&str; 8] = [
    DECISIONS, EFFECTS, REGISTRY, RECORD, "accepted.json", "arguments.key", "audit.forwarded",
    "operators.json",
];
/// The folder with the scripts of tools that were made on demand.
const CREATED: &str = "created";
const MANIFEST: &str = "manifest.json";

/// The manifest of a copy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StateCopy {
    /// The version of the program that made the copy.
    version: String,
    /// The time of the copy.
    pub made_at: Timestamp,
    /// The end of the record.
    pub record: LogHead,
    /// The versions of the tables of the decisions and of the record, by section.
    schemas: BTreeMap<String, BTreeMap<String, u32>>,
    /// The files, with the SHA-256 digests of their bytes.
    pub files: BTreeMap<String, Digest>,
}

impl StateCopy {
    /// Copies the state in `state` to `folder`, where nothing is yet. `flush` waits until all that happened is in the record.
    ///
    /// # Errors
    /// Fails if something cannot be read or written; there is no copy then.
    pub(crate) fn make(
        state: &Path,
        folder: &Path,
        made_at: Timestamp,
        flush: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Self> {
        let unfinished = private_folder(folder.parent().unwrap_or(folder), ".mgp-backup-")?;
        let at = unfinished.path();
        fs::create_dir(at.join(CREATED))?;
        for name in names_in(state) {
            let (from, to) = (state.join(&name), at.join(&name));
            match &*name {
                RECORD => {}
                DECISIONS | EFFECTS | REGISTRY => Database::open_read_only(&from)?.copy_to(&to, &[])?,
                _ => drop(fs::copy(from, to)?),
            }
        }
        flush()?;
        Database::open_read_only(&state.join(RECORD))?.copy_to(&at.join(RECORD), &[])?;
        let last = LogStore::open_read_only(&at.join(RECORD))?.query(&Query::new(Filter::default()))?;
        let record = last.first().map(LogEntry::head).context("the record has no event")?;
        let (mut schemas, mut files) = (BTreeMap::new(), BTreeMap::new());
        for name in names_in(at) {
            let path = at.join(&name);
            set_mode(&path, 0o600)?;
            // Some systems write only such files to the disk as are open for writing.
            File::options().write(true).open(&path)?.sync_all()?;
            if [DECISIONS, RECORD].contains(&&*name) {
                schemas.insert(name.clone(), Database::open_read_only(&path)?.versions()?);
            }
            files.insert(name, digest_of(&path)?.into());
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let copy = Self { version, made_at, record, schemas, files };
        write_json(&at.join(MANIFEST), &copy)?;
        fs::rename(at, folder)?;
        Ok(copy)
    }

    /// Copies the files of the copy in `folder` to the folder `to`, and checks that they are as they were copied. Nothing but
    /// regular files is read, and no link is followed.
    ///
    /// # Errors
    /// Fails if it is no copy, or is not whole, or a file cannot be read or written.
    pub fn unpack(folder: &Path, to: &Path) -> Result<Self> {
        let manifest = match open_regular(&folder.join(MANIFEST)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("there is no copy that `mgp backup` made")
            }
            manifest => manifest.context(MANIFEST)?,
        };
        let copy: Self = serde_json::from_reader(BufReader::new(manifest)).context(MANIFEST)?;
        ensure!(!folder.join(CREATED).is_symlink(), "{CREATED} is a link");
        fs::create_dir(to.join(CREATED))?;
        let is_whole = [DECISIONS, RECORD].iter().all(|name| copy.files.contains_key(*name));
        ensure!(is_whole, "the copy lacks the decisions, or the record");
        for (name, digest) in &copy.files {
            let changed = || format!("{} is not what was copied", name.escape_debug());
            ensure!(is_of_state(name), changed());
            let mut file = private_file_options().write(true).create_new(true).open(to.join(name))?;
            io::copy(&mut open_regular(&folder.join(name)).with_context(changed)?, &mut file)?;
            ensure!(Digest::from(digest_of(&to.join(name))?) == *digest, changed());
        }
        Ok(copy)
    }
}

impl TextForm for StateCopy {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        writeln!(out, "copied {} files\nhead {}:{}", self.files.len(), self.record.seq, self.record.hash)
    }

    fn notes(&self) -> Vec<String> {
        vec![KEEP_PRIVATE.to_owned()]
    }
}

const KEEP_PRIVATE: &str = "the copy has the digests of keys and of the passphrase, and what was recorded: keep it private; \
    secrets and logins lie elsewhere, in the keyring or in ~/.config/mgp, and are not in it";

/// Creates a folder under a new name in `above` that only its owner may open. It is removed with the result.
pub fn private_folder(above: &Path, prefix: &str) -> io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    #[cfg(unix)]
    folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    folder.prefix(prefix).tempdir_in(above)
}

/// Returns the names of the files in a folder that belong to a copy.
fn names_in(folder: &Path) -> Vec<String> {
    let scripts = fs::read_dir(folder.join(CREATED)).into_iter().flatten().flatten();
    let scripts = scripts.map(|script| format!("{CREATED}/{}", script.file_name().to_string_lossy()));
    let all = FILES.into_iter().map(str::to_owned).chain(scripts);
    all.filter(|name| is_of_state(name) && folder.join(name).is_file()).collect()
}

/// Returns whether a copy may have a file of this name.
fn is_of_state(name: &str) -> bool {
    let is_script = |script: &str| !script.starts_with('.') && !script.is_empty() && !script.contains('/');
    FILES.contains(&name) || name.strip_prefix("created/").is_some_and(is_script)
}

#[cfg(test)]
mod tests {
    use sha2::Digest as _;

    use super::*;

    #[test]
    fn a_manifest_names_nothing_outside_of_a_state() {
        for name in ["mgp.db", "operators.json", "created/created-7.py"] {
            assert!(is_of_state(name), "{name}");
        }
        for name in
            ["", "../mgp.db", "/etc/passwd", "created/../mgp.db", "created/..", "created/", "mgp.sock"]
        {
            assert!(!is_of_state(name), "{name}");
        }
    }

    #[test]
    fn a_folder_that_is_no_copy_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |what: &str| {
            let error = StateCopy::unpack(folder.path(), tempfile::tempdir().unwrap().path()).unwrap_err();
            assert!(error.to_string().contains(what), "{error:#}");
        };
        refused("no copy");
        fs::write(folder.path().join(MANIFEST), "{}").unwrap();
        refused(MANIFEST);
        fs::write(folder.path().join(DECISIONS), "changed").unwrap();
        fs::write(folder.path().join(RECORD), "").unwrap();
        let (made_at, hash) = (Timestamp::EPOCH, Digest::from([7; 32]));
        let files = [DECISIONS, RECORD].map(|name| (name.to_owned(), hash));
        let record = LogHead::new(1, hash);
        let (version, schemas) = (String::new(), BTreeMap::new());
        let copy = StateCopy { version, made_at, record, schemas, files: files.into() };
        write_json(&folder.path().join(MANIFEST), &copy).unwrap();
        refused("is not what was copied");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_in_a_copy_are_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let hash = Digest::from(<[u8; 32]>::from(sha2::Sha256::digest(b"secret")));
        let files = [DECISIONS, RECORD].map(|name| (name.to_owned(), hash));
        let (record, version, schemas) = (LogHead::new(1, hash), String::new(), BTreeMap::new());
        let copy = StateCopy { version, made_at: Timestamp::EPOCH, record, schemas, files: files.into() };
        write_json(&path(MANIFEST), &copy).unwrap();
        fs::write(path("secret"), "secret").unwrap();
        let unpacked = || StateCopy::unpack(folder.path(), tempfile::tempdir().unwrap().path());
        for name in [DECISIONS, RECORD] {
            fs::write(path(name), "secret").unwrap();
        }
        unpacked().unwrap();
        fs::remove_file(path(RECORD)).unwrap();
        std::os::unix::fs::symlink(path("secret"), path(RECORD)).unwrap();
        assert!(unpacked().is_err());
        fs::remove_file(path(RECORD)).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path(RECORD)).status().unwrap().success());
        assert!(unpacked().is_err(), "nobody waits for a writer");
    }
}
