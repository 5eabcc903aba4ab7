//! Writing what was planned, so that it can be undone.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::Plan;
use crate::clients::MAX_FILE_BYTES;
use crate::{NewFile, Readers};

/// A file could not be written, or not be brought back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// It changed since it was looked at.
    #[error("{} has changed meanwhile: look at it again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// There is no backup to go back to.
    #[error("{} has no backup", path.display())]
    NoBackup {
        /// The file.
        path: PathBuf,
    },
    /// It did not say what was written when it was read again; it was brought back.
    #[error("{} did not keep what was written", path.display())]
    NotKept {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Plan {
    /// Writes the file: what it was is kept beside it, it is exchanged at once, and read again. Returns where it is kept.
    pub fn apply(&self) -> Result<PathBuf, ApplyError> {
        let path = real(&self.path);
        if current(&path)? != self.before {
            return Err(ApplyError::Changed { path });
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(refused(parent))?;
        }
        let backup = back_up(&path, self.before.as_deref())?;
        NewFile::put(&path, &self.after, Readers::Kept).map_err(refused(&path))?;
        if current(&path)?.as_deref() != Some(&self.after) {
            restore(&path, &backup)?;
            return Err(ApplyError::NotKept { path });
        }
        Ok(backup)
    }
}

/// Makes a file what it was before it was last written, whoever did that since, and takes the backup away. What it
/// said is kept beside it. Returns where that is.
pub fn roll_back(path: &Path) -> Result<Option<PathBuf>, ApplyError> {
    let path = real(path);
    let Some(backup) = newest_backup(&path)? else { return Err(ApplyError::NoBackup { path }) };
    let kept = match current(&path)? {
        Some(text) => Some(write_beside(&path, "mgp-undone", "", &text)?),
        None => None,
    };
    restore(&path, &backup)?;
    Ok(kept)
}

/// What a link leads to, so that the link stays one.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn current(path: &Path) -> Result<Option<String>, ApplyError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(refused(path)(why)),
    };
    let mut text = String::new();
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_string(&mut text).map_err(refused(path))?;
    Ok(Some(text))
}

fn back_up(path: &Path, before: Option<&str>) -> Result<PathBuf, ApplyError> {
    // That there was no file has to be remembered, too.
    let end = if before.is_some() { "" } else { ABSENT };
    write_beside(path, BACKUP, end, before.unwrap_or_default())
}

/// Writes a new file beside another one, named after it and the time, that is as secret as the other one.
fn write_beside(path: &Path, what: &str, end: &str, text: &str) -> Result<PathBuf, ApplyError> {
    let permissions = fs::metadata(path).ok().map(|metadata| metadata.permissions());
    let mut tried = 0;
    loop {
        let time = Timestamp::now().strftime("%Y%m%dT%H%M%S%.9fZ");
        let beside = with_ending(path, &format!(".{what}-{time}{end}"));
        match write_new(&beside, text, permissions.clone()) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists && tried < 100 => tried += 1,
            Err(why) => return Err(refused(&beside)(why)),
            Ok(()) => return Ok(beside),
        }
    }
}

fn write_new(path: &Path, text: &str, permissions: Option<Permissions>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Until it is known who may read it, nobody else does.
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

fn restore(path: &Path, backup: &Path) -> Result<(), ApplyError> {
    if backup.to_string_lossy().ends_with(ABSENT) {
        match fs::remove_file(path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(refused(path)(why)),
            _ => {}
        }
        return fs::remove_file(backup).map_err(refused(backup));
    }
    fs::rename(backup, path).map_err(refused(path))
}

fn newest_backup(path: &Path) -> Result<Option<PathBuf>, ApplyError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let start = format!("{}.{BACKUP}-", name.to_string_lossy());
    let mut newest: Option<String> = None;
    for file in fs::read_dir(parent).map_err(refused(parent))? {
        let name = file.map_err(refused(parent))?.file_name().to_string_lossy().into_owned();
        // The names end in the time, so that the last by name is the newest.
        if name.starts_with(&start) && newest.as_ref().is_none_or(|newest| *newest < name) {
            newest = Some(name);
        }
    }
    Ok(newest.map(|name| parent.join(name)))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn refused(path: &Path) -> impl FnOnce(io::Error) -> ApplyError {
    let path = path.to_owned();
    move |source| ApplyError::System { path, source }
}

const BACKUP: &str = "mgp-backup";
const ABSENT: &str = ".absent";
