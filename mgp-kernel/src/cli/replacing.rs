//! `mgp confine`, by which the kernel starts confined servers, and `mgp server`: the process becomes another program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::pattern_servers::{self, PROGRAM};
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
pub(super) fn confine(confine: &ConfineArgs) -> Failure {
    Failure::new(Exit::Usage, become_program(&confine.to, &confine.program, &confine.args))
}

/// The server that is wanted, in the words of `mgp-patterns`.
#[derive(Debug, Args)]
pub(super) struct PatternServerArgs {
    /// The name of the server, and its options
    #[arg(value_name = "NAME", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Replaces this process by the server; returns only if that fails.
pub(super) fn serve(args: &PatternServerArgs) -> Failure {
    let Some(program) = pattern_servers::program() else {
        let message = format!("`{PROGRAM}`, the program of the servers, is not installed");
        return Failure::unreachable(message).hint(INSTALL);
    };
    let error = Command::new(&program).args(&args.words).exec();
    Failure::unreachable(format!("{}: {error}", program.display()))
}

/// The command that installs `mgp-patterns` from the sources of `mgp`.
const INSTALL: &str =
    "put it beside `mgp`: `cargo install --path mgp-server-sdk/examples/patterns` in a checkout makes it";
