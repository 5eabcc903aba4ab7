//! The check of the names in a decision about a permission: a decision about a name that nobody has stands for nothing.

use std::collections::BTreeSet;

use mgp_discovery::config::nearest;
use mgp_types::mgp::{AgentId, Permission, ServerId, ServerState};
use mgp_types::{Error, LOCAL_AGENT, RawJson};
use serde::{Deserialize, Serialize};

use crate::sections::Sections;
use crate::settings::KEYLESS_AGENT;
use crate::terminal::Failure;

/// The wrong names in a decision, which an error has as its data: all reasons in one text, and the names that are probably
/// meant.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct NameMistakes {
    pub(crate) reason: String,
    pub(crate) meant_server: Option<String>,
    pub(crate) meant_permission: Option<String>,
    pub(crate) meant_agent: Option<String>,
    /// The known permissions, if the permission is none of them and reads like none.
    pub(crate) permissions: Vec<String>,
}

/// The agents for whose calls something is decided.
#[derive(Debug, Clone, Copy)]
pub(super) enum DecidedAgent<'a> {
    Named(&'a AgentId),
    All,
    /// Neither an agent is named, nor all of them.
    Missing,
}

/// Checks that there is such a server, or was when something was decided about it, and that the permission and the
/// agent are known, or at least read like no known ones; and that agents are named at all.
///
/// # Errors
/// -32602 with [`NameMistakes`].
pub(super) fn check_names(
    kernel: &Sections,
    server: &ServerId,
    permission: &Permission,
    agent: DecidedAgent<'_>,
) -> Result<(), Error> {
    let (mut mistakes, mut reasons) = (NameMistakes::default(), Vec::new());
    if let Err(unmatched) = kernel.targets.known().check_server(server.as_str())
        && kernel.policies.grants.records(server).is_empty()
    {
        mistakes.meant_server = unmatched.suggestion();
        reasons.push(format!("no server is called `{server}`"));
    }
    let permissions = known_permissions(kernel);
    if !permissions.contains(permission.as_str()) {
        let meant = nearest(permission.as_str(), permissions.iter().map(String::as_str));
        // A server that is not connected may need more permissions than are known; then only a name that reads like a
        // known one is taken for a misspelling of it.
        if meant.is_some() || is_connected(kernel, server) {
            reasons.push(format!("no server needs a permission `{permission}`"));
            mistakes.meant_permission = meant.map(str::to_owned);
            mistakes.permissions =
                if meant.is_none() { permissions.into_iter().collect() } else { Vec::new() };
        }
    }
    if let DecidedAgent::Named(agent) = agent
        && let agents = known_agents(kernel)
        && !agents.contains(agent.as_str())
        && let Some(meant) = nearest(agent.as_str(), agents.iter().map(String::as_str))
    {
        reasons.push(format!("no agent `{agent}` is known"));
        mistakes.meant_agent = Some(meant.to_owned());
    }
    if let Some(last) = reasons.last_mut() {
        last.push_str(", so this would stand for nothing");
    }
    if matches!(agent, DecidedAgent::Missing) {
        reasons.push("no agent is named for whose calls the permission is granted".to_owned());
        mistakes.meant_agent = Some("AGENT".to_owned());
    }
    if reasons.is_empty() {
        return Ok(());
    }
    mistakes.reason = reasons.join("; ");
    let error = Error::invalid_params(format!("{} (`force` accepts unknown names)", mistakes.reason));
    Err(match RawJson::from_value(&mistakes) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    })
}

/// Returns the standard permissions, and those that some server is known to need.
fn known_permissions(kernel: &Sections) -> BTreeSet<String> {
    let config = kernel.targets.config.load();
    let standard = Permission::KNOWN.iter().map(|one| one.as_str().to_owned());
    let mut known: BTreeSet<String> = standard.collect();
    for server in &config.servers {
        known.extend(server.security.permissions.iter().map(|one| one.as_str().to_owned()));
        known.extend(server.mgp.iter().flat_map(|mgp| &mgp.permissions_required).cloned());
    }
    known.extend(config.permissions.grants.iter().map(|grant| grant.permission.as_str().to_owned()));
    known.extend(kernel.policies.grants.waiting().into_iter().map(|(_, one)| one.as_str().to_owned()));
    known.extend(
        kernel.policies.grants.all_records().into_iter().map(|record| record.permission.as_str().to_owned()),
    );
    known
}

/// Returns the agents that are configured or connected, have keys or rules, or about whose calls something was decided.
fn known_agents(kernel: &Sections) -> BTreeSet<String> {
    let mut known = BTreeSet::from([LOCAL_AGENT.to_owned(), KEYLESS_AGENT.to_owned()]);
    known.extend(kernel.targets.config.load().agents.iter().map(|agent| agent.id.clone()));
    known.extend(kernel.policies.keys.keys().iter().map(|key| key.owner.as_str().to_owned()));
    let connected = kernel.lifecycle.connections.clients();
    known
        .extend(connected.iter().map(|one| one.session.principal(&one.agent, None).access_id().into_owned()));
    let rules = kernel.targets.visibility.access.entries();
    known.extend(rules.iter().map(|rule| rule.entry.agent_id.as_str().to_owned()));
    let decided = kernel.policies.grants.all_records().into_iter().filter_map(|record| record.agent);
    known.extend(decided.map(|agent| agent.as_str().to_owned()));
    known
}

fn is_connected(kernel: &Sections, server: &ServerId) -> bool {
    let view = kernel.targets.visibility.fleet.views().into_iter().find(|view| view.id == *server);
    view.is_some_and(|view| view.state == ServerState::Connected)
}

/// Adds a hint to the refusal of a decision whose names are wrong: the command that is probably meant, or the known
/// permissions. `command` returns the command with the names in place of those that were written.
pub(crate) fn advised_names(failure: Failure, command: impl Fn(&NameMistakes) -> String) -> Failure {
    let Some(mistakes) = failure.data::<NameMistakes>() else { return failure };
    let meant = [&mistakes.meant_server, &mistakes.meant_permission, &mistakes.meant_agent];
    let hint = if meant.into_iter().any(Option::is_some) {
        format!("did you mean `{}`? `--force` accepts what is written", command(&mistakes))
    } else if mistakes.permissions.is_empty() {
        "`mgp servers` shows the servers; `--force` accepts what is written".to_owned()
    } else {
        let known = mistakes.permissions.join(", ");
        format!("the known permissions are {known}; `--force` accepts what is written")
    };
    failure.with_message(mistakes.reason).hint(hint)
}
