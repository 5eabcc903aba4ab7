//! `mgp.toml`: what it may say, where it lies, and how it is read.

pub mod model;

pub use self::model::Config;
