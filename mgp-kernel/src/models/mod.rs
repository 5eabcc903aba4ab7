//! The sentence encoders that `mgp model` installs for searches by meaning.

mod download;
mod store;

pub(crate) use self::download::Downloader;
pub(crate) use self::store::{InstallError, KNOWN, ModelStore, PublishedModel};
