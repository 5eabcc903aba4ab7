//! Writing a planned change, with a backup.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::ExportPlan;
use crate::{AtomicFile, FileReaders, atomic_file::if_found, clients::read_file};

/// The reason why a file could not be written, or not be restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The file at this path changed after it was planned.
    #[error("{} has changed meanwhile: look at the change again", .0.display())]
    Changed(PathBuf),
    /// The file at this path has no backup.
    #[error("there is nothing to undo: {} has no backup, so mgp has not changed it", .0.display())]
    NoBackup(PathBuf),
    /// The file at this path did not have the written text when it was read again; the previous text was restored.
    #[error("{} did not keep the written text", .0.display())]
    NotKept(PathBuf),
    /// The system refused an operation.
    #[error("{}", path.display())]
    System {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
}

impl ExportPlan {
    /// Writes the file in one step, keeps a backup beside it, and reads it again. Returns the path of the backup.
    pub fn apply(&self) -> Result<PathBuf, ApplyError> {
        let path = real(&self.path);
        if current(&path)? != self.before {
            return Err(ApplyError::Changed(path));
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(refused(parent))?;
        }
        // The backup must also record that there was no file.
        let backup = if self.before.is_some() {
            copy_beside(&path, BACKUP)?
        } else {
            let absent = beside(&path, BACKUP, ABSENT);
            File::create_new(&absent).map_err(refused(&absent))?;
            absent
        };
        AtomicFile::put(&path, &self.after, FileReaders::Kept).map_err(refused(&path))?;
        if current(&path)?.as_deref() != Some(&self.after) {
            restore(&path, &backup)?;
            return Err(ApplyError::NotKept(path));
        }
        Ok(backup)
    }
}

/// Restores the newest backup of a file, no matter who wrote the file since, and removes the backup. Returns the path
/// at which the replaced text is kept.
pub fn roll_back(path: &Path) -> Result<Option<PathBuf>, ApplyError> {
    let path = real(path);
    let Some(backup) = newest_backup(&path)? else { return Err(ApplyError::NoBackup(path)) };
    let kept = current(&path)?.map(|_| copy_beside(&path, "mgp-undone")).transpose()?;
    restore(&path, &backup)?;
    Ok(kept)
}

/// Returns the path that a link leads to, so that the link stays a link.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn current(path: &Path) -> Result<Option<String>, ApplyError> {
    read_file(path).map_err(refused(path))
}

const ABSENT: &str = ".absent";
const BACKUP: &str = "mgp-backup";

/// Returns the path of a file beside another one, named after it and the time.
fn beside(path: &Path, what: &str, end: &str) -> PathBuf {
    let time = Timestamp::now().strftime("%Y%m%dT%H%M%S%.9fZ");
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{what}-{time}{end}"));
    name.into()
}

/// Copies a file to a path beside it, as secret as it is, and returns that path.
fn copy_beside(path: &Path, what: &str) -> Result<PathBuf, ApplyError> {
    let copy = beside(path, what, "");
    let copied = fs::copy(path, &copy)
        .and_then(|_| File::options().read(true).write(cfg!(windows)).open(&copy)?.sync_all());
    copied.map_err(refused(&copy))?;
    Ok(copy)
}

fn restore(path: &Path, backup: &Path) -> Result<(), ApplyError> {
    if backup.to_string_lossy().ends_with(ABSENT) {
        if_found(fs::remove_file(path)).map_err(refused(path))?;
        return fs::remove_file(backup).map_err(refused(backup));
    }
    fs::rename(backup, path).map_err(refused(path))
}

fn newest_backup(path: &Path) -> Result<Option<PathBuf>, ApplyError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let start = format!("{}.{BACKUP}-", name.to_string_lossy());
    let mut newest: Option<String> = None;
    let files = if_found(fs::read_dir(parent)).map_err(refused(parent))?;
    for file in files.into_iter().flatten() {
        let name = file.map_err(refused(parent))?.file_name().to_string_lossy().into_owned();
        // The names end in the time, so that the last by name is the newest.
        if name.starts_with(&start) && newest.as_ref().is_none_or(|newest| *newest < name) {
            newest = Some(name);
        }
    }
    Ok(newest.map(|name| parent.join(name)))
}

fn refused(path: &Path) -> impl FnOnce(io::Error) -> ApplyError {
    let path = path.to_owned();
    move |source| ApplyError::System { path, source }
}
