//! The tools, prompts and resources of all servers, as one list.
//!
//! The code that connects to servers puts their lists into the [`Catalog`]; the code that serves clients reads a
//! [`CatalogSnapshot`], which never changes and never has to be waited for.
//!
//! ```
//! use mgp_discovery::catalog::Catalog;
//! use mgp_types::Object;
//! use mgp_types::mgp::{EffectiveSecurity, NameStyle, ResolvedTool, RiskLevel};
//!
//! let definition = Object::parse(r#"{"name":"read","inputSchema":{"type":"object"}}"#)?;
//! let tool = ResolvedTool::new("files".into(), "read".into(), definition, EffectiveSecurity::new(RiskLevel::Safe));
//!
//! let catalog = Catalog::new();
//! catalog.put_server("files".into(), vec![tool])?;
//! let snapshot = catalog.snapshot();
//! for name in ["files.read", "files/read", "files__read", "files_read", "read"] {
//!     let tool = snapshot.called(name).expect("only one tool is called so");
//!     assert_eq!(&*tool.shown, "files.read");
//! }
//! assert_eq!(
//!     snapshot.tool_list(NameStyle::UNDERSCORES).as_bytes(),
//!     br#"{"tools":[{"name":"files__read","inputSchema":{"type":"object"}}]}"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | | |
//! |---|---|
//! | [`Catalog`] | takes the lists of servers |
//! | [`CatalogSnapshot`] | answers by name and by URI, and has the lists |
//! | [`CatalogTool`], [`CatalogPrompt`], [`CatalogResource`] | single items, under the names they are shown by |
//! | [`ResourceOwner`] | the server that has a resource |

mod handle;
mod lookup;
mod name;
mod offer;
mod snapshot;

pub use self::handle::{Catalog, CatalogError};
pub(crate) use self::name::{LONGEST_ID, is_reserved_server, is_written_as_id};
pub use self::offer::{CatalogPrompt, CatalogResource, CatalogTool};
pub use self::snapshot::{CatalogSnapshot, ResourceOwner};

#[cfg(test)]
mod tests;
