//! The process itself: the number of files that a kernel may open, the first process of a container in front of it, and the
//! programs that it becomes or keeps by `mgp confine`, `mgp keep` and `mgp server`.

#[cfg(target_os = "linux")]
mod keeper;
#[cfg_attr(unix, path = "process/unix.rs")]
#[cfg_attr(windows, path = "process/windows.rs")]
mod limits;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use mgp_kernel_core::platform::become_program;
use mgp_kernel_core::servers::confine;
use mgp_kernel_core::settings::pattern_servers::{self, PROGRAM};
use mgp_kernel_core::terminal::{Exit, Failure, Result};

#[cfg(target_os = "linux")]
pub(super) use self::keeper::{KeepArgs, keep};
pub(super) use self::limits::{raise_file_limit, run_as_init};

#[derive(Debug, Args)]
pub(super) struct ConfineArgs {
    /// The file with the files, ports and sockets that the program may reach, as the kernel wrote it
    #[arg(long, value_name = "FILE", required_unless_present = "try_view")]
    to: Option<PathBuf>,
    /// Try whether a program can have a view of the file system of its own, and start none
    #[arg(long)]
    try_view: bool,
    /// The full path of the program
    #[arg(required_unless_present = "try_view")]
    program: Option<PathBuf>,
    /// The arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Becomes the confined program, or tries what a confinement needs.
pub(super) fn confine(args: &ConfineArgs) -> Result {
    match (&args.to, &args.program) {
        (Some(to), Some(program)) => {
            let Err(why) = confine::become_program(to, program, &args.args);
            Err(Failure::new(Exit::Usage, why))
        }
        #[cfg(target_os = "linux")]
        _ => confine::try_view()
            .map(|()| Exit::Done)
            .map_err(|error| Failure::new(Exit::Usage, error.to_string())),
        #[cfg(not(target_os = "linux"))]
        _ => Ok(Exit::Done),
    }
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
    let error = become_program(Command::new(&program).args(&args.words));
    Failure::unreachable(format!("{}: {error}", program.display()))
}

/// The command that installs `mgp-patterns` from the sources of `mgp`.
const INSTALL: &str =
    "put it beside `mgp`: `cargo install --path mgp-server-sdk/examples/patterns` in a checkout makes it";
