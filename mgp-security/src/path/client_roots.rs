//! The folders of a client that may be opened to its calls.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mgp_types::mcp::ListRootsResult;
use mgp_types::{Context, Method, Object};

use super::roots::{self, directory};
use super::{PathAccess, ProtectedPaths, is_file_address};

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
    Some(listed.roots.iter().take(MAX_ROOTS).filter_map(|root| usable_folder(&local(&root.uri)?)).collect())
}

/// Returns the path of a `file:` URI of this machine.
fn local(uri: &str) -> Option<PathBuf> {
    let path = PathBuf::from(&*roots::local(uri));
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
        assert_eq!(local("file:///a/b%20c"), Some("/a/b c".into()));
        assert_eq!(local("FILE://localhost/a b"), Some("/a b".into()));
        assert_eq!(local("file:///a/100%25"), Some("/a/100%".into()));
        for uri in ["https://example.com/a", "/a", "file:a", "file://elsewhere/a", "file://", ""] {
            assert_eq!(local(uri), None, "{uri}");
        }
    }
}
