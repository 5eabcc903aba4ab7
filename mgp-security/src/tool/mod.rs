//! Tool security (MGP §4): what a tool's security comes to, once everybody who has a say was heard.
//!
//! [`effective`] hears the server's declaration, the operator's [`ToolRules`], the trust in the server, and, where a
//! server says nothing (§8.2), what its definition lets one guess. [`ResolveToolLayer`] puts the outcome into each call's
//! context, where validators, permissions and confirmation read it.

mod derive;
mod effective;
mod lexicon;
mod manner;
mod nature;
mod normalized_text;
mod operation;
mod resolve;
mod rules;
mod schema;
#[cfg(test)]
mod tests;
mod uri;
mod words;

pub use self::derive::Profile;
pub use self::effective::{describe, effective};
pub(crate) use self::manner::NameManner;
pub use self::nature::{ArgumentNature, ArgumentNatures};
pub use self::operation::OperationsGate;
pub use self::resolve::{ResolveTool, ResolveToolLayer};
pub use self::rules::ToolRules;
pub(crate) use self::words::words;

/// How many pages of its list of tools a server is asked for.
pub(crate) const MAX_PAGES: usize = 256;
/// How many tools of one server are looked at.
pub(crate) const MAX_TOOLS: usize = 16_384;
