//! `mgp restore`: puts a copy in the place of the state. `mgp backup` is an operation of the kernel.

use std::path::PathBuf;

use clap::Args;
use mgp_kernel_core::listen::socket;
use mgp_kernel_core::proof::is_guarded;
use mgp_kernel_core::state::copy::DECISIONS;
use mgp_kernel_core::state::folder::users_state;
use mgp_kernel_core::terminal::{Failure, Result};
use mgp_security::StoreError;

use super::background::start_lock;
use super::context::{CommandContext, EffectiveConfig};
use super::proof;
use crate::restore::restore as put_back;

#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// The folder that `mgp backup` made
    folder: PathBuf,
}

/// Restores the state from a copy, while no kernel runs.
pub(super) async fn restore(cx: &CommandContext, args: &RestoreArgs) -> Result {
    let EffectiveConfig { config, state, .. } = cx.read()?;
    if config.store.url.is_some() {
        let failure = Failure::usage("this kernel shares its decisions, which a copy cannot replace");
        return Err(failure.hint("take `[store]` out of mgp.toml, and restore this kernel alone"));
    }
    let in_use = || {
        let failure = Failure::unreachable(format!("a kernel runs with the state in {}", state.display()));
        failure.hint("`mgp stop` stops it; restore the copy then")
    };
    // No client starts a kernel meanwhile.
    let Some(_lock) = start_lock(&state)? else { return Err(in_use()) };
    // A new state has no decisions that could be replaced.
    if state.join(DECISIONS).exists() || is_guarded(users_state(&state)) {
        proof::person_at(&state).await?;
    }
    let restored = put_back(&config, &state, &args.folder, &socket::oneself()).await;
    let failed = |error: anyhow::Error| match error.downcast_ref() {
        Some(StoreError::InUse) => in_use(),
        _ => Failure::usage(format!("{error:#}")),
    };
    cx.output.result(&restored.map_err(failed)?)
}
