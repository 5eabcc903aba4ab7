//! What keeps agents, tools and servers apart: permissions (MGP §3), tool security and validators (§4), access
//! control (§5), the audit trail (§6) and code safety (§7), each a layer that can be used alone.
//!
//! Nothing here is on by default; each section is a feature.

#[cfg(any(feature = "validate", feature = "permission"))]
mod canonical;
#[cfg(feature = "code-safety")]
pub mod code_safety;
#[cfg(feature = "validate")]
pub mod definition;
mod finding;
#[cfg(feature = "validate")]
pub mod validator;

#[cfg(any(feature = "validate", feature = "permission"))]
pub use canonical::{CanonicalError, Digest, digest};
pub use finding::Finding;
