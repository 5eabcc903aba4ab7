//! The errors with which the kernel does not start.

use std::io;
use std::path::PathBuf;

use mgp_security::StoreError;

/// The reason why the kernel does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration asks for something that there is not.
    #[error("{0}")]
    Config(String),
    /// A store in the kernel's state cannot be opened.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A file in the kernel's state cannot be opened, maybe because another kernel has it open.
    #[error(
        "the kernel cannot use what it keeps in {path}: {error}; `kernel.state` in mgp.toml names another place"
    )]
    Kept {
        /// The file.
        path: PathBuf,
        /// The fault of the file.
        error: StoreError,
    },
    /// The folder of the kernel's state cannot be used.
    #[error(
        "the kernel cannot keep its state in {path}: {error}; `kernel.state` in mgp.toml names another place"
    )]
    State {
        /// The folder of the state.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The kernel cannot listen, so that nobody can connect.
    #[error("the kernel cannot listen at {at}: {error}")]
    Listen {
        /// The address or path.
        at: String,
        /// The cause.
        error: io::Error,
    },
}

impl StartError {
    /// Returns whether another kernel has the state open.
    pub const fn is_in_use(&self) -> bool {
        matches!(self, Self::Store(StoreError::InUse) | Self::Kept { error: StoreError::InUse, .. })
    }
}
