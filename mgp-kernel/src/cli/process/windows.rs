//! Windows bounds no connections by the number of files, and gives no process the duties of a first one.

use std::ffi::OsString;

use mgp_discovery::config::model::ListenSettings;
use mgp_kernel_core::terminal::{Failure, Result};

/// Changes nothing: connections do not count as open files.
pub(in crate::cli) fn raise_file_limit(_: &ListenSettings) {}

/// Refuses to run the command in a child.
///
/// # Errors
/// Always fails: no process has the number of the first one.
pub(in crate::cli) fn run_as_init(_: &[OsString]) -> Result<u8> {
    Err(Failure::usage("on Windows no process is the first one of a container"))
}
