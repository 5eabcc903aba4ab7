//! Scopes: what a caller may do with the tools that ask for scopes, by its configuration and its session.
//!
//! A tool says which scopes a call of it needs, and an operator can add some. A caller holds those of its session, whose
//! token it sends with its calls, or else those that are configured for it. A caller for which nothing is configured
//! is held to none. Scopes narrow what access control allows; they never widen it.

mod book;
mod gate;
mod sessions;

pub use self::book::{ScopeBook, ScopeRules};
pub use self::gate::ScopeGate;
#[cfg(feature = "auth")]
pub(crate) use self::sessions::SecretDigest;

#[cfg(test)]
mod tests;
