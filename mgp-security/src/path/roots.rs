//! The directories that are open to calls, the folders of a client that may be, and the resolution of paths in them.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mcp::ListRootsResult;
use mgp_types::{ClientFolders, Context, Method, Object, Session};

use crate::Finding;
use crate::shell::{expand_braces, quoted};

use super::{PathAccess, ProtectedPaths, is_file_address};

/// The directories that are open to calls.
///
/// A path is resolved as the operating system does it, links included, and must end inside one of the directories. The
/// last parts of a path need not exist yet.
///
/// A link can change between this check and the use of the path. If others may write to the directories, open the path
/// that [`check`](Self::check) returns with a call that follows no links.
///
/// ```
/// use mgp_security::path::Roots;
///
/// let roots = Roots::new(std::env::temp_dir())?;
/// assert!(roots.check("notes/new.txt").is_ok());
/// assert!(roots.check("../new.txt").is_err());
/// assert!(roots.check("/").is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Roots {
    /// The directory in which relative paths begin.
    base: PathBuf,
    open: Vec<PathBuf>,
    /// True if the directories were named by the operator for another purpose than opening them.
    is_named: bool,
    more: Option<Arc<MoreFolders>>,
}

mgp_types::partial_debug!(Roots, self => base: self.base, open: self.open);

/// A function that returns the directories that are open beside the roots to a client that works in the given ones.
type MoreFolders = dyn Fn(&[PathBuf]) -> Vec<PathBuf> + Send + Sync;

/// The folders of the client whose call is judged; there are none if nobody wrote them into the request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallFolders<'a> {
    client: Option<&'a ClientFolders>,
    session: Option<&'a Session>,
    /// True if the client was asked for its roots in this call.
    is_asked: bool,
    /// True if the operator named the folders of all clients.
    has_named_roots: bool,
}

impl<'a> CallFolders<'a> {
    pub(crate) fn of(context: &'a Context, is_asked: bool, has_named_roots: bool) -> Self {
        Self {
            client: context.folders.as_deref(),
            session: context.session.as_deref(),
            is_asked,
            has_named_roots,
        }
    }

    /// Returns the folders in which the client works, if anybody knows them and the operator named no others.
    pub(crate) const fn own(self) -> Option<&'a ClientFolders> {
        if self.has_named_roots { None } else { self.client }
    }
}

impl Roots {
    /// Opens `base`, in which relative paths begin.
    ///
    /// # Errors
    /// Fails if `base` is not a readable directory.
    pub fn new(base: impl AsRef<Path>) -> io::Result<Self> {
        let base = directory(base.as_ref())?;
        Ok(Self { open: vec![base.clone()], base, is_named: false, more: None })
    }

    /// Opens the directories `open`, which were named for another purpose and so may be incomplete, beside the
    /// [folders of the client](ClientFolders) that calls. Relative paths begin at `base`. Returns `None` if `base` is
    /// unreadable.
    ///
    /// A path that leads elsewhere is refused only if its first folder exists on this machine: `/v1/pages` is not a
    /// path here. Where nothing is named and nothing says where the client works, every path passes.
    pub fn named(base: impl AsRef<Path>, open: impl IntoIterator<Item = PathBuf>) -> Option<Self> {
        let open = open.into_iter().filter_map(|path| directory(&path).ok()).collect();
        let base = directory(base.as_ref()).ok()?;
        Some(Self { base, open, is_named: true, more: None })
    }

    /// Opens the directories that `more` returns for a client that works in the given ones. It is asked only where
    /// nothing else opens a path.
    pub fn with_more(self, more: impl Fn(&[PathBuf]) -> Vec<PathBuf> + Send + Sync + 'static) -> Self {
        Self { more: Some(Arc::new(more)), ..self }
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
        self.check_for(path, CallFolders::default())
    }

    /// Checks `path` like [`check`](Self::check), for a client with these folders.
    pub(crate) fn check_for(&self, path: &str, folders: CallFolders<'_>) -> Result<PathBuf, Finding> {
        let path = if cfg!(windows) { Cow::Owned(path.replace('\\', "/")) } else { Cow::Borrowed(path) };
        if self.is_named { self.locate_named(&path, folders) } else { self.locate(&path, folders) }
    }

    fn locate(&self, path: &str, folders: CallFolders<'_>) -> Result<PathBuf, Finding> {
        super::check(path, true)?;
        // An absolute path replaces the base.
        let end = resolve(&self.base.join(path))?;
        if self.holds(&end) { Ok(end) } else { self.locate_further(end, folders) }
    }

