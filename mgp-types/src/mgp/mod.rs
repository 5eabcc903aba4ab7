//! What MGP adds to MCP: negotiation of its extensions (§2) and errors that say how to recover (§14).
//!
//! An [`Offer`] is what one side declares among its capabilities, [`Negotiated`] is what both have in common,
//! and a [`Recovery`] travels with an error whose number stands in [`code`].
//!
//! ```
//! use mgp_types::Object;
//! use mgp_types::mgp::{Extension, ExtensionSet, Form, Negotiated, Offer};
//!
//! let ours = Offer::new(ExtensionSet::standard());
//! let capabilities = Object::parse(r#"{"mgp":{"version":"0.6.0-draft","extensions":["permissions","audit"]}}"#)?;
//! let theirs = Offer::read(&capabilities)?.expect("this client speaks MGP");
//!
//! let mut result = Object::parse(r#"{"tools":{}}"#)?;
//! if let Some(answer) = ours.answer(&theirs) {
//!     answer.write(&mut result, Form::SessionResult);
//! }
//! let negotiated = Negotiated::agree(&ours, &theirs).expect("both are at major version 0");
//! assert!(negotiated.has(&Extension::Permissions));
//! assert!(!negotiated.has(&Extension::Streaming));
//! assert!(result.contains("mgp"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod code;

mod code_safety;
mod extension;
mod leftover;
mod negotiation;
mod offer;
mod recovery;
mod trust;
mod version;

pub use self::code_safety::{CodeHints, CodeLocation, CodeRejection, CodeSafety, SafetyLevel};
pub use self::extension::{Extension, ExtensionSet};
pub use self::negotiation::Negotiated;
pub use self::offer::{EXTENSION_ID, Form, LEGACY_MEMBER, Offer, OfferError, OfferFault, Place};
pub use self::recovery::{Category, Recovery, RetryStrategy};
pub use self::trust::TrustLevel;
pub use self::version::{MgpVersion, VersionError};
