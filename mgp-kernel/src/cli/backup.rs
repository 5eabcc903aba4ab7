//! `mgp restore`: puts a copy in the place of the state. `mgp backup` is an operation of the kernel.

use std::path::PathBuf;

use clap::Args;

use super::background::start_lock;
use super::context::{CommandContext, EffectiveConfig};
use crate::listen::socket;
use crate::restore::{in_use, restore as put_back};
use crate::terminal::Result;

#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// The folder that `mgp backup` made
    folder: PathBuf,
}

/// Restores the state from a copy, while no kernel runs.
pub(super) async fn restore(cx: &CommandContext, args: &RestoreArgs) -> Result {
    let EffectiveConfig { config, state, socket, .. } = cx.read()?;
    // No client starts a kernel meanwhile.
    let Some(_lock) = start_lock(&state)? else { return Err(in_use(&state)) };
    if socket::connect(&socket).await.is_ok() {
        return Err(in_use(&state));
    }
    cx.output.result(&put_back(&config, &state, &args.folder, &socket::oneself()).await?)
}
