//! The file of the user's secrets.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use toml_edit::{Document, DocumentMut, Item};

use super::{Environment, Secret, SecretName, SecretStoreError, Secrets};
use crate::atomic_file::create_private_folder;
use crate::{AtomicFile, FileReaders, Position};

/// Secrets in a TOML file of the form `NAME = "value"`, which has the mode 0600.
///
/// The file is opened without following a link, and its owner and mode are read from the opened file: a file that
/// others could read, or have written, is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFile {
    path: PathBuf,
}

const HEADER: &str =
    "# Secrets that mgp.toml refers to as ${secret:NAME}. `mgp secrets set NAME` writes this file anew.\n";
const MAX_FILE_BYTES: u64 = 4 << 20;

impl SecretFile {
    /// Creates the store of a file that need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the user's secrets, beside the user's configuration; `None` without a home directory.
    pub fn user_path(environment: &dyn Environment) -> Option<PathBuf> {
        Some(environment.own_directory("XDG_CONFIG_HOME", ".config")?.join("secrets.toml"))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read(&self) -> Result<Option<String>, SecretStoreError> {
        let Some(file) = opened(&self.path)? else { return Ok(None) };
        let mut text = String::new();
        let read = file.take(MAX_FILE_BYTES).read_to_string(&mut text);
        read.map(|_| Some(text)).map_err(|error| self.io(&error))
    }

    pub(super) fn secrets(&self) -> Result<Secrets, SecretStoreError> {
        self.read()?.map_or_else(|| Ok(Secrets::new()), |text| self.parse(&text))
    }

    fn parse(&self, text: &str) -> Result<Secrets, SecretStoreError> {
        let malformed = |at: usize| {
            let line = Position::of(text, at.min(text.len())).line;
            SecretStoreError::Malformed { path: self.path.clone(), line }
        };
        let document =
            Document::parse(text).map_err(|error| malformed(error.span().map_or(0, |span| span.start)))?;
        let mut secrets = Secrets::new();
        for (name, item) in document.iter() {
            let at = item.span().map_or(0, |span| span.start);
            let secret = item.as_str().ok_or_else(|| malformed(at))?.to_owned();
            secrets.insert(name.parse().map_err(|_| malformed(at))?, secret.into());
        }
        Ok(secrets)
    }

    /// Changes the file in one step; two changes at once wait for each other.
    fn change(&self, change: impl FnOnce(&mut Secrets)) -> Result<(), SecretStoreError> {
        let _lock = self.lock()?;
        let mut secrets = self.secrets()?;
        change(&mut secrets);
        let mut document = DocumentMut::new();
        for (name, secret) in &secrets {
            document.insert(name.as_str(), Item::Value(secret.expose().into()));
        }
        let text = format!("{HEADER}{document}");
        AtomicFile::put(&self.path, &text, FileReaders::Owner).map_err(|error| self.io(&error))
    }

    /// Creates the folder if it does not exist, for its owner alone, and locks it.
    fn lock(&self) -> Result<File, SecretStoreError> {
        let folder = self.path.parent().unwrap_or_else(|| Path::new("."));
        let locked = create_private_folder(folder).and_then(|()| {
            let folder = File::open(folder)?;
            folder.lock()?;
            Ok(folder)
        });
        locked.map_err(|error| self.io(&error))
    }

    fn io(&self, error: &io::Error) -> SecretStoreError {
        SecretStoreError::Io { path: self.path.clone(), error: error.to_string() }
    }

    /// Returns the names of all secrets, each with its place, in words for people. A place that was never written to has
    /// none.
    ///
    /// # Errors
    /// The secrets cannot be read, or others could read them.
    pub fn names(&self) -> Result<BTreeMap<SecretName, String>, SecretStoreError> {
        let path = self.path.display().to_string();
        Ok(self.secrets()?.into_keys().map(|name| (name, path.clone())).collect())
    }

    /// Returns the secret of this name, if there is one.
    ///
    /// # Errors
    /// The secrets cannot be read, or others could read them.
    pub fn secret(&self, name: &SecretName) -> Result<Option<Secret>, SecretStoreError> {
        Ok(self.secrets()?.remove(name))
    }

    /// Adds secrets, or replaces those that have their names, and returns their place, in words for people.
    ///
    /// # Errors
    /// The secrets cannot be read or written. A file stays as it was; a keyring may have taken some of the secrets.
    pub fn set(&self, secrets: Secrets) -> Result<String, SecretStoreError> {
        self.change(|all| all.extend(secrets))?;
        Ok(self.path.display().to_string())
    }

    /// Removes a secret, and returns whether there was one.
    ///
    /// # Errors
    /// The secrets stay as they were where they cannot be read or written.
    pub fn remove(&self, name: &SecretName) -> Result<bool, SecretStoreError> {
        let is_there = self.secrets()?.contains_key(name);
        if is_there {
            self.change(|all| drop(all.remove(name)))?;
        }
        Ok(is_there)
    }

    /// Returns the place in which secrets are set, in words for people, so that no secret is typed that cannot be kept.
    ///
    /// # Errors
    /// The secrets cannot be read, others could read them, or the place has to be unlocked.
    pub fn location(&self) -> Result<String, SecretStoreError> {
        self.secrets()?;
        Ok(self.path.display().to_string())
    }
}

/// Opens the file if it exists and only its owner, this user, may open it.
#[cfg(unix)]
fn opened(path: &Path) -> Result<Option<File>, SecretStoreError> {
    use std::os::unix::fs::MetadataExt as _;

    use rustix::fs::{Mode, OFlags};

    let wrong = |error: io::Error| SecretStoreError::Io { path: path.into(), error: error.to_string() };
    // A pipe in place of the file must not keep the kernel waiting for a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(rustix::io::Errno::LOOP) => return Err(SecretStoreError::Link(path.into())),
        Err(error) => return Err(wrong(error.into())),
    };
    let there = file.metadata().map_err(wrong)?;
    let mode = there.mode() & 0o777;
    if !there.is_file() {
        return Err(SecretStoreError::NoFile(path.into()));
    }
    if there.uid() != rustix::process::geteuid().as_raw() {
        return Err(SecretStoreError::Owner { path: path.into(), owner: there.uid() });
    }
    if mode & 0o077 != 0 {
        return Err(SecretStoreError::Mode { path: path.into(), mode });
    }
    Ok(Some(file))
}

