//! Files that no call may touch, wherever the roots are.
//!
//! [`ProtectedPaths::check`] understands a path in every way that some program may, and holds each against `table`, against the
//! kernel's own files, and against what the operator let through. Where the paths are of this machine, it asks the system
//! where they really end.

mod pattern;
mod spelling;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use self::pattern::{PathPattern, PatternRelation};
use self::spelling::{PathAnchor, PathReading};
use crate::Finding;

/// What a call does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathAccess {
    /// It reads it, or lists what is in it.
    Read,
    /// It makes it, changes it or replaces it.
    Write,
    /// It takes it away with all that is below it: deletes or moves it.
    Remove,
}

/// What a protected file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ProtectedKind {
    /// A file of the kernel itself: its state, sockets and configuration.
    Kernel,
    /// A private key.
    Key,
    /// A file with passwords or tokens.
    Secret,
    /// A record of what a user typed.
    History,
    /// The profile of a browser or messenger, with its cookies and passwords.
    Browser,
    /// A file that a shell, an editor, a session or the system starts programs from.
    Startup,
    /// What git starts, or where it pushes to.
    Git,
    /// The configuration of a client or an editor, which starts programs.
    Client,
    /// The passwords of accounts, and who may become whom.
    Accounts,
    /// The list of accounts: no secret, but what an intruder reads first.
    AccountList,
    /// The standard streams and terminals of a process.
    Stream,
    /// A device.
    Device,
    /// A socket that commands another program.
    Socket,
    /// A part of the system: processes, the running kernel, programs and their settings.
    System,
}

/// Why a path is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProtectedReason {
    /// What the file is.
    pub(crate) kind: ProtectedKind,
    /// Whether it may be read.
    pub(crate) readable: bool,
    /// The entry that it falls under, in the words that `allow_paths` takes; nothing releases the kernel's own files.
    pub(crate) pattern: Cow<'static, str>,
}

/// What a group forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForbiddenUse {
    Nothing,
    Writing,
    Everything,
}

/// The files that no call may touch.
///
/// ```
/// use mgp_security::validator::path::{PathAccess, ProtectedPaths};
///
/// let protected = ProtectedPaths::default();
/// assert!(protected.check("~/.ssh/id_ed25519", PathAccess::Read).is_err());
/// assert!(protected.check(".bashrc", PathAccess::Write).is_err());
/// assert!(protected.check(".bashrc", PathAccess::Read).is_ok());
/// assert!(protected.check("src/main.rs", PathAccess::Write).is_ok());
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct ProtectedPaths {
    /// Files and directories of the kernel: each as it is written and where it ends.
    own: Vec<Own>,
    released: Vec<PathPattern>,
    homes: Vec<Vec<String>>,
    /// Where relative paths begin, if the paths are of this machine.
    base: Option<PathBuf>,
}

#[derive(Debug, Clone)]
struct Own {
    names: Vec<String>,
    written: Cow<'static, str>,
}

impl ProtectedPaths {
    /// Protects a file of the kernel, or a directory with all that is below it. It need not exist yet.
    pub fn with_own(mut self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let written: Cow<'static, str> = full.to_string_lossy().into_owned().into();
        let ends = super::roots::resolve(&full).ok();
        for place in std::iter::once(full).chain(ends) {
            let names = spelling::names_of(&place);
            if !names.is_empty() && !self.own.iter().any(|own| own.names == names) {
                self.own.push(Own { names, written: written.clone() });
            }
        }
        self
    }

    /// Lets through what fits `pattern`, which is written as in the table: `~/.npmrc`, `**/.env`, `/etc/hosts`.
    pub fn releasing(mut self, pattern: &str) -> Self {
        self.released.push(PathPattern::new(pattern));
        self
    }

    /// Takes `directory` for the home of a user.
    pub fn with_home(mut self, directory: impl AsRef<Path>) -> Self {
        self.homes.push(spelling::names_of(directory.as_ref()));
        self
    }

    /// Asks the system where paths end. Relative ones begin at `base`.
    pub fn on_this_machine(mut self, base: impl Into<PathBuf>) -> Self {
        self.base = Some(base.into());
        self
    }

    /// Returns why `path` is protected against `access`; `None` if it is not.
    ///
    /// `path` may be a pattern of a shell or a `file:` address, too.
    pub(crate) fn judge(&self, path: &str, access: PathAccess) -> Option<ProtectedReason> {
        if path.len() > MAX_BYTES || path.contains('\n') {
            return None;
        }
        let judge = |text: &str| {
            let readings = spelling::readings(text, &self.homes);
            readings.iter().find_map(|same| self.judge_place(same, access))
        };
        judge(path).or_else(|| judge(&self.end_of(path)?.to_string_lossy()))
    }

    /// Checks `path` as a validator does.
    ///
    /// # Errors
    /// It is protected against `access`, and why.
    pub fn check(&self, path: &str, access: PathAccess) -> Result<(), Finding> {
        self.judge(path, access).map_or(Ok(()), |reason| Err(reason.into()))
    }

