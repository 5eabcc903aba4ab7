//! The details of one server: the variables that its program is given, what the program may reach, and the login at it.

use std::collections::BTreeSet;

use mgp_discovery::Config;
use mgp_discovery::config::model::ServerConfig;
use mgp_security::permission::GrantTerms;
use mgp_types::Error;
use mgp_types::mgp::{Permission, ServerId};
use serde::{Deserialize, Serialize};

use super::operation::{Operation, OperatorCall};
use super::server_orders::known;
use crate::sections::Sections;
use crate::servers::authorization::{at_server, without_person};
use crate::servers::confine::support;
use crate::servers::upstream::{granted, inherited};

/// Shows what a server is given, what it may reach, and the login at it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ShowServer {
    pub(crate) server_id: ServerId,
}

/// The details of a server.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServerDetails {
    /// The names of the variables that its program is given. Their values are shown nowhere.
    pub(crate) variables: BTreeSet<String>,
    /// The confinement of its program by the system, in words; `None` where the kernel starts no program.
    pub(crate) confined: Option<String>,
    /// The permissions and settings by which a confined program reaches more than the system's programs, itself and a temporary
    /// folder.
    pub(crate) opened: Vec<String>,
    /// The login at the server, in words; `None` where there is nothing to sign in to.
    pub(crate) login: Option<String>,
}

impl Operation for ShowServer {
    type Reply = ServerDetails;

    async fn run(self, call: &OperatorCall) -> Result<ServerDetails, Error> {
        let Sections { config, policies, .. } = &*call.kernel;
        let (config, running) = (config.load_full(), known(&call.kernel, &self.server_id)?);
        let server = running.config();
        let mut details = ServerDetails {
            variables: BTreeSet::new(),
            confined: None,
            opened: Vec::new(),
            login: if server.url.is_some() { Some(login(&config, server).await) } else { None },
        };
        if server.command.is_none() {
            return Ok(details);
        }
        let of_agents = server.agents.values().flat_map(|agent| agent.env.keys());
        details.variables.extend(server.env.keys().chain(of_agents).cloned());
        let of_kernel = inherited(&config, &server.id).into_iter();
        details.variables.extend(of_kernel.filter_map(|(name, _)| name.into_string().ok()));
        let system = support();
        details.confined = Some(match (server.is_confined(), system.confines()) {
            (false, _) => "no".to_owned(),
            (true, Ok(())) => format!("yes, by the system: {system}"),
            (true, Err(why)) => format!("no, although it has to be: {why}"),
        });
        if server.is_confined() {
            let granted = granted(policies, &config, server).map_err(Error::invalid_params)?;
            details.opened = opened(server, &granted);
        }
        Ok(details)
    }
}

fn opened(server: &ServerConfig, granted: &[(Permission, GrantTerms)]) -> Vec<String> {
    let by_permission = |(permission, terms): &(Permission, GrantTerms)| {
        let scope = terms.scope.as_ref().and_then(|scope| serde_json::to_string(scope).ok());
        format!("{permission}: {}", scope.as_deref().unwrap_or("everything"))
    };
    let mut opened: Vec<_> = granted.iter().map(by_permission).collect();
    let configured = server.confinement.as_ref().and_then(|extra| serde_json::to_string(extra).ok());
    opened.extend(configured.map(|extra| format!("`confinement` of its entry: {extra}")));
    opened
}

/// Returns the login at a server in words, with the command that changes it.
async fn login(config: &Config, server: &ServerConfig) -> String {
    if let Some(way) = server.oauth.as_ref().and_then(|oauth| without_person(oauth.grant)) {
        return format!("none is needed: {way}");
    }
    let command = format!("`mgp login {}`", server.id);
    if server.has_logins_of_agents() {
        return format!("each agent has its own: {command} with `--agent AGENT`");
    }
    let stored = async { Ok::<_, Error>(at_server(config, server, None)?.build()?.stored_login().await?) };
    match stored.await.map(|login| login.map(|login| login.ends_at())) {
        Ok(Some(Some(end))) => format!("signed in until {end}; {command} signs in again"),
        Ok(Some(None)) => "signed in".to_owned(),
        Ok(None) => format!("none; {command} signs in where the server demands it"),
        Err(error) => format!("not known: {}", error.message()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_told_by_the_permission_or_the_setting_that_opens_it() {
        let server =
            r#"{"command":"x","confinement":{"read":["~/notes"],"connect":[443],"unix_sockets":true}}"#;
        let server: ServerConfig = serde_json::from_str(server).unwrap();
        let scope = serde_json::from_str(r#"{"ports":[443]}"#).unwrap();
        let granted = [
            (Permission::FilesystemRead, GrantTerms::default()),
            (
                Permission::NetworkOutbound,
                GrantTerms { scope: Some(Box::new(scope)), ..GrantTerms::default() },
            ),
        ];
        let expected = [
            "filesystem.read: everything",
            r#"network.outbound: {"ports":[443]}"#,
            r#"`confinement` of its entry: {"read":["~/notes"],"write":[],"change_modes":false,"connect":[443],"listen":[],"unix_sockets":true}"#,
        ];
        assert_eq!(opened(&server, &granted), expected);
    }

    #[tokio::test]
    async fn a_login_that_no_person_has_to_make_is_told() {
        let told = async |server: &str| {
            let server = serde_json::from_str(server).unwrap();
            login(&Config::default(), &server).await
        };
        let own = r#"{"id":"a","url":"https://a.example","oauth":{"grant":"client_credentials"}}"#;
        assert!(told(own).await.starts_with("none is needed"));
        let agents = r#"{"id":"a","url":"https://a.example","sharing":"agent"}"#;
        assert_eq!(told(agents).await, "each agent has its own: `mgp login a` with `--agent AGENT`");
    }
}
