use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::Finding;

use super::AbsolutePaths;

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
    open: Vec<PathBuf>,
    origin: RootOrigin,
}

/// Who says which directories are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootOrigin {
    /// The operator, as such.
    Configured,
    /// They follow from what the operator named for something else.
    Named,
}

impl Roots {
    /// Opens `base`, where relative paths begin.
    ///
    /// # Errors
    /// It is no directory that can be read.
    pub fn new(base: impl AsRef<Path>) -> io::Result<Self> {
        let base = directory(base.as_ref())?;
        Ok(Self { open: vec![base.clone()], base, origin: RootOrigin::Configured })
    }

    /// Opens `open`, directories that somebody named without saying that they are all; relative paths begin at `base`.
    /// Returns `None` if none of them can be read.
    ///
    /// A path that leads elsewhere is refused only if its beginning exists on this machine: `/v1/pages` is no path there.
    pub fn named(base: impl AsRef<Path>, open: impl IntoIterator<Item = PathBuf>) -> Option<Self> {
        let open: Vec<_> = open.into_iter().filter_map(|path| directory(&path).ok()).collect();
        let base = directory(base.as_ref()).ok()?;
        (!open.is_empty()).then_some(Self { base, open, origin: RootOrigin::Named })
    }

    /// Opens another directory; paths in it are written in full.
    ///
    /// # Errors
    /// It is no directory that can be read.
    pub fn and(mut self, other: impl AsRef<Path>) -> io::Result<Self> {
        self.open.push(directory(other.as_ref())?);
        Ok(self)
    }

    /// Decides on `path`, and returns where it ends, free of links.
    ///
    /// It asks the system, so it blocks as long as the file system does.
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
        // A path with a root of its own takes the place of the base.
        let end = resolve(&self.base.join(path))?;
        if self.holds(&end) { Ok(end) } else { Err(outside()) }
    }

    /// Follows a path as the system does, and asks nothing of how it is written.
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

    /// Decides on a text that is a path by its looks alone, and so perhaps one of another place.
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

/// Returns a path of this machine as the system takes it: without the scheme of a `file:` address, with the home for `~`.
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
