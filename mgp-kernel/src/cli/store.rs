//! `mgp store`: the database that kernels share.

use std::sync::Arc;

use clap::Subcommand;
use mgp_kernel_core::admin::cluster::MigrateStore;
use mgp_kernel_core::replicas::connect;
use mgp_kernel_core::settings::running::AcceptedConfig;
use mgp_kernel_core::state::copy::{DECISIONS, EFFECTS, REGISTRY};
use mgp_kernel_core::terminal::{Exit, Failure, Result, with_causes};
use mgp_store::{Database, StoreError, off_the_runtime};
use serde_json::json;

use super::background::start_lock;
use super::context::{CommandContext, EffectiveConfig};
use super::link::operate;

#[derive(Debug, Subcommand)]
pub(super) enum StoreCommand {
    /// Make the tables in the database that `[store]` names
    Init,
    /// Check that the database is reached directly, has the tables that this version knows, and only what kernels wrote
    Check,
    /// Have all kernels use the tables of this version of mgp, once all of them have it
    Migrate,
    /// Make the decisions of this kernel those of all kernels, which must have none yet
    ///
    /// The way back needs no command: each kernel has all decisions in its own files, and goes on with them alone once
    /// `[store]` is taken out of mgp.toml.
    Copy,
}

pub(super) async fn run(cx: &CommandContext, command: StoreCommand) -> Result {
    let EffectiveConfig { config, state, .. } = cx.read()?;
    let Some((postgres, key)) = connect(&config, &AcceptedConfig::new(&state))? else {
        let failure = Failure::usage("this kernel shares no database");
        return Err(failure.hint("write a `url` and a `key` under `[store]` in mgp.toml"));
    };
    let (outcome, done) = match command {
        StoreCommand::Migrate => return operate(cx, MigrateStore {}).await,
        StoreCommand::Init => (postgres.init().await, "the tables are there"),
        StoreCommand::Check => {
            // Before any other statement: through such a pooler they fail now and then.
            postgres.check_connections().await.map_err(|error| failed(&error))?;
            postgres.check().await.map_err(|error| failed(&error))?;
            let orders = ["policy", "effects", "registry", "record"].map(|name| postgres.order(name));
            let checked = off_the_runtime(move || orders.iter().try_for_each(|order| key.check(order)));
            (checked.await, "the database is reached, and all changes in it are of kernels with this key")
        }
        StoreCommand::Copy => {
            // No client starts a kernel meanwhile, and one that runs has the databases open.
            let Some(_lock) = start_lock(&state)? else { return Err(failed(&StoreError::InUse)) };
            let copy = off_the_runtime(move || {
                let shared = [(EFFECTS, "effects"), (REGISTRY, "registry"), (DECISIONS, "policy")];
                for (file, order) in shared.map(|(file, order)| (state.join(file), order)) {
                    if file.exists() {
                        let database = Database::open(&file)?.section("copy", &[])?;
                        database.share(Arc::new(postgres.order(order)), key.clone())?;
                        database.begin_order()?;
                    }
                }
                Ok(())
            });
            (copy.await, "the decisions of this kernel are those of all kernels")
        }
    };
    outcome.map_err(|error| failed(&error))?;
    cx.output.line(&json!({ "done": done }), done)
}

fn failed(error: &StoreError) -> Failure {
    Failure::new(Exit::Unreachable, with_causes(&error.to_string(), error))
}
