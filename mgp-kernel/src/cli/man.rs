//! `mgp man` and `mgp completions`: manual pages and completion scripts of all commands.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use serde_json::json;

use super::args::Cli;
use super::output::Output;
use crate::terminal::{Exit, Failure};

/// Prints the manual page, or writes the pages of all commands to a folder.
pub(super) fn run(output: &Output, dir: Option<&Path>) -> Result<Exit, Failure> {
    let mut root = Cli::command();
    root.build();
    match dir {
        None => {
            output.write(&page(&root)?)?;
        }
        Some(folder) => {
            fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
            let mut files = Vec::new();
            write_pages(&root, "mgp", folder, &mut files)?;
            output.show(&json!({ "files": files }), |_, _| Ok(()))?;
        }
    }
    Ok(Exit::Done)
}

/// Prints a completion script for a shell.
pub(super) fn completions(output: &Output, shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mgp", &mut script);
    output.write(&script)?;
    Ok(Exit::Done)
}

fn write_pages(command: &Command, name: &str, folder: &Path, files: &mut Vec<String>) -> Result<(), Failure> {
    let path = folder.join(format!("{name}.1"));
    fs::write(&path, page(command)?).map_err(|error| unwritten(&path, &error))?;
    files.push(path.display().to_string());
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        write_pages(inner, &format!("{name}-{}", inner.get_name()), folder, files)?;
    }
    Ok(())
}

fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Failure::usage(format!("the page cannot be written: {error}")))?;
    Ok(page)
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{} cannot be written: {error}", path.display()))
}
