use std::io;
use std::path::PathBuf;

use mgp_security::StoreError;

/// Why the kernel does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration asks for something that there is not.
    #[error("{0}")]
    Config(String),
    /// What the kernel keeps cannot be opened.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// What the kernel keeps cannot be opened, maybe because another kernel has it open.
    #[error(
        "the kernel cannot use what it keeps in {path}: {error}; `kernel.state` in mgp.toml names another place"
    )]
    Kept {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: StoreError,
    },
    /// There is no room for what the kernel keeps.
    #[error(
        "the kernel cannot keep its state in {path}: {error}; `kernel.state` in mgp.toml names another place"
    )]
    State {
        /// Where it is to be kept.
        path: PathBuf,
        /// What is wrong there.
        error: io::Error,
    },
    /// Nobody can connect.
    #[error("the kernel cannot listen at {at}: {error}")]
    Listen {
        /// The address or path.
        at: String,
        /// What is wrong there.
        error: io::Error,
    },
}

impl StartError {
    /// Whether another kernel has the state open.
    #[cfg(unix)]
    pub(crate) const fn is_in_use(&self) -> bool {
        matches!(self, Self::Store(StoreError::InUse) | Self::Kept { error: StoreError::InUse, .. })
    }
}
