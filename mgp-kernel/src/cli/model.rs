//! `mgp model`: installs, lists and removes sentence encoders.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use super::output::Output;
use crate::models::{Downloader, InstallError, KNOWN, ModelStore, PublishedModel};
use crate::terminal::{Exit, Failure, Result};

#[derive(Debug, Subcommand)]
pub(super) enum ModelCommand {
    /// Install a model, which a kernel with `embedder = "auto"` uses from its next start on
    Install {
        /// The name of the model
        #[arg(value_name = "NAME", default_value = KNOWN[0].name, value_parser = model)]
        model: &'static PublishedModel,
        /// Copy the files from this folder instead of downloading them
        #[arg(long, value_name = "FOLDER")]
        from: Option<PathBuf>,
    },
    /// List the models that can be installed, and whether they are
    List,
    /// Remove a model
    Remove {
        /// The name of the model
        #[arg(value_name = "NAME", value_parser = model)]
        model: &'static PublishedModel,
    },
}

pub(super) async fn run(output: &Output, command: ModelCommand) -> Result {
    let store = ModelStore::of_user().ok_or_else(|| {
        Failure::usage("there is no home directory for models").hint("set HOME or XDG_DATA_HOME")
    })?;
    match command {
        ModelCommand::Install { model, from } => install(output, &store, model, from).await,
        ModelCommand::List => list(output, &store),
        ModelCommand::Remove { model } => remove(output, &store, model),
    }
}

async fn install(
    output: &Output,
    store: &ModelStore,
    model: &'static PublishedModel,
    from: Option<PathBuf>,
) -> Result {
    match from {
        Some(from) => {
            let store = store.clone();
            let copied = tokio::task::spawn_blocking(move || store.copy(model, &from)).await;
            let copied = copied.map_err(|error| Failure::usage(error.to_string()))?;
            copied.map_err(|error| Failure::usage(error.to_string()))?;
        }
        None => download(output, store, model).await?,
    }
    let (name, folder) = (model.name, store.folder(model).display().to_string());
    let changed = json!({ "name": name, "installed": true, "folder": folder });
    output.line(&changed, &format!("{name} is installed in {folder}"))?;
    output.note("a kernel that runs uses it after a restart");
    Ok(Exit::Done)
}

async fn download(output: &Output, store: &ModelStore, model: &PublishedModel) -> Result<()> {
    let downloader = Downloader::new().map_err(|error| Failure::usage(error.to_string()))?;
    let size = model.size();
    let mut shown = None;
    let on_progress = |bytes: u64| {
        let percent = bytes * 100 / size.max(1);
        // A line for each hundredth is enough.
        if shown.replace(percent) != Some(percent) {
            output.waiting(&format!("{}: {} of {}", model.name, megabytes(bytes), megabytes(size)));
        }
    };
    let brought = store.download(model, &downloader, on_progress).await;
    output.waiting("");
    brought.map_err(|error| {
        let exit = if matches!(error, InstallError::File { .. }) { Exit::Usage } else { Exit::Unreachable };
        let files: Vec<_> = model.files.iter().map(|file| file.name.as_str()).collect();
        Failure::new(exit, error.to_string()).hint(format!(
            "the same command continues; HTTPS_PROXY names a proxy; `mgp model install {} --from FOLDER` takes {} from a \
             folder",
            model.name,
            files.join(", ")
        ))
    })
}

fn list(output: &Output, store: &ModelStore) -> Result {
    let models = KNOWN.iter().map(|model| {
        json!({
            "name": model.name,
            "size": model.size(),
            "about": model.about,
            "licence": model.licence,
            "installed": store.has(model),
            "folder": store.folder(model).display().to_string(),
        })
    });
    output.show(&json!({ "models": models.collect::<Vec<_>>() }), |_, out| {
        let rows = KNOWN.iter().map(|model| {
            let installed = if store.has(model) { "yes" } else { "no" };
            [model.name, &megabytes(model.size()), installed, model.licence, model.about].map(str::to_owned)
        });
        out.table(&["MODEL", "SIZE", "INSTALLED", "LICENCE", "ABOUT"], rows, "there is no model")
    })
}

fn remove(output: &Output, store: &ModelStore, model: &'static PublishedModel) -> Result {
    let removed = store.remove(model).map_err(|error| Failure::usage(error.to_string()))?;
    if !removed {
        return Err(Failure::usage(format!("{} is not installed", model.name)));
    }
    let (name, folder) = (model.name, store.folder(model).display().to_string());
    let changed = json!({ "name": name, "installed": false, "folder": folder });
    output.line(&changed, &format!("{name} is removed"))
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10)
}

fn model(name: &str) -> Result<&'static PublishedModel, String> {
    KNOWN.iter().find(|model| model.name == name).ok_or_else(|| {
        let names: Vec<_> = KNOWN.iter().map(|model| model.name).collect();
        format!(
            "there is no such model; there is {}. Other models are used from their folders, by `embedder = \
             \"encoder:FOLDER\"`",
            names.join(", ")
        )
    })
}
