//! The sentence encoders that `mgp model` installs for searches by meaning.

mod download;
mod known;
mod store;

pub(crate) use self::download::Downloader;
pub(crate) use self::known::{KNOWN, PublishedModel, known};
pub(crate) use self::store::{InstallError, ModelStore};
