//! The files that no call may touch, independent of the open directories.
//!
//! [`ProtectedPaths::check`] reads a path in every way that some program may read it. It compares each reading with the
//! `table`, with the kernel's own files, and with the exceptions of the operator. For paths of this machine, it also
//! asks the operating system where they really end.

mod pattern;
mod spelling;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use self::pattern::PathPattern;
use self::spelling::{PathAnchor, PathReading};
use crate::Finding;
use crate::data_file::{Section, sections, split};
use crate::named::{Named as _, named};

/// The use that a call makes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathAccess {
    /// The call reads the file, or lists the directory.
    Read,
    /// The call creates, changes or replaces the file.
    Write,
    /// The call removes the file with everything below it: it deletes or moves it.
    Remove,
}

named! {
    /// The kind of a protected file, by its name in `table.txt`, which describes each.
    pub(crate) enum ProtectedKind {
        /// A file of the kernel itself: its state, sockets and configuration.
        "kernel" => Kernel,
        /// A private key.
        "key" => Key,
        /// A file with passwords or tokens.
        "secret" => Secret,
        /// A record of what a user typed.
        "history" => History,
        /// The profile of a browser or messenger, with its cookies and passwords.
        "browser" => Browser,
        /// A file that a shell, an editor, a session or the system starts programs from.
        "startup" => Startup,
        /// A file that makes git start programs, or decides where it pushes to.
        "git" => Git,
        /// The configuration of a client or an editor, which starts programs.
        "client" => Client,
        /// The passwords of accounts, and the rules of who may act as whom.
        "accounts" => Accounts,
        /// The list of accounts. It is not secret, but is what an intruder reads first.
        "account list" => AccountList,
        /// A standard stream or terminal of a process.
        "stream" => Stream,
        /// A device.
        "device" => Device,
        /// A socket that controls another program.
        "socket" => Socket,
        /// A part of the system: processes, the running kernel, programs and their settings.
        "system" => System,
    }
}

/// The reason why a path is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProtectedReason {
    /// The kind of the file.
    pub(crate) kind: ProtectedKind,
    /// True if the file may be read.
    pub(crate) readable: bool,
    /// The pattern that protects the file, in the notation of `allow_paths`. No entry there releases the kernel's own
    /// files.
    pub(crate) pattern: Cow<'static, str>,
}

/// The set of files that no call may touch.
///
/// ```
/// use mgp_security::path::{PathAccess, ProtectedPaths};
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
    /// The files and directories of the kernel, each as it is written and as it resolves.
    own: Vec<Own>,
    released: Vec<PathPattern>,
    homes: Vec<Vec<String>>,
    /// The directory in which relative paths begin, if the paths are of this machine.
    base: Option<PathBuf>,
}

#[derive(Debug, Clone)]
struct Own {
    names: Vec<String>,
    written: Cow<'static, str>,
}

impl ProtectedPaths {
    /// Protects a file of the kernel, or a directory with everything below it. The path need not exist yet.
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

    mgp_types::setters! { self =>
        /// Releases the paths that match `pattern`, which is in the notation of the table: `~/.npmrc`, `**/.env`,
        /// `/etc/hosts`.
        pub fn releasing(pattern: &str) => self.released.push(PathPattern::new(pattern));

        /// Adds `directory` as the home of a user.
        pub fn with_home(directory: impl AsRef<Path>) => self.homes.push(spelling::names_of(directory.as_ref()));

        /// Resolves paths on this machine as well. Relative paths begin at `base`.
        pub fn on_this_machine(base: impl Into<PathBuf>) => self.base = Some(base.into());
    }

    /// Returns why `path` is protected against `access`; `None` if it is not protected.
    ///
    /// `path` may also be a shell pattern or a `file:` URI.
    pub(crate) fn judge(&self, path: &str, access: PathAccess) -> Option<ProtectedReason> {
        if path.len() > MAX_BYTES || path.contains('\n') {
            return None;
        }
        let judge = |text: &str| {
            let readings = spelling::readings(text, &self.homes);
            readings.iter().find_map(|same| self.judge_place(same, access))
        };
        // A reader that is asked for everything is asked for no file in particular.
        let is_any = access == PathAccess::Read && matches!(path.trim_start_matches("**/"), "*" | "**");
        judge(path).or_else(|| judge(&self.end_of(path).filter(|_| !is_any)?.to_string_lossy()))
    }

    /// Checks that `path` is not protected against `access`.
    ///
    /// # Errors
    /// Fails if the path is protected; the finding names the reason.
    pub fn check(&self, path: &str, access: PathAccess) -> Result<(), Finding> {
        self.judge(path, access).map_or(Ok(()), |reason| Err(reason.into()))
    }

