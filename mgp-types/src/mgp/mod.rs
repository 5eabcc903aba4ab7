//! The additions of MGP to MCP: negotiation (§2), the bodies of each section, and errors with recovery (§14).
//!
//! An [`Offer`] is the declaration of one side among its capabilities, [`Negotiated`] holds the extensions that both
//! sides have, and a [`Recovery`] travels with an error whose number stands in [`code`].
//!
//! ```
//! use mgp_types::Object;
//! use mgp_types::mgp::{Extension, ExtensionSet, CapabilityMessage, Negotiated, Offer};
//!
//! let ours = Offer::new(ExtensionSet::standard());
//! let capabilities = Object::parse(r#"{"mgp":{"version":"0.6.0-draft","extensions":["permissions","audit"]}}"#)?;
//! let theirs = Offer::read(&capabilities)?.expect("this client speaks MGP");
//!
//! let mut result = Object::parse(r#"{"tools":{}}"#)?;
//! if let Some(answer) = ours.answer(&theirs) {
//!     answer.write(&mut result, CapabilityMessage::SessionResult);
//! }
//! let negotiated = Negotiated::agree(&ours, &theirs).expect("both are at major version 0");
//! assert!(negotiated.has(&Extension::Permissions));
//! assert!(!negotiated.has(&Extension::Streaming));
//! assert!(result.contains("mgp"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// The member that holds MGP's additions to the params of a call, to its result, and to the data of an error.
pub const MEMBER: &str = "_mgp";

pub mod code;
pub(crate) mod members;
pub mod method;

mod access;
mod asking;
mod audit;
mod call_options;
mod call_record;
mod callback;
mod code_safety;
mod discovery;
mod event;
mod extension;
mod lifecycle;
mod method_form;
mod name;
mod name_style;
mod offer;
mod permission;
mod recovery;
mod stream;
mod timestamp;
mod tool_pattern;
mod tool_request;
mod tool_search;
mod tool_security;
mod trace_id;
mod trust;
mod version;

pub use self::access::*;
pub use self::asking::*;
pub use self::audit::*;
pub use self::call_options::*;
pub use self::call_record::*;
pub use self::callback::*;
pub use self::code_safety::*;
pub use self::discovery::*;
pub use self::event::*;
pub use self::extension::*;
pub use self::lifecycle::*;
pub use self::method_form::*;
pub use self::name::*;
pub use self::name_style::*;
pub use self::offer::*;
pub use self::permission::*;
pub use self::recovery::*;
pub use self::stream::*;
pub use self::timestamp::*;
pub use self::tool_pattern::*;
pub use self::tool_request::*;
pub use self::tool_search::*;
pub use self::tool_security::*;
pub use self::trace_id::*;
pub use self::trust::*;
pub use self::version::*;