/// Opens the file if it exists. The folder of the user's configuration is the user's own.
#[cfg(not(unix))]
fn opened(path: &Path) -> Result<Option<File>, SecretStoreError> {
    let wrong = |error: io::Error| SecretStoreError::Io { path: path.into(), error: error.to_string() };
    crate::atomic_file::if_found(File::open(path)).map_err(wrong)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn stored() -> (tempfile::TempDir, SecretFile) {
        let folder = tempfile::tempdir().unwrap();
        let store = SecretFile::at(folder.path().join("mgp/secrets.toml"));
        set(&store, "A", "one\ntwo \"three\"");
        (folder, store)
    }

    fn set(store: &SecretFile, name: &str, secret: &str) {
        store.set([(name.parse().unwrap(), secret.to_owned().into())].into()).unwrap();
    }

    #[test]
    fn secrets_are_kept_by_name_in_a_file_of_their_owner() {
        let (_folder, store) = stored();
        set(&store, "b.c-d", "2");
        set(&store, "b.c-d", "3");
        let secrets = store.secrets().unwrap();
        assert_eq!((secrets["A"].expose(), secrets["b.c-d"].expose()), ("one\ntwo \"three\"", "3"));
        assert_eq!(fs::metadata(store.path()).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(store.path().parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        let a = "A".parse().unwrap();
        assert!(store.remove(&a).unwrap() && !store.remove(&a).unwrap());
        assert_eq!(store.secrets().unwrap().len(), 1);
        assert_eq!(
            fs::read_dir(store.path().parent().unwrap()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn a_file_that_others_could_have_read_or_written_is_refused_and_kept() {
        let (folder, store) = stored();
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(store.path(), fs::Permissions::from_mode(mode)).unwrap();
            let error = store.secrets().unwrap_err();
            assert!(
                matches!(error, SecretStoreError::Mode { .. }) && error.to_string().contains("chmod 600")
            );
            let more = [("B".parse().unwrap(), "x".to_owned().into())].into();
            assert_eq!(store.set(more).unwrap_err(), error);
        }
        let moved = folder.path().join("elsewhere");
        fs::rename(store.path(), &moved).unwrap();
        symlink(&moved, store.path()).unwrap();
        assert!(matches!(store.secrets(), Err(SecretStoreError::Link(_))));
        fs::remove_file(store.path()).unwrap();
        fs::create_dir(store.path()).unwrap();
        assert!(matches!(store.secrets(), Err(SecretStoreError::NoFile(_))));
    }

    #[test]
    fn what_is_malformed_is_told_by_its_line_without_a_value() {
        let (_folder, store) = stored();
        for text in ["A = 'x'\nB = s3cret\n", "A = 'x'\nB = 7\n", "A = 'x'\n[b]\nc = 's3cret'\n"] {
            AtomicFile::put(store.path(), text, FileReaders::Owner).unwrap();
            let error = store.secrets().unwrap_err();
            assert!(matches!(error, SecretStoreError::Malformed { line: 2, .. }), "{text}: {error}");
            assert!(!format!("{error} {error:?}").contains("s3cret"));
        }
    }
}