    /// Resolves a path as the operating system does. Each other path that some program may read in its text has to end
    /// in an open directory as well.
    pub(crate) fn locate_named(&self, path: &str, folders: CallFolders<'_>) -> Result<PathBuf, Finding> {
        let end = self.locate_literal(path, folders)?;
        let others = spelled(path);
        others.iter().try_for_each(|other| self.locate_literal(other, folders).map(drop))?;
        Ok(end)
    }

    fn locate_literal(&self, path: &str, folders: CallFolders<'_>) -> Result<PathBuf, Finding> {
        let plain = local(path);
        let end = resolve(&self.base.join(&*plain))?;
        if self.holds(&end) {
            return Ok(end);
        }
        let first: PathBuf = Path::new(&*plain).components().take(2).collect();
        if plain.starts_with('/') && first.components().count() == 2 && !first.exists() {
            return Ok(end);
        }
        let is_unsaid = folders.client.is_none_or(ClientFolders::are_unsaid);
        if let Some(client) = folders.client {
            if client.wants_to_be_asked(folders.session, folders.is_asked) {
                let why = "the client's roots changed while it was asked for them: call again";
                return Err(Finding::new(UNASKED, why));
            }
            if client.hold(&end) {
                return Ok(end);
            }
        }
        if self.open.is_empty() && is_unsaid { Ok(end) } else { self.locate_further(end, folders) }
    }

    /// Checks a path that lies in none of the roots, nor in the folders of the client if these count.
    fn locate_further(&self, end: PathBuf, folders: CallFolders<'_>) -> Result<PathBuf, Finding> {
        let clients = folders.client.map(ClientFolders::all).unwrap_or_default();
        let more = self.more.as_ref().map(|more| more(&clients)).unwrap_or_default();
        if more.iter().any(|folder| end.starts_with(folder)) {
            return Ok(end);
        }
        let counted = clients.iter().filter(|_| self.is_named);
        Err(outside(&end, counted.chain(&self.open).chain(&more), clients.first()))
    }

    fn holds(&self, end: &Path) -> bool {
        self.open.iter().any(|root| end.starts_with(root))
    }
}

/// Returns the refusal of a path, with the folders that are open and the command that opens one to clients that work in
/// `client`.
fn outside<'a>(end: &Path, open: impl Iterator<Item = &'a PathBuf>, client: Option<&PathBuf>) -> Finding {
    let mut named: Vec<String> = open.map(|folder| format!("`{}`", folder.display())).collect();
    let further = named.len().saturating_sub(MAX_NAMED);
    named.truncate(MAX_NAMED);
    named.extend((further > 0).then(|| format!("{further} more")));
    let open = if named.is_empty() { "none".to_owned() } else { named.join(", ") };
    let folder = if end.is_dir() { Some(end) } else { end.parent().filter(|folder| folder.is_dir()) };
    // What is everything is not proposed.
    let folder = folder
        .and_then(usable_folder)
        .map_or_else(|| "FOLDER".to_owned(), |folder| quoted(&folder.display().to_string()));
    let there = |client: &PathBuf| format!("--in {}", quoted(&client.display().to_string()));
    let whom = client.map_or_else(|| "--everywhere".to_owned(), there);
    let why = format!(
        "the path ends outside of the folders that are open to this client: {open}; `mgp open {folder} {whom}` opens one"
    );
    Finding::new("outside-root", why)
}

/// The rule that refuses a path until the client is asked for its roots.
pub(crate) const UNASKED: &str = "unasked-roots";

/// The largest number of open folders that a refusal names.
const MAX_NAMED: usize = 8;

/// Returns a path of this machine as the operating system reads it: without the scheme of a `file:` URI, and with the
/// home directory for `~`.
pub(super) fn local(path: &str) -> Cow<'_, str> {
    let path = path.trim();
    if is_file_address(path) {
        let address = &path[5..];
        let plain =
            address.strip_prefix("//localhost").or_else(|| address.strip_prefix("//")).unwrap_or(address);
        let plain = plain.split(['?', '#']).next().unwrap_or(plain);
        return super::decode(plain).ok().flatten().map_or(Cow::Borrowed(plain), Cow::Owned);
    }
    let below = HOMES.iter().find_map(|home| path.strip_prefix(home));
    let below = below.filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let Some((rest, home)) = below.zip(std::env::home_dir()) else { return Cow::Borrowed(path) };
    Cow::Owned(format!("{}{rest}", home.display()))
}

