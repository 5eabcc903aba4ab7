//! Where servers and their tools are found (MGP §15).
//!
//! [`config`] reads `mgp.toml`, [`clients`] reads and writes the files of other clients, [`launch`] says how the packages
//! of a registry are started, [`registry`] takes servers that register themselves, and [`catalog`] knows what all of them
//! offer.

pub mod catalog;
pub mod clients;
pub mod config;
pub mod launch;
pub mod registry;

pub use self::config::Config;
