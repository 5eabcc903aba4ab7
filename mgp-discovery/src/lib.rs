//! Configuration of servers, and the discovery of servers and tools (MGP §15).
//!
//! [`config`] reads `mgp.toml`, [`clients`] reads and writes the files of other clients, [`launch`] says how the
//! packages of a registry are started, [`registry`] takes servers that register themselves, and [`catalog`] holds the
//! tools, prompts and resources of all servers. [`secrets`] keeps the values that the configuration refers to without
//! containing them. With the feature `ext`, `service` writes documents about all tools (the catalog, OpenAPI, the service
//! manifest), and `tool_spec` reads, writes and compares specification documents of tools.
//!
//! ```
//! use mgp_discovery::Config;
//!
//! let text = r#"
//! [[servers]]
//! id = "files"
//! command = "file-server"
//!
//! [servers.env]
//! TOKEN = "${FILES_TOKEN}"
//! "#;
//! let (config, _) = Config::parse("mgp.toml".as_ref(), text)?;
//! let without = config.servers[0].expanded(&|_: &str| None).unwrap_err();
//! assert!(without.to_string().contains("FILES_TOKEN"), "{without}");
//! # Ok::<(), mgp_discovery::config::ConfigError>(())
//! ```

mod atomic_file;
pub mod catalog;
pub mod clients;
pub mod config;
mod document;
pub mod launch;
mod names;
mod nearest;
pub mod registry;
pub mod secrets;
#[cfg(feature = "ext")]
pub mod service;
#[cfg(feature = "ext")]
pub mod tool_spec;

pub use self::atomic_file::{AtomicFile, FileReaders, create_private_folder};
pub use self::config::Config;
pub use self::document::Position;
