use mgp_types::{Error, code};

/// Why a store could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A newer version of this program wrote the store; reading it by guess could lose what it added.
    #[error("the {section} store has schema {found}, this version knows up to {known}: update mgp")]
    Newer {
        /// The section whose tables they are.
        section: &'static str,
        /// The version found.
        found: u32,
        /// The last version known here.
        known: u32,
    },
    /// Another process has the store open for writing.
    #[error("another mgp has the store open; stop it, or give this one a store of its own")]
    InUse,
    /// There is no room left.
    #[error("the disk is full; free some space")]
    Full,
    /// What is stored is not what was written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// What stands where the store is kept is not this user's own.
    #[error("{0}")]
    NotOwn(String),
    /// The store cannot be reached.
    #[error("the store cannot be used")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<StoreError> for Error {
    /// The caller learns that nothing was stored, and nothing about the store.
    fn from(error: StoreError) -> Self {
        let told = match error {
            StoreError::Full => {
                Self::new(code::RESOURCE_EXHAUSTED, "the record cannot be kept: no room is left")
            }
            _ => Self::internal("the record cannot be kept; the operator has to look at the store"),
        };
        told.with_source(error)
    }
}
