//! The user's trust in the `mgp.toml` of folders, noted by path and digest.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use mgp_types::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::atomic_file::{create_private_folder, if_found};
use crate::secrets::Environment;
use crate::{AtomicFile, FileReaders};

/// The `mgp.toml` of a folder, read once: the bytes that are shown, judged and used are the same.
#[derive(Debug, Clone)]
pub struct FolderFile {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

/// The user's trust in the `mgp.toml` of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a file is trusted, or was, or never was")]
pub enum FolderTrust {
    /// The user trusts the file as it is.
    Trusted,
    /// The user trusted the file, and it has changed since.
    Changed,
    /// The user never trusted the file.
    Never,
}

/// An `mgp.toml` that exists and is ignored, because the user does not trust it. `Display` tells the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedFile {
    path: PathBuf,
    /// The fault of the file, as the second half of a sentence that begins with its path.
    why: String,
}

/// The notes of the folders that the user trusts. The notes lie in the user's state directory, never in such a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedFolders {
    directory: PathBuf,
}

/// A note that a folder's file is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrustedFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The SHA-256 of the file when it was trusted.
    pub sha256: String,
}

impl FolderFile {
    /// Reads the file at `path`; `None` if there is none.
    ///
    /// The folder's path is made canonical, and the file itself is not: a link to a file that is trusted elsewhere
    /// would start that file's programs in this folder.
    ///
    /// # Errors
    /// The file cannot be read, is not a regular file, or is longer than 4 MiB.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let found = if_found(read_bounded(path))?;
        found.map(|bytes| Ok(Self { path: canonical(path)?, bytes })).transpose()
    }

    /// Creates the value for a file at `path` that was just written with this text.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn written(path: &Path, text: &str) -> io::Result<Self> {
        Ok(Self { path: canonical(path)?, bytes: text.into() })
    }

    /// Returns the path of the file, in a folder whose path is canonical.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the SHA-256 of the file, in hexadecimal.
    pub fn sha256(&self) -> String {
        hexadecimal(&self.bytes)
    }
}

