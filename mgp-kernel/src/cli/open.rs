//! `mgp open`: opens a folder to the calls of clients.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use mgp_discovery::FileReaders;
use mgp_discovery::config::ConfigFile;
use mgp_discovery::config::model::FolderRule;
use serde::Serialize;

use super::context::CommandContext;
use super::proof;
use crate::terminal::{Exit, Failure};

#[derive(Debug, Args)]
pub(super) struct OpenArgs {
    /// The folder that is opened, with all that is below it
    folder: PathBuf,
    /// Open it to clients that work in this folder or below it; the current folder if left out
    #[arg(long = "in", value_name = "FOLDER", conflicts_with = "everywhere")]
    within: Option<PathBuf>,
    /// Open it to all clients
    #[arg(long)]
    everywhere: bool,
}

/// The folder that is open, and the file that says so.
#[derive(Debug, Serialize)]
struct FolderOpened {
    folder: String,
    /// The folder in which clients have to work; `None` for all clients.
    within: Option<String>,
    file: PathBuf,
}

pub(super) async fn run(cx: &CommandContext, open: OpenArgs) -> Result<Exit, Failure> {
    let folder = real(&open.folder)?;
    let within = open.within.as_deref().unwrap_or_else(|| Path::new("."));
    let within = if open.everywhere { None } else { Some(real(within)?) };
    proof::person(cx).await?;
    // The file of a folder opens nothing.
    let path = cx.to_make(false)?;
    let mut file = ConfigFile::open(&path)?;
    let mut rule = FolderRule::default();
    (rule.open, rule.within) = (vec![folder.clone()], within.clone());
    file.open_folders(&rule)?;
    file.save(FileReaders::Kept)?;
    cx.output.show(&FolderOpened { folder, within, file: path }, |opened, out| {
        let whom = opened
            .within
            .as_ref()
            .map_or_else(|| "all clients".to_owned(), |within| format!("clients that work in {within}"));
        writeln!(out, "{} is open to {whom}, by {}", opened.folder, opened.file.display())
    })?;
    cx.output.note("a kernel in the background follows at once, another one after `mgp reload`");
    Ok(Exit::Done)
}

fn real(folder: &Path) -> Result<String, Failure> {
    let real = folder.canonicalize().map_err(|error| Failure::file(folder, error))?;
    if !real.is_dir() {
        return Err(Failure::file(folder, "this is not a folder"));
    }
    real.into_os_string().into_string().map_err(|_| Failure::file(folder, "its name is no UTF-8"))
}
