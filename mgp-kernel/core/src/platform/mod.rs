//! The system: files, processes, and terminals, as Unix and Windows have them.

pub(crate) mod program_files;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

pub use self::system::*;
