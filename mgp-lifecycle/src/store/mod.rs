//! What of calls and transactions outlives the process.

#[cfg(feature = "store")]
mod effect_store;
mod error;

#[cfg(feature = "store")]
pub use self::effect_store::EffectStore;
pub use self::error::StoreError;
