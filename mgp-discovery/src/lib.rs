//! Where servers and their tools are found (MGP §15).
//!
//! [`config`] reads `mgp.toml`, [`clients`] reads and writes the files of other clients, [`launch`] says how the packages
//! of a registry are started, [`registry`] takes servers that register themselves, and [`catalog`] knows what all of them
//! offer.
//!
//! ```
//! use mgp_discovery::catalog::Catalog;
//! use mgp_types::Object;
//! use mgp_types::mgp::{EffectiveSecurity, ResolvedTool, RiskLevel};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let catalog = Catalog::new();
//! let definition = Object::parse(r#"{"name":"read","inputSchema":{"type":"object"}}"#)?;
//! let security = EffectiveSecurity::new(RiskLevel::Safe);
//! let tool = ResolvedTool::new("files".into(), "read".into(), definition, security);
//! catalog.put_server("files".into(), vec![tool])?;
//! assert_eq!(&*catalog.snapshot().called("files.read").unwrap().shown, "files.read");
//! # Ok(())
//! # }
//! ```

pub mod catalog;
pub mod clients;
pub mod config;
pub mod launch;
pub mod registry;

pub use self::config::Config;
