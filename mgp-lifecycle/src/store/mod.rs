//! What of calls and transactions outlives the process.

#[cfg(feature = "store")]
mod effect_store;

#[cfg(feature = "store")]
pub use mgp_store::StoreError;
use mgp_types::BoxFuture;

#[cfg(feature = "store")]
pub use self::effect_store::EffectStore;

/// A write, which returns how many rows it changed.
pub(crate) type Written = BoxFuture<'static, Result<usize, StoreError>>;

/// The reason why something could not be stored. Without the feature `store` there is nothing that stores.
#[cfg(not(feature = "store"))]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk has no room left.
    #[error("the disk is full; free some space")]
    Full,
}
