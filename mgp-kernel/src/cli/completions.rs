//! `mgp completions`: prints a completion script for a shell.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::args::Cli;
use super::output::Output;
use crate::terminal::{Exit, Failure};

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(output: &Output, args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "mgp", &mut script);
    output.write(&script)?;
    Ok(Exit::Done)
}