/// The spellings of the home directory that programs expand.
const HOMES: [&str; 3] = ["~", "$HOME", "${HOME}"];

/// Returns the paths that a program reads in `path` if it takes off quotes, the sign of a file (`@/a`) or the prefix of a
/// device (`//?/`), or expands braces.
fn spelled(path: &str) -> Vec<String> {
    let plain = path.trim().trim_matches(['"', '\'', '`']);
    let begins = |rest: &&str| rest.starts_with('/') || HOMES.iter().any(|home| rest.starts_with(home));
    let plain = plain.strip_prefix('@').filter(begins).unwrap_or(plain);
    let plain = [r"\\?\", r"\\.\", "//?/", "//./"]
        .iter()
        .find_map(|device| plain.strip_prefix(device))
        .unwrap_or(plain);
    let spelled = expand_braces(plain, MAX_SPELLINGS);
    if spelled.iter().eq([path]) { Vec::new() } else { spelled }
}

/// The largest number of paths that braces are expanded to.
const MAX_SPELLINGS: usize = 48;

pub(super) fn directory(path: &Path) -> io::Result<PathBuf> {
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

/// Returns the folder, free of links, if it can be opened to the client that works in it. It cannot if it is not there,
/// is protected, or says nothing about what the client works on: the root of the file system, the home, or a folder above
/// the home.
pub fn usable_folder(folder: &Path) -> Option<PathBuf> {
    let folder = directory(folder).ok()?;
    let mut protected = ProtectedPaths::default();
    if let Some(home) = std::env::home_dir().and_then(|home| directory(&home).ok()) {
        if home.starts_with(&folder) {
            return None;
        }
        protected = protected.with_home(home);
    }
    let is_protected = protected.check(folder.to_str()?, PathAccess::Write).is_err();
    (folder.parent().is_some() && !is_protected).then_some(folder)
}

/// Asks the sender of a request for its roots, on the way back that the request has, and returns those that may be
/// opened; `None` if there is no answer.
pub(crate) async fn declared_roots(context: &Context) -> Option<Vec<PathBuf>> {
    let asked = context.ask("roots", Method::ROOTS_LIST, Object::new());
    let answer = tokio::time::timeout(LONGEST, asked).await.ok()?;
    let answer =
        answer.inspect_err(|error| tracing::debug!(%error, "a client does not list its roots")).ok()?;
    let listed: ListRootsResult = answer.to().ok()?;
    Some(listed.roots.iter().take(MAX_ROOTS).filter_map(|root| usable_folder(&path_of(&root.uri)?)).collect())
}

/// Returns the path of a `file:` URI of this machine.
fn path_of(uri: &str) -> Option<PathBuf> {
    let path = PathBuf::from(&*local(uri));
    (is_file_address(uri) && path.is_absolute()).then_some(path)
}

/// The longest time that a call waits for the roots of its client.
const LONGEST: Duration = Duration::from_secs(10);
/// The largest number of roots of a client that are opened.
const MAX_ROOTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_everything_or_protected_is_not_usable() {
        let own = tempfile::tempdir().unwrap();
        let inner = own.path().join("with blank");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(own.path().join("file"), "").unwrap();
        let real = inner.canonicalize().unwrap();
        assert_eq!(usable_folder(&inner), Some(real.clone()));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&inner, own.path().join("link")).unwrap();
            assert_eq!(usable_folder(&own.path().join("link")), Some(real));
        }
        let home = std::env::home_dir().unwrap();
        for folder in ["/", "/etc", "/proc", "/usr/lib"]
            .map(Path::new)
            .into_iter()
            .chain([&*home, home.parent().unwrap()])
        {
            assert_eq!(usable_folder(folder), None, "{}", folder.display());
        }
        assert_eq!(usable_folder(&own.path().join("file")), None);
        assert_eq!(usable_folder(&own.path().join("missing")), None);
    }

    #[test]
    fn only_uris_of_files_of_this_machine_are_paths() {
        assert_eq!(path_of("file:///a/b%20c"), Some("/a/b c".into()));
        assert_eq!(path_of("FILE://localhost/a b"), Some("/a b".into()));
        assert_eq!(path_of("file:///a/100%25"), Some("/a/100%".into()));
        for uri in ["https://example.com/a", "/a", "file:a", "file://elsewhere/a", "file://", ""] {
            assert_eq!(path_of(uri), None, "{uri}");
        }
    }
}
