//! The fleet of the kernel, as the registry of servers uses it.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use mgp_discovery::config::literal;
use mgp_discovery::config::model::{ServerConfig, ServerMgp};
use mgp_discovery::registry::{LaunchMethod, RunningServers, ServerRegistration, ServerView};
use mgp_types::mgp::{ListedServer, Permission, ServerId, ServerStatus};
use mgp_types::{Context, Error, Principal, PrincipalRole};

use super::creation::remove_script;
use crate::running::RunningConfig;
use crate::servers::fleet::Fleet as RunningFleet;
use crate::servers::upstream::Upstream;
use crate::settings;
use crate::visibility::{CallerView, Visibility};

/// The servers of the kernel, as the registry sees them.
///
/// The servers hold the registry, so it does not keep them alive.
pub(super) struct FleetServers {
    pub(super) config: Arc<RunningConfig>,
    pub(super) visibility: Weak<Visibility>,
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
        let _turn = fleet.turn().await;
        fleet.admit(config(&server)).map(drop).map_err(|error| Error::internal(error.to_string()))
    }

    async fn stop(&self, server: &ServerId) -> Result<(), Error> {
        let fleet = self.fleet()?;
        let turn = fleet.turn().await;
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
    let session = if is_operator { server.session() } else { server.session_on(&server.line(caller)) };
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
        CallerView::of_agent(visibility, caller)
            .names_of_tools(server.id())
            .iter()
            .map(ToString::to_string)
            .collect()
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