    /// Judges one place by all its readings.
    fn judge_place(&self, same: &[PathReading], access: PathAccess) -> Option<ProtectedReason> {
        let own = same.iter().find_map(|reading| self.judge_own(reading, access));
        let released = |reading: &PathReading| self.released.iter().any(|pattern| pattern.covers(reading));
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

    /// Returns the path that `path` resolves to on this machine, if that is known.
    fn end_of(&self, path: &str) -> Option<PathBuf> {
        let base = self.base.as_deref()?;
        super::roots::resolve(&base.join(&*super::roots::local(path))).ok()
    }
}

impl From<ProtectedReason> for Finding {
    fn from(reason: ProtectedReason) -> Self {
        let described = TABLE.kinds.iter().find(|(name, _)| *name == reason.kind.name());
        let (what, pattern) = (described.map_or("", |(_, what)| *what), &reason.pattern);
        if reason.kind == ProtectedKind::Kernel && !pattern.starts_with("**/") {
            return Self::new("protected-path", format!("the path {what}: no call may touch it"));
        }
        let forbidden = if reason.readable { "may change it" } else { "may touch it" };
        let why = format!(
            "the path {what}: no call {forbidden} unless the operator adds {pattern:?} to `allow_paths` under `[validators]`"
        );
        Self::new("protected-path", why)
    }
}

/// Judges a reading by the table.
fn judge_known(reading: &PathReading, access: PathAccess) -> Option<ProtectedReason> {
    for group in &TABLE.groups {
        let readable = group.forbids == ForbiddenUse::Writing;
        let releases = group.forbids == ForbiddenUse::Nothing;
        // A path with wildcards may also match other files than the harmless ones, so it gets no exception.
        if reading.is_pattern && releases {
            continue;
        }
        for (pattern, written) in &group.patterns {
            let covers = pattern.covers(reading);
            if covers && (releases || readable && access == PathAccess::Read) {
                return None;
            }
            if covers || access == PathAccess::Remove && !releases && pattern.lies_below(reading) {
                return Some(ProtectedReason { kind: group.kind, readable, pattern: Cow::Borrowed(written) });
            }
        }
    }
    None
}

/// The largest length of a path in bytes; a longer text is not a path.
const MAX_BYTES: usize = 4096;

/// The contents of `table.txt`.
#[derive(Default)]
struct ProtectedTable {
    groups: Vec<Group>,
    /// The kinds of files, each with its description for messages to people.
    kinds: Vec<(&'static str, &'static str)>,
    /// Environment variables, each with the beginning of the patterns that it stands for.
    variables: Vec<(&'static str, &'static str)>,
    /// Directories below which a whole file system begins again.
    mounts: Vec<&'static str>,
    /// Homes of users, and patterns of the directories that hold them.
    homes: Vec<&'static str>,
}

/// A group of patterns with the same kind and the same forbidden use.
struct Group {
    kind: ProtectedKind,
    forbids: ForbiddenUse,
    /// The patterns, each also as it is written.
    patterns: Vec<(PathPattern, &'static str)>,
}

named! {
    /// The use that a group of patterns forbids.
    enum ForbiddenUse {
        "nothing" => Nothing,
        "writing" => Writing,
        "everything" => Everything,
    }
}

/// The table of protected files.
static TABLE: LazyLock<ProtectedTable> = LazyLock::new(|| {
    let mut table = ProtectedTable::default();
    for section in sections(include_str!("table.txt")) {
        match section.heading {
            "kinds" => table.kinds = pairs(&section).collect(),
            "variables" => table.variables = pairs(&section).collect(),
            "mounts" => table.mounts = patterns(&section).collect(),
            "homes" => table.homes = patterns(&section).collect(),
            group => {
                let (kind, forbids) = split(group, ": ");
                let named = ProtectedKind::named(kind).zip(ForbiddenUse::named(forbids));
                let (kind, forbids) = named.expect("a heading names a kind and a use");
                let patterns = patterns(&section).map(|text| (PathPattern::new(text), text)).collect();
                table.groups.push(Group { kind, forbids, patterns });
            }
        }
    }
    table
});

fn pairs(section: &Section) -> impl Iterator<Item = (&'static str, &'static str)> {
    section.entries.iter().map(|entry| split(entry.line, "="))
}

fn patterns(section: &Section) -> impl Iterator<Item = &'static str> {
    section.entries.iter().flat_map(|entry| entry.line.split(", "))
}
