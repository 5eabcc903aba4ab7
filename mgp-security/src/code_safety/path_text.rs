use std::sync::LazyLock;

use crate::validator::path::{PathAccess, ProtectedKind, ProtectedPaths, ProtectedReason};

/// Whether the text names a file that holds secrets, or that controls the machine.
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
    // Code names many files that it never opens; what lets others in is no name that it has by chance.
    let lets_in = |reason: ProtectedReason| {
        !matches!(
            reason.kind,
            ProtectedKind::Stream | ProtectedKind::System | ProtectedKind::Git | ProtectedKind::Client
        )
    };
    // No code that is sent has to name what a shell starts from.
    let starts_programs = |reason: ProtectedReason| reason.kind == ProtectedKind::Startup;
    SENSITIVE.iter().any(is_below)
        || (!path.contains(' ')
            && (PROTECTED.judge(text, PathAccess::Read).is_some_and(lets_in)
                || PROTECTED.judge(text, PathAccess::Write).is_some_and(starts_programs)))
}

/// Whether the text is a path from the root or from a home, other than one that swallows what is written to it.
pub(super) fn is_absolute(text: &str) -> bool {
    let path = normalize(text.trim());
    (path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':')) && !path.starts_with("/dev/")
}

/// Whether the text is a path from the root into what belongs to the system or to other users.
pub(super) fn is_of_system(text: &str) -> bool {
    let path = normalize(text.trim());
    let is_drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes().get(2) == Some(&b'/');
    let is_ours = OURS
        .iter()
        .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    (path.starts_with('/') && !is_ours)
        || is_drive
        || path.starts_with("~/.")
        || path.split('/').any(|part| part == "..")
}

/// Whether the path names what a contest of break-ins hides.
pub(super) fn is_flag(text: &str) -> bool {
    matches!(text.trim().rsplit(['/', '\\']).next(), Some("flag" | "flag.txt"))
}

/// The path with `/` between its parts, and without empty ones and `.`.
fn normalize(text: &str) -> String {
    let text = text.replace('\\', "/");
    let parts = text.split('/').enumerate().filter(|(index, part)| *index == 0 || !matches!(*part, "" | "."));
    let joined = parts.map(|(_, part)| part).collect::<Vec<_>>().join("/");
    if joined.is_empty() && text.starts_with('/') { "/".to_owned() } else { joined }
}

/// Longer texts are prose.
const MAX_LEN: usize = 1000;

const SENSITIVE: [&str; 22] = [
    "/etc/passwd",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssh",
    "/etc/crontab",
    "/etc/cron.d",
    "/etc/ld.so.preload",
    "/proc/self",
    "/proc/1/",
    "/proc/kcore",
    "/dev/mem",
    "/dev/sda",
    "/dev/tcp/",
    "/root/",
    "/.ssh/",
    "/.aws/",
    "/.gnupg/",
    "/.kube/",
    "/.docker/config",
    "/var/run/docker.sock",
    "/run/secrets",
];
/// What no call may touch, code may not name either.
static PROTECTED: LazyLock<ProtectedPaths> = LazyLock::new(ProtectedPaths::default);
/// Where code may read and write without touching what belongs to others.
const OURS: [&str; 5] = ["/tmp", "/var/tmp", "/dev/null", "/dev/stdin", "/dev/stdout"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_secrets_are_known() {
        for path in [
            "/etc/shadow",
            "/etc//./passwd",
            "file:///etc/passwd",
            "~/.ssh/id_rsa",
            "/proc/self/environ",
            "id_rsa",
            "~/.aws/credentials",
            "C:\\Users\\ada\\.ssh\\id_ed25519",
            ".config/gcloud/credentials.db",
        ] {
            assert!(is_sensitive(path), "{path}");
        }
        for path in [
            "/etc/hosts",
            "passwd",
            "/etc/passwords_are_fun",
            "data/etc.txt",
            "a id_rsa_like thing",
            "text/html",
        ] {
            assert!(!is_sensitive(path), "{path}");
        }
    }

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
