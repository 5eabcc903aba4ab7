//! What keeps agents, tools and servers apart: permissions (MGP §3), tool security and validators (§4), access
//! control (§5), the audit trail (§6) and code safety (§7), each a layer that can be used alone.
//!
//! Nothing here is on by default; each section is a feature.

#[cfg(feature = "access")]
pub mod access;
#[cfg(feature = "audit")]
pub mod audit;
#[cfg(feature = "auth")]
pub mod auth;
#[cfg(any(feature = "access", feature = "audit", feature = "auth", feature = "permission"))]
mod blocking;
#[cfg(any(feature = "validate", feature = "permission"))]
mod canonical;
mod clock;
#[cfg(feature = "code-safety")]
pub mod code_safety;
#[cfg(any(feature = "access", feature = "auth", feature = "permission"))]
mod concern;
#[cfg(feature = "permission")]
pub mod confirmation;
#[cfg(feature = "validate")]
pub mod definition;
#[cfg(test)]
mod doubles;
mod finding;
#[cfg(any(
    feature = "access",
    feature = "auth",
    feature = "limit",
    feature = "permission",
    feature = "validate"
))]
mod gate;
#[cfg(any(feature = "access", feature = "auth", feature = "permission"))]
mod latest;
#[cfg(feature = "limit")]
pub mod limit;
#[cfg(any(feature = "access", feature = "auth"))]
mod listing;
#[cfg(feature = "limit")]
mod meter;
#[cfg(feature = "permission")]
pub mod permission;
#[cfg(any(feature = "access", feature = "audit", feature = "auth", feature = "permission"))]
mod random;
#[cfg(feature = "limit")]
mod rates;
#[cfg(any(feature = "access", feature = "auth", feature = "limit", feature = "permission"))]
mod refusal;
mod reject;
#[cfg(feature = "schema")]
mod schema;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod store;
mod target;
#[cfg(feature = "validate")]
pub mod tool;
#[cfg(feature = "validate")]
pub mod validator;

#[cfg(any(feature = "validate", feature = "permission"))]
pub use canonical::{CanonicalError, Digest, digest};
pub use clock::Clock;
pub use finding::Finding;
#[cfg(any(
    feature = "access",
    feature = "auth",
    feature = "limit",
    feature = "permission",
    feature = "validate"
))]
pub use gate::GateFuture;
#[cfg(any(feature = "access", feature = "auth"))]
pub use listing::ListingFuture;
pub use reject::{Reject, RejectFuture, RejectLayer};
#[cfg(feature = "schema")]
pub use schema::{Schema, SchemaFault, SchemaViolation};
pub use store::StoreError;
pub use target::Target;
