//! `mgp confine`, by which the kernel starts confined servers: confines this process and becomes the program.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::servers::confine::become_program;
use crate::terminal::{Exit, Failure};

#[derive(Debug, Args)]
pub(super) struct ConfineArgs {
    /// The file with the files, ports and sockets that the program may reach, as the kernel wrote it
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// The full path of the program
    program: PathBuf,
    /// The arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Becomes the confined program; returns only if that fails.
pub(super) fn run(confine: &ConfineArgs) -> Failure {
    Failure::new(Exit::Usage, become_program(&confine.to, &confine.program, &confine.args))
}
