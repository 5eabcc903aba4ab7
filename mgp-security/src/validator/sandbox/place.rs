//! The classification of paths: the system, a device, a secret, a file that runs at the next login.

use super::{HOLE, is_listed, lies_in};

/// An absolute or relative path, without empty, `.` and `..` components, with `~` for the home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place(String);

impl Place {
    /// Returns the place that `path` denotes, seen from the directory `from`.
    pub(super) fn new(path: &str, from: &str) -> Self {
        let path = path.strip_prefix("file://").unwrap_or(path).replace('\\', "/");
        let joined = match path.as_bytes().first() {
            Some(b'/' | b'~' | 0) => path,
            _ if from.is_empty() => path,
            _ => format!("{from}/{path}"),
        };
        let mut parts: Vec<&str> = Vec::new();
        let mut climbed = false;
        for part in joined.split('/') {
            match part {
                "" | "." => {}
                ".." => climbed |= parts.pop().is_none_or(|last| last.contains(HOLE)),
                other => parts.push(other),
            }
        }
        let absolute = joined.starts_with('/')
            || (climbed && parts.first().is_some_and(|first| is_listed("top", first)));
        let mut place = parts.join("/");
        if absolute {
            place.insert(0, '/');
        } else if climbed {
            place.insert_str(0, "../");
        }
        // The homes of root and of other users are treated like the home of the current user.
        for prefix in ["/root", "/home/", "/Users/", "/export/home/"] {
            if let Some(rest) = place.strip_prefix(prefix) {
                let rest = if prefix == "/root" { Some(rest) } else { rest.find('/').map(|at| &rest[at..]) };
                if let Some(inner) = rest.filter(|rest| rest.starts_with('/')) {
                    return Self(format!("~{inner}"));
                }
            }
        }
        Self(place)
    }

