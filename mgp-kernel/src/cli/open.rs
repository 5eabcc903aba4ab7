//! `mgp open`: opens a folder to the calls of clients.

use std::path::{Path, PathBuf};

use clap::Args;
use mgp_discovery::config::model::FolderRule;
use serde_json::json;

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

pub(super) async fn run(cx: &CommandContext, open: OpenArgs) -> Result<Exit, Failure> {
    let folder = real(&open.folder)?;
    let within = open.within.as_deref().unwrap_or_else(|| Path::new("."));
    let within = if open.everywhere { None } else { Some(real(within)?) };
    proof::person(cx).await?;
    // The file of a folder opens nothing.
    let path = cx.to_make(false)?;
    let mut rule = FolderRule::default();
    (rule.open, rule.within) = (vec![folder.clone()], within.clone());
    cx.change(&path, |file| Ok(file.open_folders(&rule)?))?;
    let file = path.display().to_string();
    let whom = match &within {
        Some(within) => format!("clients that work in {within}"),
        None => "all clients".to_owned(),
    };
    let opened = json!({ "folder": folder, "within": within, "file": file });
    cx.output.line(&opened, &format!("{folder} is open to {whom}, by {file}"))?;
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
