//! Files of other clients.
//!
//! [`detect`] finds them. [`read`] turns the entries of one into servers of `mgp.toml`; secrets stay behind: in their
//! place, the server refers to a secret of the user. [`plan`] shows the text that a file would have with mgp in it, and
//! [`Plan::apply`] writes it, with a way back.

mod detect;
mod document;
mod export;
mod import;
mod kind;
mod places;
mod secret;

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
    secret::{args_without_secrets, without_secrets},
};
