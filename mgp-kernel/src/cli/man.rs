//! `mgp man` and `mgp completions`: manual pages and completion scripts of all commands.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;
use serde_json::json;

use super::args::Cli;
use super::output::Output;
use crate::terminal::{Exit, Failure};

/// Prints the manual page, or writes the pages of all commands to a folder.
pub(super) fn run(output: &Output, dir: Option<&Path>) -> Result<Exit, Failure> {
    let mut root = Cli::command();
    root.build();
    let Some(folder) = dir else {
        let mut page = Vec::new();
        Man::new(root).render(&mut page).map_err(|error| unwritten(Path::new("the page"), &error))?;
        return output.print(&page);
    };
    let mut files = Vec::new();
    let written = fs::create_dir_all(folder).and_then(|()| write_pages(&root, folder, &mut files));
    written.map_err(|error| unwritten(folder, &error))?;
    output.show(&json!({ "files": files }), |_, _| Ok(()))
}

/// Prints a completion script for a shell.
pub(super) fn completions(output: &Output, shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mgp", &mut script);
    output.print(&script)
}

fn write_pages(command: &Command, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    files.push(Man::new(command.clone()).generate_to(folder)?);
    let mut inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
    inner.try_for_each(|inner| write_pages(inner, folder, files))
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("{} cannot be written: {error}", path.display()))
}
