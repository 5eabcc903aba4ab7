//! The configuration file `mgp.toml`: its contents, its locations, and how it is read.
//!
//! ```
//! use mgp_discovery::config::Config;
//! use mgp_discovery::config::model::TransportKind;
//!
//! let text = r#"
//! [[servers]]
//! id = "mind"
//! command = "python"
//! transport = "studio"
//! "#;
//! let error = Config::parse("mgp.toml".as_ref(), text).unwrap_err();
//! assert_eq!(error.problems()[0].instead.as_deref(), Some("did you mean `stdio`?"));
//!
//! let (config, warnings) = Config::parse("mgp.toml".as_ref(), &text.replace("studio", "stdio"))?;
//! assert_eq!(config.servers[0].transport_kind()?, TransportKind::Stdio);
//! assert!(warnings.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Config`] keeps references to variables as they are written, so that showing it shows no secret;
//! [`ServerConfig::expanded`](model::ServerConfig::expanded) resolves them when a server is started.

mod changes;
mod edit;
mod effective;
mod endpoint;
mod load;
mod locations;
mod merge;
pub mod model;
mod problem;
mod reference;
mod semantics;
mod shape;
mod shape_check;
mod source;
mod template;
#[cfg(test)]
mod tests;
mod trust;

pub use self::edit::{ConfigFile, EditError};
pub(crate) use self::effective::is_passed_on;
pub use self::effective::{InvalidAddress, Reach};
pub use self::endpoint::{Endpoint, ExpandedServer, SecretReference, ServerFault};
pub use self::load::{FolderKeys, LoadedConfig};
pub use self::locations::Locations;
pub use self::model::Config;
pub use self::problem::{ConfigError, Problem, Severity};
pub use self::reference::reference;
pub use self::shape::schema;
pub use self::template::literal;
pub(crate) use self::template::{Reference, refers_to_secret, unspelled};
pub use self::trust::{FolderFile, FolderTrust, TrustedFile, TrustedFolders, UntrustedFile};
pub use crate::nearest::{looks_like, nearest};
pub use crate::secrets::environment::{Environment, ProcessEnvironment, Secret};
