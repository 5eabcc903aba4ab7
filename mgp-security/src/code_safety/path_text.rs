//! Strings in code that name files.

use std::sync::LazyLock;

use super::names::Lists;
use crate::path::ProtectedKind::{Client, Git, Startup, Stream, System};
use crate::path::{PathAccess, ProtectedPaths, ProtectedReason};

/// Returns whether the string names a file that holds secrets, or that controls the machine.
pub(super) fn is_sensitive(text: &str) -> bool {
    let text = text.trim();
    if text.len() > MAX_LEN || text.contains(['\n', '{']) {
        return false;
    }
    let path = normalize(text);
    let is_below = |root: &&str| {
        path.match_indices(*root).any(|(at, _)| {
            let starts = at == 0 || path[..at].ends_with(['/', ':', '~', '.', ' ', '@', '=']);
            let rest = &path[at + root.len()..];
            starts
                && (root.ends_with('/')
                    || rest.is_empty()
                    || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    // Code names many files that it never opens; a file that gives access is not named by chance.
    let lets_in = |reason: ProtectedReason| !matches!(reason.kind, Stream | System | Git | Client);
    // Submitted code has no reason to name the files that a shell runs at startup.
    let starts_programs = |reason: ProtectedReason| reason.kind == Startup;
    // The paths that no call may touch, code may not name either.
    let protected = ProtectedPaths::default();
    LISTS.names("sensitive").iter().any(is_below)
        || (!path.contains(' ')
            && (protected.judge(text, PathAccess::Read).is_some_and(lets_in)
                || protected.judge(text, PathAccess::Write).is_some_and(starts_programs)))
}

/// Returns whether the string is a path from the root or from a home, except for devices, which store nothing that is
/// written to them.
pub(super) fn is_absolute(text: &str) -> bool {
    let path = normalize(text.trim());
    (path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':')) && !path.starts_with("/dev/")
}

/// Returns whether the string is a path to files of the system or of other users.
pub(super) fn is_of_system(text: &str) -> bool {
    let path = normalize(text.trim());
    let is_drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes().get(2) == Some(&b'/');
    let is_ours = LISTS
        .names("own")
        .iter()
        .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    (path.starts_with('/') && !is_ours)
        || is_drive
        || path.starts_with("~/.")
        || path.split('/').any(|part| part == "..")
}

/// Returns whether the path names the file that capture-the-flag contests hide.
pub(super) fn is_flag(text: &str) -> bool {
    matches!(text.trim().rsplit(['/', '\\']).next(), Some("flag" | "flag.txt"))
}

/// Returns the path with `/` between its parts, and without empty parts and `.`.
fn normalize(text: &str) -> String {
    let text = text.replace('\\', "/");
    let parts = text.split('/').enumerate().filter(|(index, part)| *index == 0 || !matches!(*part, "" | "."));
    let joined = parts.map(|(_, part)| part).collect::<Vec<_>>().join("/");
    if joined.is_empty() && text.starts_with('/') { "/".to_owned() } else { joined }
}

/// The largest length of a path, in bytes; longer strings are prose.
const MAX_LEN: usize = 1000;

static LISTS: LazyLock<Lists> = LazyLock::new(|| Lists::read(include_str!("paths.txt")));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_system_are_those_outside_of_the_own_places() {
        for path in
            ["/", "/etc/hosts", "/bin/sh", "C:\\Windows", "~/.config", "../x", "/tmp/../etc/x", "/tmpfoo"]
        {
            assert!(is_of_system(path), "{path}");
        }
        for path in ["/tmp/x", "data/x.csv", "x", "", "/dev/null"] {
            assert!(!is_of_system(path), "{path}");
        }
    }
}
