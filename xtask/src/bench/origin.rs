//! How figures came to be.

use std::process::Command;
use std::thread;

use anyhow::Result;

use crate::process;

/// Returns the sentence above figures: the command that made them, and on what.
pub(super) fn origin(command: &str, quick: bool) -> Result<String> {
    let rustc = process::output(Command::new("rustc").arg("--version"))?;
    let rustc = rustc.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let quick = if quick { " --quick" } else { "" };
    Ok(format!("Made by `{command}{quick}` with {rustc} on {cores} cores; the best of each figure.\n"))
}