    fn inside(&self, directory: &str) -> bool {
        self.0.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns whether the place is the root, a directory right below it, or a whole home, which is too much for one
    /// command.
    pub(super) fn is_vast(&self) -> bool {
        let trimmed = self.0.strip_suffix("/*").unwrap_or(&self.0);
        let top = trimmed.strip_prefix('/').is_some_and(|rest| rest.is_empty() || is_listed("top", rest));
        let drive = trimmed.len() <= 3 && trimmed.as_bytes().get(1) == Some(&b':');
        let home = trimmed.strip_prefix('~').is_some_and(|rest| !rest.contains('/'));
        top || drive || home || is_listed("vast", trimmed)
    }

    /// Returns whether the place belongs to the system, so that only administrators change it.
    pub(super) fn is_system(&self) -> bool {
        if self.is_device()
            || self.0 == "/*"
            || (self.0.starts_with('/') && self.is_vast() && self.0 != "/tmp")
        {
            return self.0 != "/tmp" && self.0 != "/mnt" && self.0 != "/home";
        }
        if self.inside("/dev") {
            let name = self.0.strip_prefix("/dev/").unwrap_or("");
            return !is_listed("harmless-devices", name);
        }
        if self.inside("/usr/local") || self.inside("/proc/self/fd") {
            return false;
        }
        let lower = self.0.to_ascii_lowercase();
        lies_in("system-folders", &self.0) || lower.starts_with("c:/windows") || lower.starts_with("c:/boot")
    }

    /// Returns whether the path leads out of the directory that it is seen from.
    pub(super) fn climbs(&self) -> bool {
        self.0.split('/').next() == Some("..")
    }

    /// Returns whether the place is a named tree below the working directory. The records of a repository do not count,
    /// nor does a tree that is only named by a variable or by a pattern that matches almost everything.
    pub(super) fn is_below_here(&self) -> bool {
        let first = self.0.split('/').next().unwrap_or("");
        let pattern = first.contains(['*', '?', '[']);
        // The pattern `*.o` is specific, but `a*` is not.
        let named = |letters: usize| letters > usize::from(pattern && !first.contains('.'));
        let mut bracketed = false;
        let letters = first.chars().filter(|&c| {
            bracketed = c == '[' || (bracketed && c != ']');
            !bracketed && c.is_alphanumeric()
        });
        (named(letters.count()) || self.0.ends_with(".egg-info"))
            && !self.0.starts_with(['/', '~', '$', '%'])
            && !self.0.contains([':', HOLE])
            && !self.0.split('/').any(|part| matches!(part, ".git" | ".hg" | ".jj"))
    }

    /// Returns whether the place is a tree below the working directory that a build or an installation creates again.
    pub(super) fn is_rebuilt(&self) -> bool {
        self.is_below_here()
            && self.0.split('/').any(|part| is_listed("rebuilt", part) || part.ends_with(".egg-info"))
    }

    /// Returns whether the place is a cache that programs fill again, or a named tree among temporary files.
    pub(super) fn is_refillable(&self) -> bool {
        let named = |directory: &&str| {
            self.0
                .strip_prefix(*directory)
                .is_some_and(|rest| rest.contains(|c: char| c.is_alphanumeric()) && !rest.contains(HOLE))
        };
        let exact = !self.0.contains(['*', '?', '[']);
        self.inside("/var/lib/apt/lists")
            || ["/var/cache/", "~/.cache/"].iter().any(&named)
            || (exact && ["/tmp/", "/var/tmp/"].iter().any(named))
    }

    /// Returns whether the place is a disk, a partition or the memory itself.
    pub(super) fn is_device(&self) -> bool {
        self.0.strip_prefix("/dev/").is_some_and(|name| is_listed("disks", name))
    }

    /// Returns whether the place is a file that some program reads and runs later, without being asked.
    pub(super) fn runs_later(&self) -> bool {
        if let Some(rest) = self.0.strip_prefix("~/") {
            return lies_in("startup", rest);
        }
        lies_in("later", &self.0) || self.0.contains(".git/hooks/")
    }

    /// Returns whether the place is a record of what was done.
    pub(super) fn is_log(&self) -> bool {
        self.inside("/var/log") || self.inside("/var/run/utmp") || self.is_history()
    }

    /// Returns whether the place is a log of the users who came and of what they did.
    pub(super) fn is_trail(&self) -> bool {
        self.is_history() || self.0.strip_prefix("/var/log/").is_some_and(|name| is_listed("trails", name))
    }

    fn is_history(&self) -> bool {
        let name = self.name();
        self.0.starts_with("~/") && name.starts_with('.') && name.ends_with("_history")
    }

    fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or("")
    }

    /// Returns whether the place is a file whose contents give access to something.
    pub(super) fn is_secret(&self) -> bool {
        let lower = self.0.to_ascii_lowercase();
        if self.is_history() || lies_in("secret-files", &self.0) || is_listed("windows-secrets", &lower) {
            return true;
        }
        let name = self.name();
        if let Some(rest) = self.0.strip_prefix("~/")
            && lies_in("secret-home", rest)
        {
            return name.strip_suffix(".pub").is_none() && !is_listed("open-home", rest);
        }
        is_listed("secret-names", name) && !is_listed("env-samples", name)
    }

    /// Returns whether the place is a file that runs in place of a program that people start by its name.
    pub(super) fn shadows_program(&self) -> bool {
        let folders = ["/usr/local/bin/", "/usr/local/sbin/", "~/.local/bin/", "~/bin/", "~/.cargo/bin/"];
        let name = folders.iter().find_map(|folder| self.0.strip_prefix(folder));
        name.is_some_and(|name| is_listed("shadowed", name))
    }

    /// Returns whether the place is the socket of a service that gives its clients the rights of root.
    pub(super) fn is_control(&self) -> bool {
        is_listed("sockets", self.name())
    }

    /// Returns whether the place is the list of accounts. It is not secret, but is what an intruder shows first.
    pub(super) fn is_accounts(&self) -> bool {
        matches!(self.0.as_str(), "/etc/passwd" | "/etc/group" | "/private/etc/passwd")
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}
