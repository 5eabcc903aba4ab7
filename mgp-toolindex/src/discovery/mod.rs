//! Searches and requests for tools, as methods and as tools (§16.5, §16.6).
//!
//! [`ToolDiscoveryLayer`] stands in front of a server with many tools, or of a gateway's way to many servers. A model then
//! gets two tools instead of all of them, and finds the others.
//!
//! | | |
//! |---|---|
//! | [`ToolDiscoveryLayer`], [`ToolDiscoverySettings`] | answers `mgp/tools/*` and `tools/list` |
//! | [`Eyes`] | which tools a caller may know of, and what it has to be granted first |
//! | [`CreateTools`] | makes a tool where there is none |
//! | [`MetaTools`], [`Spelling`] | what is listed in place of all tools |

mod answer;
mod asked;
mod call;
mod callers;
mod creation;
mod discover;
mod eyes;
mod found;
mod future;
mod layer;
mod list;
mod listen;
mod meta_tool;
mod params;
mod request;
mod settings;
mod shared;
mod tell;

pub use self::creation::CreateTools;
pub use self::eyes::Eyes;
pub use self::future::ToolDiscoveryFuture;
pub use self::layer::{ToolDiscovery, ToolDiscoveryLayer};
pub use self::meta_tool::{MetaTools, Spelling};
pub use self::settings::ToolDiscoverySettings;

#[cfg(test)]
mod tests;