impl UntrustedFile {
    /// Returns the notice that a file cannot be read.
    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self { path: path.into(), why: format!("cannot be read and is ignored: {error}") }
    }

    /// Returns the notice that a file is not trusted; `None` if it is.
    pub(super) fn of(file: &FolderFile, trust: FolderTrust) -> Option<Self> {
        let why = match trust {
            FolderTrust::Trusted => return None,
            FolderTrust::Changed => "has changed since you trusted it, is not trusted and is ignored",
            FolderTrust::Never => "is not trusted and is ignored",
        };
        Some(Self { path: file.path.clone(), why: format!("{why}: {ADVICE}") })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

const ADVICE: &str = "run \"mgp trust\" to look at it and allow it";

mgp_types::write_as!(Display of UntrustedFile, self =>
    "{} in this folder {}", self.path.file_name().unwrap_or_else(|| OsStr::new("mgp.toml")).display(), self.why
);

impl TrustedFolders {
    /// Creates notes in `directory`, which need not exist.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Creates notes in `mgp/trusted` in `$XDG_STATE_HOME` or in `~/.local/state`; `None` without a home.
    pub fn from_env(environment: &dyn Environment) -> Option<Self> {
        let state = environment.own_directory("XDG_STATE_HOME", ".local/state")?;
        Some(Self::at(state.join("trusted")))
    }

    /// Returns whether a folder's file is trusted.
    pub fn trust_of(&self, file: &FolderFile) -> FolderTrust {
        match read_note(&self.note_of(&file.path)) {
            Some(note) if note.path == file.path && note.sha256 == file.sha256() => FolderTrust::Trusted,
            Some(note) if note.path == file.path => FolderTrust::Changed,
            _ => FolderTrust::Never,
        }
    }

    /// Notes that a folder's file is trusted as it is.
    ///
    /// # Errors
    /// The note cannot be written.
    pub fn trust(&self, file: &FolderFile) -> io::Result<()> {
        let note = TrustedFile { path: file.path.clone(), sha256: file.sha256() };
        // A path that is not UTF-8 is an error here, and such a folder stays untrusted.
        let text = serde_json::to_string(&note).map_err(io::Error::other)?;
        create_private_folder(&self.directory)?;
        AtomicFile::put(&self.note_of(&file.path), &text, FileReaders::Owner)
    }

    /// Forgets that the file at `path` is trusted. Returns whether it was.
    ///
    /// # Errors
    /// The note cannot be removed.
    pub fn forget(&self, path: &Path) -> io::Result<bool> {
        // The folder may be gone.
        let path = canonical(path).or_else(|_| std::path::absolute(path))?;
        Ok(if_found(fs::remove_file(self.note_of(&path)))?.is_some())
    }

    /// Returns the files that are trusted, by path.
    ///
    /// # Errors
    /// The notes cannot be read.
    pub fn list(&self) -> io::Result<Vec<TrustedFile>> {
        let mut files = Vec::new();
        for note in if_found(fs::read_dir(&self.directory))?.into_iter().flatten() {
            let note = note?.path();
            files.extend(read_note(&note).filter(|file| self.note_of(&file.path) == note));
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    }

    /// Returns the path of the note about the file at `path`: a file of its own, so that two processes that note
    /// something at once do not undo each other's work.
    pub fn note_of(&self, path: &Path) -> PathBuf {
        self.directory.join(format!("{}.json", hexadecimal(path.as_os_str().as_encoded_bytes())))
    }
}

fn read_note(path: &Path) -> Option<TrustedFile> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn canonical(path: &Path) -> io::Result<PathBuf> {
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(fs::canonicalize(folder)?.join(name))
}

fn hexadecimal(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&hex::<64>(&Sha256::digest(bytes))).into_owned()
}

/// The length of a configuration file at most, in bytes. People write shorter files.
const LONGEST_FILE: u64 = 4 << 20;

/// Reads a file of the length that a configuration may have.
pub(super) fn read_bounded(file: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("the path is not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(file)?.take(LONGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(io::Error::other("the file is longer than 4 MiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_trusted_as_it_is_and_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let trusted = TrustedFolders::at(folder.path().join("notes"));
        let [one, other] = ["one", "other"].map(|name| {
            fs::create_dir(folder.path().join(name)).unwrap();
            folder.path().join(name).join("mgp.toml")
        });
        let trust = |path: &Path| trusted.trust_of(&FolderFile::read(path).unwrap().unwrap());
        assert!(FolderFile::read(&one).unwrap().is_none());
        fs::write(&one, "# one\n").unwrap();
        assert_eq!(trust(&one), FolderTrust::Never);
        trusted.trust(&FolderFile::read(&one).unwrap().unwrap()).unwrap();
        assert_eq!(trust(&one), FolderTrust::Trusted);
        assert_eq!(trust(&folder.path().join("other/../one/mgp.toml")), FolderTrust::Trusted);
        fs::copy(&one, &other).unwrap();
        assert_eq!(trust(&other), FolderTrust::Never, "the same text elsewhere");
        fs::write(&one, "# changed\n").unwrap();
        assert_eq!(trust(&one), FolderTrust::Changed);
        fs::write(&one, "# one\n").unwrap();
        assert_eq!(trust(&one), FolderTrust::Trusted);
        assert_eq!(trusted.list().unwrap()[0].path, fs::canonicalize(&one).unwrap());
        assert!(trusted.forget(&one).unwrap() && !trusted.forget(&one).unwrap());
        assert_eq!(trust(&one), FolderTrust::Never);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_trusted_file_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let trusted = TrustedFolders::at(folder.path().join("notes"));
        let own = folder.path().join("mgp.toml");
        fs::write(&own, "").unwrap();
        trusted.trust(&FolderFile::read(&own).unwrap().unwrap()).unwrap();
        let cloned = folder.path().join("cloned");
        fs::create_dir(&cloned).unwrap();
        std::os::unix::fs::symlink(&own, cloned.join("mgp.toml")).unwrap();
        let linked = FolderFile::read(&cloned.join("mgp.toml")).unwrap().unwrap();
        assert_eq!(trusted.trust_of(&linked), FolderTrust::Never);
    }

    #[test]
    fn a_note_counts_for_its_own_folder_only() {
        let folder = tempfile::tempdir().unwrap();
        let trusted = TrustedFolders::at(folder.path().join("notes"));
        let file = FolderFile { path: folder.path().join("mgp.toml"), bytes: Vec::new() };
        trusted.trust(&file).unwrap();
        let other = FolderFile { path: folder.path().join("other.toml"), ..file.clone() };
        fs::rename(trusted.note_of(&file.path), trusted.note_of(&other.path)).unwrap();
        assert_eq!(trusted.trust_of(&other), FolderTrust::Never);
        assert!(trusted.list().unwrap().is_empty());
    }
}
