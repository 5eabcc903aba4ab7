//! The description of a confinement, which the kernel passes to the launcher.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The description of what a confined program may reach. Everything else is closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The files and folders that are open, each with all that is below it.
    pub(crate) paths: BTreeSet<OpenPath>,
    /// The paths within open ones that can be read and not changed. They need a [view](Self::has_view).
    #[serde(default)]
    pub(crate) read_only: BTreeSet<PathBuf>,
    /// True if the program has a view of the file system of its own, in which nothing but the open paths can be changed.
    #[serde(default)]
    pub(crate) has_view: bool,
    /// The TCP ports that the program may connect to.
    pub(crate) connect: Ports,
    /// The TCP ports that the program may listen at.
    pub(crate) listen: Ports,
    /// True if Unix sockets may be opened. Pairs of connected ones always may.
    pub(crate) unix_sockets: bool,
    /// True if the modes and owners of files may be changed by path. Only a [view](Self::has_view) bounds which files those
    /// are.
    pub(crate) change_modes: bool,
}

/// A file or folder that is open to a confined program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct OpenPath {
    pub(crate) path: PathBuf,
    pub(crate) access: PathAccess,
}

/// The access to a file or folder; each kind but the last includes the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PathAccess {
    /// The names in folders may be listed.
    List,
    /// Names may be listed, and files may be read and executed.
    Read,
    /// Names may be listed, and files may be read, executed, made, changed and removed.
    Write,
    /// A device may be read and written; nothing can be made there.
    Device,
}

/// A set of TCP ports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ports {
    /// None of them.
    #[default]
    Closed,
    /// Only these ports.
    Only(Vec<u16>),
    /// All TCP ports.
    All,
}

impl Confinement {
    pub(super) fn open(&mut self, path: impl AsRef<Path>, access: PathAccess) {
        self.paths.insert(OpenPath { path: path.as_ref().to_owned(), access });
    }

    /// Returns whether the program may use any of the network.
    pub(super) fn has_network(&self) -> bool {
        self.connect != Ports::Closed || self.listen != Ports::Closed
    }

    /// Returns whether the program may send datagrams, which belong to no TCP connection: no system bounds them by
    /// port.
    #[cfg(any(target_os = "linux", test))]
    pub(super) fn has_datagrams(&self) -> bool {
        self.connect == Ports::All || self.listen == Ports::All
    }
}

impl Ports {
    /// Opens these ports, beside those that are open.
    pub(super) fn add(&mut self, ports: &[u16]) {
        match self {
            Self::All => {}
            Self::Only(open) => {
                open.extend(ports);
                open.sort_unstable();
                open.dedup();
            }
            Self::Closed if ports.is_empty() => {}
            Self::Closed => *self = Self::Only(ports.to_vec()),
        }
    }
}
