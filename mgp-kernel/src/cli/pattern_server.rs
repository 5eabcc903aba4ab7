//! `mgp server`: becomes a server of the program `mgp-patterns`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::Args;

use crate::pattern_servers::{self, PROGRAM};
use crate::terminal::Failure;

/// The server that is wanted, in the words of `mgp-patterns`.
#[derive(Debug, Args)]
pub(super) struct PatternServerArgs {
    /// The name of the server, and its options
    #[arg(value_name = "NAME", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Replaces this process by the server; returns only if that fails.
pub(super) fn run(args: &PatternServerArgs) -> Failure {
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
