//! The servers that register themselves, and the tools that are made on demand.

mod creation;
mod fleet;
mod graph;
mod inspector;
mod modules;
mod scripts;

use std::sync::Arc;

use mgp_discovery::Config;
use mgp_discovery::registry::{RegistrationPolicy, Registry, SqliteRegistryStore};
use mgp_types::mgp::AuditPort;

pub(crate) use self::creation::ModelToolCreator;
use self::fleet::FleetServers;
use self::inspector::StrictInspector;
pub(crate) use self::scripts::remove_left_over;
use crate::StartError;
use crate::running::RunningConfig;
use crate::visibility::Visibility;

/// Opens the registry. None of its servers is started yet.
pub(crate) fn open(
    config: &Arc<RunningConfig>,
    visibility: &Arc<Visibility>,
    audit: Arc<dyn AuditPort>,
) -> Result<Registry, StartError> {
    let path = config.state().join("registry.db");
    let wrong = |error: &dyn std::fmt::Display| StartError::Config(format!("{}: {error}", path.display()));
    let store = SqliteRegistryStore::open(&path).map_err(|error| wrong(&error))?;
    let fleet = Arc::new(FleetServers { config: Arc::clone(config), visibility: Arc::downgrade(visibility) });
    Registry::open(Arc::new(store), policy(&config.load()), fleet, Arc::new(StrictInspector), audit)
        .map_err(|error| wrong(&error))
}

pub(crate) fn policy(config: &Config) -> RegistrationPolicy {
    let configured = config.servers.iter().map(|server| server.id.as_str().into());
    RegistrationPolicy::new(&config.registration, configured)
}
