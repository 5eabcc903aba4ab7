//! API keys: they authenticate a caller and say what it may do.
//!
//! A [`KeyRing`] issues keys and verifies them. [`AuthLayer`] demands one with each request; over HTTP,
//! [`HttpAuthLayer`] in front of the server demands one for everything, streams included.
//!
//! ```
//! use mgp_security::Clock;
//! use mgp_security::auth::{ApiPermission, ApiPermissions, KeyRing, KeyTerms};
//! use mgp_store::Database;
//! use mgp_types::{Principal, RunningCalls};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ring = KeyRing::open(Database::in_memory()?, Clock::system())?;
//! let mut terms = KeyTerms::new(Principal::new("agent.one"));
//! terms.permissions = ApiPermissions::new([ApiPermission::ToolInvoke("*.echo".parse()?)]);
//! let (info, key) = ring.issue(terms).await?;
//! let caller = ring.verify(key.expose())?;
//! assert_eq!(caller.principal.as_str(), "agent.one");
//! ring.revoke(info.id, RunningCalls::Cancel).await?;
//! assert!(ring.verify(key.expose()).is_err());
//! # Ok(())
//! # }
//! ```
//!
//! | | |
//! |---|---|
//! | [`KeyRing`], [`KeyTerms`], [`KeyInfo`] | keys: issued, verified, revoked |
//! | [`AuthLayer`] | demands a key with each request |
//! | [`HttpAuthLayer`] | demands a key with each HTTP request |
//! | [`ApiPermission`] | a permission that a key gives its owner |
//! | [`reserved_owner`], [`TOKEN_AGENTS`] | names that no owner of a key may have |

mod http;
mod key;
mod key_ring;
mod layer;
mod names;
mod permission;

pub use self::http::{HttpAuth, HttpAuthLayer, RefusedBy};
pub use self::key::{KeyId, KeyInfo, KeyTerms, SecretKey};
use self::key::{KeyStore, StoredKey};
pub use self::key_ring::{AuthError, Authenticated, KeyRing};
pub use self::layer::{Auth, AuthLayer, KeyScope, KeyScopeGate};
pub use self::names::{TOKEN_AGENTS, reserved_owner};
pub use self::permission::{ApiPermission, ApiPermissions};

#[cfg(test)]
mod tests;
