//! The servers that register themselves, and the tools that are made on demand.

mod creation;
mod graph;
mod modules;

use std::path::Path;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use mgp_discovery::Config;
use mgp_discovery::config::literal;
use mgp_discovery::config::model::{ServerConfig, ServerMgp};
use mgp_discovery::registry::{
    CodeInspector, Inspection, LaunchMethod, ProgramScript, RegistrationPolicy, Registry, RunningServers,
    ServerRegistration, ServerView, SqliteRegistryStore,
};
use mgp_security::command::{CommandPolicy, check_command};
use mgp_store::Database;
use mgp_types::mgp::{AuditPort, ListedServer, Permission, ServerId, ServerStatus};
use mgp_types::{AgentGroups, Context, Error, Principal, PrincipalRole};

use self::creation::remove_script;
pub(crate) use self::creation::{ModelToolCreator, remove_left_over};
use crate::replicas::{ClusterLink, share};
use crate::servers::fleet::Fleet as RunningFleet;
use crate::servers::upstream::Upstream;
use crate::settings::pattern_servers;
use crate::settings::running::RunningConfig;
use crate::visibility::{CallerView, Visibility};
use crate::{StartError, settings};

/// Opens the registry. None of its servers is started yet.
pub(crate) fn open(
    config: &Arc<RunningConfig>,
    visibility: &Arc<Visibility>,
    audit: Arc<dyn AuditPort>,
    link: Option<&Arc<ClusterLink>>,
) -> Result<Registry, StartError> {
    let path = config.state().join("registry.db");
    let wrong = |error: &dyn std::fmt::Display| StartError::Config(format!("{}: {error}", path.display()));
    let groups = visibility.policies.access.groups();
    let database = Database::open(&path).map_err(|error| wrong(&error))?;
    share(link, &database, "registry").map_err(|error| wrong(&error))?;
    let store = SqliteRegistryStore::of(database.clone()).map_err(|error| wrong(&error))?;
    let fleet = Arc::new(FleetServers { config: Arc::clone(config), visibility: Arc::downgrade(visibility) });
    let policy = policy(&config.load(), groups);
    let registry = Registry::open(Arc::new(store), policy, fleet, Arc::new(StrictInspector), audit);
    let registry = registry.map_err(|error| wrong(&error))?;
    if let Some(link) = link {
        let followed = registry.clone();
        link.follow("registry", database, move |_| {
            let registry = followed.clone();
            Box::pin(async move { registry.reload().await })
        });
    }
    Ok(registry)
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
        if Path::new(command).file_stem().is_some_and(|name| name == "mgp") {
            return Err("only `mgp server` can be registered, and no other command of `mgp`".to_owned());
        }
        let line =
            LaunchMethod::Program { command: command.into(), args: args.to_vec(), env: Vec::new() }.line();
        check_command(&line, &CommandPolicy::default()).map_err(|finding| finding.to_string())
    }
}

/// The servers of the kernel, as the registry sees them.
///
/// The servers hold the registry, so it does not keep them alive.
struct FleetServers {
    config: Arc<RunningConfig>,
    visibility: Weak<Visibility>,
}

impl FleetServers {
    fn fleet(&self) -> Result<Arc<RunningFleet>, Error> {
        let visibility = self.visibility.upgrade().ok_or_else(|| Error::disconnected("the kernel stops"))?;
        Ok(Arc::clone(&visibility.fleet))
    }
}

#[async_trait]
impl RunningServers for FleetServers {
    fn servers(&self, context: &Context) -> Vec<ServerView> {
        let (Some(visibility), Some(caller)) = (self.visibility.upgrade(), &context.principal) else {
            return Vec::new();
        };
        let is_operator = caller.role() == PrincipalRole::Operator;
        let mut servers = visibility.fleet.all();
        servers.retain(|server| is_operator || server.reaches(caller));
        servers.iter().map(|server| view(&visibility, server, caller)).collect()
    }

    async fn start(&self, server: Arc<ServerRegistration>) -> Result<(), Error> {
        let fleet = self.fleet()?;
        let _turn = fleet.turn.lock().await;
        fleet.admit(config(&server)).map(drop).map_err(|error| Error::internal(error.to_string()))
    }

    async fn stop(&self, server: &ServerId) -> Result<(), Error> {
        let fleet = self.fleet()?;
        let turn = fleet.turn.lock().await;
        fleet.dismiss(server).map_err(|error| Error::internal(error.to_string()))?;
        drop(turn);
        remove_script(self.config.state(), server).await;
        Ok(())
    }

    fn confines(&self) -> Result<(), String> {
        crate::check_confinement()
    }
}

/// Returns the server as `caller` may see it: an agent sees what its own connection leads to.
fn view(visibility: &Visibility, server: &Upstream, caller: &Principal) -> ServerView {
    let is_operator = caller.role() == PrincipalRole::Operator;
    let session =
        if is_operator { server.session() } else { server.session_on(&server.connection_key(caller)) };
    let config = server.config();
    let declared = config.mgp.as_ref();
    let trust = settings::trust(config, session.as_deref());
    let mut listed = ListedServer::new(server.id().clone(), ServerStatus::from(server.state()), trust);
    let mut required = declared.map(|mgp| mgp.permissions_required.clone()).unwrap_or_default();
    if let Some(agreed) = session.and_then(|session| session.mgp.clone()) {
        required.extend(agreed.peer().permissions_required.iter().map(ToString::to_string));
        listed.mgp_version = Some(agreed.version());
        listed.extensions = agreed.extensions().names().map(ToString::to_string).collect();
    } else if let Some(declared) = declared {
        listed.extensions.clone_from(&declared.extensions);
    }
    listed.tools = if is_operator {
        let snapshot = visibility.catalog.snapshot();
        snapshot.of_server(server.id().as_str()).iter().map(|tool| tool.resolved.name.to_string()).collect()
    } else {
        let names = CallerView::of_agent(visibility, caller).names_of_tools(server.id());
        names.iter().map(ToString::to_string).collect()
    };
    ServerView { listed, permissions: required.iter().map(|name| Permission::read(name)).collect() }
}

/// Returns what `mgp.toml` would say of a registered server. The texts of its registrant are literal: they refer to no
/// variable.
fn config(server: &ServerRegistration) -> ServerConfig {
    let mut config = ServerConfig::default();
    config.id = server.id.to_string();
    match &server.launch {
        LaunchMethod::Program { command, args, env } => {
            config.command = Some(literal(command));
            config.args = args.iter().map(|arg| literal(arg)).collect();
            // The server gets the variables that the policy let through, with the values that they have in the kernel's
            // environment.
            config.env = env.iter().map(|name| (name.clone(), format!("${{{name}:-}}"))).collect();
        }
        LaunchMethod::Web { url, transport } => {
            config.url = Some(literal(url));
            config.transport = Some(*transport);
        }
        _ => {}
    }
    config.confine = Some(server.is_confined());
    config.description.clone_from(&server.justification);
    config.security.trust_level = Some(server.trust);
    let mut mgp = ServerMgp::default();
    mgp.extensions.clone_from(&server.extensions);
    mgp.permissions_required = server.permissions.iter().map(ToString::to_string).collect();
    config.mgp = Some(mgp);
    config
}

mgp_types::partial_debug!(FleetServers);

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
