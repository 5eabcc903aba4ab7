//! The directories that are open to calls, and the resolution of paths in them.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::Finding;

use super::AbsolutePaths;

/// The directories that are open to calls.
///
/// A path is resolved as the operating system does it, links included, and must end inside one of the directories. The
/// last parts of a path need not exist yet.
///
/// A link can change between this check and the use of the path. If others may write to the directories, open the path
/// that [`check`](Self::check) returns with a call that follows no links.
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
    /// The directory in which relative paths begin.
    base: PathBuf,
    open: Vec<PathBuf>,
    origin: RootOrigin,
}

/// The origin of the list of open directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootOrigin {
    /// The operator configured the directories as open.
    Configured,
    /// The directories were named by the operator for another purpose.
    Named,
}

impl Roots {
    /// Opens `base`, in which relative paths begin.
    ///
    /// # Errors
    /// Fails if `base` is not a readable directory.
    pub fn new(base: impl AsRef<Path>) -> io::Result<Self> {
        let base = directory(base.as_ref())?;
        Ok(Self { open: vec![base.clone()], base, origin: RootOrigin::Configured })
    }

    /// Opens the directories `open`, which were named for another purpose and so may be incomplete. Relative paths
    /// begin at `base`. Returns `None` if `base` or all of the directories are unreadable.
    ///
    /// A path that leads elsewhere is refused only if its first folder exists on this machine: `/v1/pages` is not a
    /// path here.
    pub fn named(base: impl AsRef<Path>, open: impl IntoIterator<Item = PathBuf>) -> Option<Self> {
        let open: Vec<_> = open.into_iter().filter_map(|path| directory(&path).ok()).collect();
        let base = directory(base.as_ref()).ok()?;
        (!open.is_empty()).then_some(Self { base, open, origin: RootOrigin::Named })
    }

    /// Opens another directory. Paths in it must be absolute.
    ///
    /// # Errors
    /// Fails if `other` is not a readable directory.
    pub fn and(mut self, other: impl AsRef<Path>) -> io::Result<Self> {
        self.open.push(directory(other.as_ref())?);
        Ok(self)
    }

    /// Checks that `path` ends in an open directory, and returns the path it resolves to, free of links.
    ///
    /// The check asks the operating system, so it blocks as long as the file system does.
    pub fn check(&self, path: &str) -> Result<PathBuf, Finding> {
        let slashed;
        let path = if cfg!(windows) {
            slashed = path.replace('\\', "/");
            &slashed
        } else {
            path
        };
        match self.origin {
            RootOrigin::Configured => self.locate(path),
            RootOrigin::Named => self.locate_named(path),
        }
    }

    fn locate(&self, path: &str) -> Result<PathBuf, Finding> {
        super::check(path, AbsolutePaths::Decided)?;
        // An absolute path replaces the base.
        let end = resolve(&self.base.join(path))?;
        if self.holds(&end) { Ok(end) } else { Err(outside()) }
    }

    /// Resolves a path as the operating system does, without checks of its spelling.
    fn locate_named(&self, path: &str) -> Result<PathBuf, Finding> {
        let plain = local(path);
        let end = resolve(&self.base.join(&*plain))?;
        if self.holds(&end) {
            return Ok(end);
        }
        let first: PathBuf = Path::new(&*plain).components().take(2).collect();
        if plain.starts_with('/') && first.components().count() == 2 && !first.exists() {
            return Ok(end);
        }
        Err(outside())
    }

    /// Checks a text that only looks like a path, and so may belong to another place than this machine.
    pub(crate) fn check_likely(&self, text: &str) -> Result<(), Finding> {
        self.locate_named(text).map(drop)
    }

    fn holds(&self, end: &Path) -> bool {
        self.open.iter().any(|root| end.starts_with(root))
    }
}

fn outside() -> Finding {
    Finding::new(
        "outside-root",
        "the path ends outside of the open directories: name one inside, or have the operator add its directory to \
         `roots` under `[validators]`",
    )
}

/// Returns a path of this machine as the operating system reads it: without the scheme of a `file:` URI, and with the
/// home directory for `~`.
pub(super) fn local(path: &str) -> Cow<'_, str> {
    let path = path.trim();
    if let Some(address) =
        path.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:")).map(|_| &path[5..])
    {
        let plain =
            address.strip_prefix("//localhost").or_else(|| address.strip_prefix("//")).unwrap_or(address);
        let plain = plain.split(['?', '#']).next().unwrap_or(plain);
        return super::encoding::decode(plain).ok().flatten().map_or(Cow::Borrowed(plain), Cow::Owned);
    }
    let below = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (below, std::env::home_dir()) {
        (Some(rest), Some(home)) => Cow::Owned(format!("{}{rest}", home.display())),
        _ => Cow::Borrowed(path),
    }
}

fn directory(path: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize()?;
    if path.is_dir() { Ok(path) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Resolves a path: the links in the existing part are followed, and the rest stays as it is written.
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
            // A file that is written through a dangling link is created at the target of the link, wherever that is.
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