    /// Judges one place by all that it is called.
    fn judge_place(&self, same: &[PathReading], access: PathAccess) -> Option<ProtectedReason> {
        let own = same.iter().find_map(|reading| self.judge_own(reading, access));
        let released = |reading: &PathReading| {
            self.released.iter().any(|pattern| pattern.meets(reading) == PatternRelation::Inside)
        };
        own.or_else(|| {
            let judged = || same.iter().find_map(|reading| judge_known(reading, access));
            if same.iter().any(released) { None } else { judged() }
        })
    }

    fn judge_own(&self, reading: &PathReading, access: PathAccess) -> Option<ProtectedReason> {
        let homes = (reading.anchor == PathAnchor::Home).then_some(&self.homes).into_iter().flatten();
        let full: Vec<Vec<&String>> = match reading.anchor {
            PathAnchor::Root | PathAnchor::Climbing => vec![reading.names.iter().collect()],
            PathAnchor::Home => homes.map(|home| home.iter().chain(&reading.names).collect()).collect(),
            PathAnchor::Relative => Vec::new(),
        };
        let meets = |names: &[&String], own: &[String]| {
            names.iter().zip(own).all(|(name, own)| pattern::name_meets(own, name, reading.is_pattern))
        };
        let found = self.own.iter().find(|own| {
            full.iter().any(|names| {
                let inside = names.len() >= own.names.len();
                (inside || access == PathAccess::Remove) && meets(names, &own.names)
            })
        })?;
        Some(ProtectedReason { kind: ProtectedKind::Kernel, readable: false, pattern: found.written.clone() })
    }

    /// Where the path ends on this machine, if that is known.
    fn end_of(&self, path: &str) -> Option<PathBuf> {
        let base = self.base.as_deref()?;
        super::roots::resolve(&base.join(&*super::roots::local(path))).ok()
    }
}

impl ProtectedReason {
    /// What the file is, in words for people.
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            ProtectedKind::Kernel => "belongs to the kernel itself",
            ProtectedKind::Key => "holds a private key",
            ProtectedKind::Secret => "holds passwords or tokens",
            ProtectedKind::History => "records what a user typed",
            ProtectedKind::Browser => "holds the cookies and passwords of a browser or messenger",
            ProtectedKind::Startup => "decides what a shell, a session or the system starts",
            ProtectedKind::Git => "decides what git starts and where it pushes to",
            ProtectedKind::Client => "decides what a client or an editor starts",
            ProtectedKind::Accounts => "holds the passwords and rights of accounts",
            ProtectedKind::AccountList => "lists the accounts of the system",
            ProtectedKind::Stream => "is a stream or terminal of a process",
            ProtectedKind::Device => "is a device",
            ProtectedKind::Socket => "is a socket that commands another program",
            ProtectedKind::System => "belongs to the system",
        }
    }
}

impl From<ProtectedReason> for Finding {
    fn from(reason: ProtectedReason) -> Self {
        let (what, pattern) = (reason.what(), &reason.pattern);
        if reason.kind == ProtectedKind::Kernel && !pattern.starts_with("**/") {
            return Self::new("protected-path", format!("the path {what}: no call may touch it"));
        }
        let forbidden = if reason.readable { "may change it" } else { "may touch it" };
        Self::new(
            "protected-path",
            format!(
                "the path {what}: no call {forbidden} unless the operator adds {pattern:?} to `allow_paths` under `[validators]`"
            ),
        )
    }
}

/// Holds a reading against the table.
fn judge_known(reading: &PathReading, access: PathAccess) -> Option<ProtectedReason> {
    for group in &*COMPILED {
        // What lies in the way of a pattern is not let through for one of the files that it fits.
        if reading.is_pattern && group.forbids == ForbiddenUse::Nothing {
            continue;
        }
        for (pattern, written) in &group.patterns {
            let meets = pattern.meets(reading);
            let refused = match (meets, group.forbids) {
                (PatternRelation::No, _) => continue,
                (PatternRelation::Inside, ForbiddenUse::Nothing) => return None,
                (PatternRelation::Inside, ForbiddenUse::Writing) if access == PathAccess::Read => {
                    return None;
                }
                (PatternRelation::Inside, _) => true,
                (PatternRelation::Above, forbids) => {
                    access == PathAccess::Remove && forbids != ForbiddenUse::Nothing
                }
            };
            if refused {
                let readable = group.forbids == ForbiddenUse::Writing;
                return Some(ProtectedReason { kind: group.kind, readable, pattern: Cow::Borrowed(written) });
            }
        }
    }
    None
}

struct Compiled {
    kind: ProtectedKind,
    forbids: ForbiddenUse,
    patterns: Vec<(PathPattern, &'static str)>,
}

static COMPILED: LazyLock<Vec<Compiled>> = LazyLock::new(|| {
    let groups = table::GROUPS.iter();
    groups
        .map(|group| Compiled {
            kind: group.kind,
            forbids: group.forbids,
            patterns: group.patterns.split(", ").map(|text| (PathPattern::new(text), text)).collect(),
        })
        .collect()
});

/// Longer texts are no paths.
const MAX_BYTES: usize = 4096;
