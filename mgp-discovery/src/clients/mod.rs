//! Files of other clients.
//!
//! [`detect`] finds them. [`read`] makes servers of `mgp.toml` out of what one says; secrets stay behind: where they
//! stood, the server refers to a secret of the user. [`plan`] says what a file would become with mgp in it, and
//! [`Plan::apply`] makes it so, with a way back.

mod detect;
mod document;
mod export;
mod import;
mod kind;
mod places;
mod secret;
mod shown;

pub(crate) use self::import::variable;
pub use self::{
    detect::{Detected, Disk, FileState, Files, detect},
    document::Format,
    export::{ApplyError, Change, Entry, ExportError, Plan, plan, roll_back},
    import::{
        Concealer, Elsewhere, HeldIn, ImportError, Imported, ImportedServer, LiteralSecrets, MAX_FILE_BYTES,
        MAX_SERVERS, MovedSecret, ReadOptions, Skipped, read,
    },
    kind::{ClientKind, UnknownClient},
    places::{Candidate, FileScope, Places, System},
    shown::{args_without_secrets, without_secrets},
};
