use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What a confined program may reach. Everything else is closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Confinement {
    /// Files and folders, each with all that is below it.
    pub(crate) paths: Vec<OpenPath>,
    /// TCP ports that may be connected to.
    pub(crate) connect: Ports,
    /// TCP ports that may be listened at.
    pub(crate) listen: Ports,
    /// Whether Unix sockets may be opened. A pair of connected ones always may.
    pub(crate) unix_sockets: bool,
    /// Whether the modes and owners of files may be changed by path. No system bounds by folder which files those are.
    pub(crate) change_modes: bool,
}

/// A file or folder that is open to a confined program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct OpenPath {
    pub(crate) path: PathBuf,
    pub(crate) access: PathAccess,
}

/// What may be done with a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PathAccess {
    /// The names in folders may be listed.
    List,
    /// Files may be read as well, and executed.
    Read,
    /// Files may be made, changed and removed as well.
    Write,
    /// A device may be read and written, and nothing be made of it.
    Device,
}

/// Some of the TCP ports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ports {
    /// None of them.
    #[default]
    Closed,
    /// These.
    Only(Vec<u16>),
    /// All of them.
    All,
}

impl Confinement {
    pub(super) fn open(&mut self, path: impl AsRef<Path>, access: PathAccess) {
        let opened = OpenPath { path: path.as_ref().to_owned(), access };
        if !self.paths.contains(&opened) {
            self.paths.push(opened);
        }
    }

    /// Whether the program may use any of the network.
    pub(super) fn has_network(&self) -> bool {
        self.connect != Ports::Closed || self.listen != Ports::Closed
    }

    /// Whether it may send what belongs to no TCP connection: no system bounds that by port.
    pub(super) fn has_datagrams(&self) -> bool {
        self.connect == Ports::All || self.listen == Ports::All
    }
}

impl Ports {
    /// Opens these, beside those that are open.
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
