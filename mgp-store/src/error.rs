//! The errors of all stores.

use std::io;

use mgp_types::mgp::Recovery;
use mgp_types::{Error, code};

/// The outcome of the work of a store.
pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// The reason why a store could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A newer version of this program wrote the store; an older one could lose data that the newer one added.
    #[error("the {section} store has schema {found}, this version knows up to {known}: update mgp{way_back}")]
    Newer {
        /// The section that owns the tables.
        section: String,
        /// The version found in the store.
        found: u32,
        /// The last version that this program knows.
        known: u32,
        /// The copy that was made before the schema was changed, and how it takes the place of the store; empty if there
        /// is none.
        way_back: String,
    },
    /// Kernels that share the order have agreed on older tables, for which this version writes no statements.
    #[error(
        "the kernels that share this store agreed on schema {agreed} of {section}, and this version writes {known}: once \
         all of them have this version, run `mgp store migrate`"
    )]
    NotAgreed {
        /// The section that owns the tables.
        section: String,
        /// The version on which they agreed.
        agreed: u32,
        /// The version that this program writes.
        known: u32,
    },
    /// The store was used without an order, so that other kernels do not know what it holds.
    #[error(
        "it has decisions that other kernels do not know: while these have none, `mgp store copy` makes them those of all \
         kernels; otherwise move the file away"
    )]
    Apart,
    /// The shared database was not prepared.
    #[error("the shared database has no tables of mgp: run `mgp store init`")]
    NoTables,
    /// The shared database is reached through a pooler that does not keep connections.
    #[error(
        "`url` of `[store]` leads to a pooler in transaction mode, which gives connections to others between transactions: \
         connect directly, or through a pooler in session mode"
    )]
    Pooled,
    /// The shared order has begun, so that a copy of other tables cannot be its first entry.
    #[error("the kernels that share this store have decisions already, and a copy would take their place")]
    Begun,
    /// Another process has the store open for writing.
    #[error("another mgp has the store open; stop it, or give this one a store of its own")]
    InUse,
    /// The disk has no room left.
    #[error("the disk is full; free some space")]
    Full,
    /// The stored data is not what was written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// The file or folder of the store does not belong to this user.
    #[error("{0}")]
    NotOwn(String),
    /// The store cannot be accessed.
    #[error("the store cannot be used")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

mgp_types::convert!(io::Error => StoreError, error => match error.kind() {
    io::ErrorKind::StorageFull => Self::Full,
    _ => Self::Unavailable(Box::new(error)),
});

impl From<StoreError> for Error {
    /// Converts to an error that tells the caller that nothing was stored, and nothing about the store.
    fn from(error: StoreError) -> Self {
        let converted = match error {
            StoreError::Full => {
                let message = "the record cannot be kept: no room is left on the disk of its folder, which `mgp status` shows";
                unrecordable(message, 60_000)
            }
            _ => Self::internal("the record cannot be kept; the operator has to look at the store"),
        };
        converted.with_source(error)
    }
}

/// Returns 3001 for something that was not done because it could not be recorded, with the advice to try again later.
pub fn unrecordable(message: &'static str, retry_after_ms: u64) -> Error {
    let recovery = Recovery::for_code(code::RESOURCE_EXHAUSTED).unwrap_or_default();
    Error::new(code::RESOURCE_EXHAUSTED, message).with_recovery(recovery.with_retry_after_ms(retry_after_ms))
}
