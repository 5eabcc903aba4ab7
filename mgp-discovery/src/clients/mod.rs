//! Files of other clients.
//!
//! [`detect`] finds them. [`read`] turns the entries of one into servers of `mgp.toml`; secrets stay behind: in their
//! place, the server refers to a secret of the user. [`plan`] shows the text that a file would have with mgp in it, and
//! [`ExportPlan::apply`] writes it, with a way back.

mod detect;
mod export;
mod import;
mod kind;
mod secret;

pub use self::{
    detect::{
        CandidateFile, ClientDirectories, DetectedClient, FileScope, FileState, OperatingSystem, detect,
        read_file,
    },
    export::{ApplyError, ClientEntry, ClientFileChange, ExportError, ExportPlan, plan, roll_back},
    import::{
        Concealer, ImportError, Imported, ImportedServer, LiteralSecrets, MAX_FILE_BYTES, MAX_SERVERS,
        MovedSecret, OtherSection, ReadOptions, Skipped, read,
    },
    kind::{ClientKind, UnknownClient},
    secret::{args_without_secrets, line_without_secrets, without_secrets},
};
pub use crate::document::Format;
pub use crate::names::ReferenceKind;
