//! What of calls and transactions outlives the process.

#[cfg(feature = "store")]
mod effect_store;

use std::sync::Arc;

#[cfg(feature = "store")]
pub use self::effect_store::EffectStore;

/// The reason why something could not be stored, or read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A newer version of this program wrote the store; an older one could lose data that the newer one added.
    #[error("the store has schema {found}, this version knows up to {known}: update the program")]
    Newer {
        /// The version found in the store.
        found: u32,
        /// The last version that this program knows.
        known: u32,
    },
    /// Another process has the store open.
    #[error("another program has the store open; stop it, or give this one a store of its own")]
    InUse,
    /// The disk has no room left.
    #[error("the disk is full; free some space")]
    Full,
    /// The stored data is not what was written.
    #[error("the store is damaged: {0}")]
    Damaged(Arc<str>),
    /// The store cannot be accessed.
    #[error("the store cannot be used")]
    Unavailable(#[source] Arc<dyn std::error::Error + Send + Sync>),
}
