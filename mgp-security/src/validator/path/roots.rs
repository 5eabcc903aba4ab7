use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::Finding;

use super::Absolute;

/// The directories that are open to calls.
///
/// A path is followed as the system would follow it, links included, and must end inside one of them. What does not
/// exist yet may be named, below what does.
///
/// Between this answer and the use of it a link can change. Where others may write to the directories, open what
/// [`check`](Self::check) returns with a call that follows no links.
///
/// ```
/// use mgp_security::validator::path::Roots;
///
/// let roots = Roots::new(std::env::temp_dir())?;
/// assert!(roots.check("notes/new.txt").is_ok());
/// assert!(roots.check("../new.txt").is_err());
/// assert!(roots.check("/").is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Roots {
    /// Where relative paths begin.
    base: PathBuf,
    others: Vec<PathBuf>,
}

impl Roots {
    /// Opens `base`, where relative paths begin.
    ///
    /// # Errors
    /// It is no directory that can be read.
    pub fn new(base: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self { base: directory(base.as_ref())?, others: Vec::new() })
    }

    /// Opens another directory; paths in it are written in full.
    ///
    /// # Errors
    /// It is no directory that can be read.
    pub fn and(mut self, other: impl AsRef<Path>) -> io::Result<Self> {
        self.others.push(directory(other.as_ref())?);
        Ok(self)
    }

    /// Decides on `path`, and returns where it ends, free of links.
    ///
    /// It asks the system, so it blocks as long as the file system does.
    pub fn check(&self, path: &str) -> Result<PathBuf, Finding> {
        if cfg!(windows) { self.locate(&path.replace('\\', "/")) } else { self.locate(path) }
    }

    fn locate(&self, path: &str) -> Result<PathBuf, Finding> {
        super::check(path, Absolute::Decided)?;
        // A path with a root of its own takes the place of the base.
        let end = resolve(&self.base.join(path))?;
        if std::iter::once(&self.base).chain(&self.others).any(|root| end.starts_with(root)) {
            Ok(end)
        } else {
            Err(Finding::new(
                "outside-root",
                "the path ends outside of the open directories: name one inside",
            ))
        }
    }
}

fn directory(path: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize()?;
    if path.is_dir() { Ok(path) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Where the path ends: the part that exists with its links followed, and the rest as it is written.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, Finding> {
    let unclear =
        || Finding::new("unresolvable-path", "the path cannot be followed: name one that exists or is new");
    let mut existing = path.to_path_buf();
    let mut missing: Vec<OsString> = Vec::new();
    loop {
        match existing.canonicalize() {
            Ok(mut end) => {
                end.extend(missing.iter().rev());
                return Ok(end);
            }
            // What is written to a link without an end is created at that end, wherever it lies.
            Err(error) if error.kind() != io::ErrorKind::NotFound || existing.is_symlink() => {
                return Err(unclear());
            }
            Err(_) => {
                let Some(Component::Normal(name)) = existing.components().next_back() else {
                    return Err(unclear());
                };
                missing.push(name.to_owned());
                existing.pop();
            }
        }
    }
}
