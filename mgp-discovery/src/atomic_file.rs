//! Files that are replaced in one step.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that takes its place in one step when it is complete: readers have the old file or the new one. Dropped
/// before [`finish`](Self::finish), it leaves the old file.
///
/// A link stays a link. A path that is no file, such as a terminal or a pipe, is written to directly.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    /// The path until the file is complete, and its final path.
    moves: Option<(PathBuf, PathBuf)>,
}

/// The users who may read a file that replaces another one. A file that replaces none is for its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "all may who could, or none")]
pub enum FileReaders {
    /// The readers of the old file.
    Kept,
    /// The owner alone.
    Owner,
}

impl AtomicFile {
    /// Begins a file that belongs at `path`, and creates the folders for it.
    pub fn at(path: &Path, readers: FileReaders) -> io::Result<Self> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let there = fs::metadata(&path).ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            return Ok(Self { file: OpenOptions::new().write(true).open(path)?, moves: None });
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let beside = beside(&path)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let new = Self { file: options.open(&beside)?, moves: Some((beside, path)) };
        if let Some(there) = there.filter(|_| readers == FileReaders::Kept) {
            new.file.set_permissions(there.permissions())?;
        }
        Ok(new)
    }

    /// Replaces a file by a whole text.
    pub fn put(path: &Path, text: &str, readers: FileReaders) -> io::Result<()> {
        let mut new = Self::at(path, readers)?;
        new.write(text.as_bytes())?;
        new.finish()
    }

    /// Writes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Puts the file in its place.
    pub fn finish(mut self) -> io::Result<()> {
        let Some((beside, path)) = &self.moves else { return Ok(()) };
        self.file.sync_all()?;
        fs::rename(beside, path)?;
        self.moves = None;
        Ok(())
    }
}

/// Creates a folder that only its owner may open, and those above it.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut folders = fs::DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
    folders.create(path)
}

/// Returns `None` where an operation failed because there is no such file or folder.
pub(crate) fn if_found<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.moves {
            // The write error is what the caller is told.
            let _ = fs::remove_file(beside);
        }
    }
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    name.push(format!(".{}-{number}.tmp", std::process::id()));
    Ok(path.with_file_name(name))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_not_finished_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let mut file = AtomicFile::at(&path, FileReaders::Owner).unwrap();
        file.write(b"half").unwrap();
        drop(file);
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode()), ("old", 0o644));
        AtomicFile::put(&path, "kept", FileReaders::Kept).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode()), ("kept", 0o644));
        AtomicFile::put(&path, "own", FileReaders::Owner).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode()), ("own", 0o600));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        AtomicFile::at(Path::new("/dev/null"), FileReaders::Owner).unwrap().write(b"x").unwrap();
    }

    #[test]
    fn a_link_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        AtomicFile::put(&link, "new", FileReaders::Kept).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
