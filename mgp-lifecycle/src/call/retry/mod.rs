//! Calls that failed are made again where their error says so (§14.6).

mod idempotency;
mod policy;
#[cfg(test)]
mod tests;

#[cfg(feature = "ext")]
pub(crate) use self::idempotency::is_harmless;
pub(super) use self::idempotency::is_repeatable;
pub(crate) use self::idempotency::may_be_executed;
pub(crate) use self::policy::RetryBudget;
pub use self::policy::RetryPolicy;
