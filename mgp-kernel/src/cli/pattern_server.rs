//! `mgp server`: becomes a server of the program `mgp-patterns`.

use std::ffi::OsString;
use std::process::Command;

use clap::Args;

use crate::pattern_servers::{self, PROGRAM};
use crate::terminal::{Exit, Failure};

/// The server that is wanted, in the words of `mgp-patterns`.
#[derive(Debug, Args)]
pub(super) struct PatternServerArgs {
    /// The name of the server, and its options
    #[arg(value_name = "NAME", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Replaces this process by the server; on systems where no process can be replaced, waits until the server ends.
pub(super) fn run(args: &PatternServerArgs) -> Result<Exit, Failure> {
    let Some(program) = pattern_servers::program() else {
        let message = format!("`{PROGRAM}`, the program of the servers, is not installed");
        return Err(Failure::new(Exit::Unreachable, message).hint(INSTALL));
    };
    let mut server = Command::new(&program);
    server.args(&args.words);
    become_program(server)
        .map_err(|error| Failure::new(Exit::Unreachable, format!("{}: {error}", program.display())))
}

#[cfg(unix)]
fn become_program(mut server: Command) -> std::io::Result<Exit> {
    use std::os::unix::process::CommandExt as _;
    Err(server.exec())
}

#[cfg(not(unix))]
fn become_program(mut server: Command) -> std::io::Result<Exit> {
    Ok(match server.status()?.code() {
        Some(0) => Exit::Done,
        Some(1) => Exit::Usage,
        _ => Exit::Tool,
    })
}

/// The command that installs `mgp-patterns` from the sources of `mgp`.
const INSTALL: &str =
    "put it beside `mgp`: `cargo install --path mgp-server-sdk/examples/patterns` in a checkout makes it";
