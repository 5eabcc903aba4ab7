//! Tool security (MGP §4): the effective security of each tool, computed from all sources that have a say in it.
//!
//! [`effective`] combines the server's declaration, the operator's [`ToolRules`], the trust in the server, and, where a
//! server declares nothing (§8.2), a guess from the definition. Validators, permissions and confirmation read the result
//! in the context of each call.

mod called;
mod derive;
mod effective;
mod lexicon;
mod nature;
mod operation;
pub(crate) mod pages;
mod schema;
#[cfg(test)]
mod tests;
mod uri;

pub use self::called::ToolsGate;
pub use self::derive::Profile;
pub(crate) use self::derive::{NameManner, effect_if_told_to_read, hints, phrase_effects, stems};
pub use self::effective::{ToolRules, describe, effective};
pub(crate) use self::lexicon::{is_listed, list};
pub use self::nature::{ArgumentNature, ArgumentNatures};
pub use self::operation::OperationsGate;
pub(crate) use self::operation::subscriptions;
pub(crate) use self::uri::UriReadings;
pub(crate) use mgp_types::words;

/// The largest number of pages of a list that are requested from a server.
pub(crate) const MAX_PAGES: usize = 256;
/// The largest number of tools of one server that are kept.
pub(crate) const MAX_TOOLS: usize = 16_384;
