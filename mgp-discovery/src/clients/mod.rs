//! Files of other clients.
//!
//! [`read`] makes servers of `mgp.toml` out of what a client's file says. Secrets stay behind: where they stood, the
//! server refers to a variable of the environment.

mod document;
mod import;
mod kind;
mod places;
mod secret;

pub use self::{
    document::{Format, Position},
    import::{
        ImportError, Imported, ImportedServer, LiteralSecrets, MAX_FILE_BYTES, MAX_SERVERS, MovedSecret,
        ReadOptions, Skipped, read,
    },
    kind::{ClientKind, UnknownClient},
    places::{Candidate, FileScope, Places, System},
};
