//! Copies of the kernel's state, made while it runs.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use mgp_types::Error;
use serde::{Deserialize, Serialize};

use super::operation::{Operation, OperatorCall};
use crate::state_copy::{StateCopy, StateCopying};
use crate::terminal::{TextForm, TextWriter};

/// Copies the state of the kernel to a folder.
#[derive(Debug, Args, Serialize, Deserialize)]
pub(crate) struct BackUp {
    /// The folder to make; nothing that is there is overwritten
    #[arg(value_name = "FOLDER", value_parser = absolute)]
    folder: PathBuf,
}

/// A copy of the state that was made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BackedUp {
    folder: PathBuf,
    #[serde(flatten)]
    copy: StateCopy,
}

impl Operation for BackUp {
    type Reply = BackedUp;

    async fn run(self, call: &OperatorCall) -> Result<BackedUp, Error> {
        let Self { folder } = self;
        if !folder.is_absolute() {
            return Err(Error::invalid_params("`folder` has to be an absolute path"));
        }
        let shown = folder.display().to_string();
        if folder.symlink_metadata().is_ok() {
            let message = format!("{shown} is there already: name a folder that is not");
            return Err(Error::invalid_params(message));
        }
        call.record_act("dev.cloto.mgp.state_copied", &[("folder", &shown)]).await?;
        let kernel = &call.kernel;
        let (state, registry, place) =
            (kernel.config.state().to_owned(), kernel.registry.clone(), folder.clone());
        let copying = off_the_runtime(move || StateCopying::begin(&state, place, &registry)).await?;
        // Whatever the copy has by now is recorded in the copy.
        kernel.audit.log.flush().await?;
        let now = kernel.audit.clock.now();
        let copy = off_the_runtime(move || copying.finish(now)).await?;
        Ok(BackedUp { folder, copy })
    }
}

impl TextForm for BackedUp {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let (files, record) = (self.copy.files.len(), &self.copy.record);
        writeln!(out, "copied {files} files to {}", self.folder.display())?;
        writeln!(out, "head {}:{}", record.seq, record.hash)
    }

    fn notes(&self) -> Vec<String> {
        vec![
            "the copy has the digests of keys and of the passphrase, and what was recorded: keep it private; secrets \
             and logins lie elsewhere, in the keyring or in ~/.config/mgp, and are not in it"
                .to_owned(),
        ]
    }
}

/// Runs work on a thread that may wait for a disk.
async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|panic| Error::internal("the state could not be copied").with_source(panic))?
}

fn absolute(path: &str) -> io::Result<PathBuf> {
    std::path::absolute(path)
}
