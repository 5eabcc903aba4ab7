//! The servers that register themselves, and the tools that are made on demand.

mod creation;
mod fleet;
mod graph;
mod modules;

use std::sync::Arc;

use async_trait::async_trait;
use mgp_discovery::Config;
use mgp_discovery::registry::{
    CodeInspector, Inspection, LaunchMethod, ProgramScript, RegistrationPolicy, Registry, SqliteRegistryStore,
};
use mgp_security::validator::sandbox::{CommandPolicy, check_command};
use mgp_types::AgentGroups;
use mgp_types::mgp::AuditPort;

pub(crate) use self::creation::{ModelToolCreator, remove_left_over};
use self::fleet::FleetServers;
use crate::running::RunningConfig;
use crate::visibility::Visibility;
use crate::{StartError, pattern_servers};

/// Opens the registry. None of its servers is started yet.
pub(crate) fn open(
    config: &Arc<RunningConfig>,
    visibility: &Arc<Visibility>,
    audit: Arc<dyn AuditPort>,
) -> Result<Registry, StartError> {
    let path = config.state().join("registry.db");
    let wrong = |error: &dyn std::fmt::Display| StartError::Config(format!("{}: {error}", path.display()));
    let groups = visibility.access.groups();
    let store = SqliteRegistryStore::open(&path).map_err(|error| wrong(&error))?;
    let fleet = Arc::new(FleetServers { config: Arc::clone(config), visibility: Arc::downgrade(visibility) });
    Registry::open(Arc::new(store), policy(&config.load(), groups), fleet, Arc::new(StrictInspector), audit)
        .map_err(|error| wrong(&error))
}

pub(crate) fn policy(config: &Config, groups: &AgentGroups) -> RegistrationPolicy {
    let configured = config.servers.iter().map(|server| server.id.as_str().into());
    RegistrationPolicy::new(&config.registration, configured).with_groups(groups.clone())
}

/// An inspector that checks scripts and the files that they load with the code safety framework at its strictest level
/// (§7), and command lines by the rules of the validator `sandbox` (§4.5).
#[derive(Debug)]
struct StrictInspector;

#[async_trait]
impl CodeInspector for StrictInspector {
    async fn inspect(&self, script: ProgramScript<'_>) -> Inspection {
        let (path, language) = (script.path.to_owned(), script.language.to_owned());
        let shown = path.display().to_string();
        match tokio::task::spawn_blocking(move || graph::read(&path, &language)).await {
            Ok(Ok(code)) => Inspection::Harmless(Box::new(code)),
            Ok(Err(refused)) => refused,
            Err(panic) => Inspection::Unreadable(format!("{shown}: {panic}")),
        }
    }

    fn judge_line(&self, command: &str, args: &[String]) -> Result<(), String> {
        // Other commands of this program decide, and a shell may not run them. Like every program whose code is not inspected,
        // a server of it is shown to an operator before it starts.
        if pattern_servers::is_by_command(command, args.first().map_or("", String::as_str)) {
            return Ok(());
        }
        let line =
            LaunchMethod::Program { command: command.into(), args: args.to_vec(), env: Vec::new() }.line();
        check_command(&line, &CommandPolicy::default()).map_err(|finding| finding.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_commands_of_this_program_only_its_servers_are_registered() {
        let judged = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            let command = words.next().unwrap();
            StrictInspector.judge_line(&command, &words.collect::<Vec<_>>()).is_ok()
        };
        assert!(judged("mgp server federation --instance prod=https://example.com/mcp"));
        assert!(judged("/usr/local/bin/mgp server context"));
        for line in ["mgp permissions approve 1", "mgp --config x server audit", "mgp keys new server"] {
            assert!(!judged(line), "{line}");
        }
    }
}
