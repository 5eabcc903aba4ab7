//! Calls that failed are made again where their error says so (§14.6).

mod budget;
mod future;
mod idempotency;
mod layer;
mod policy;

#[cfg(test)]
mod tests;

pub use self::budget::RetryBudget;
pub use self::future::RetryFuture;
pub use self::layer::{Retry, RetryLayer};
pub use self::policy::RetryPolicy;
