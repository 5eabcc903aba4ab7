//! The merging of servers: those that a folder declares are added without the keys that are the user's alone.

use std::collections::BTreeSet;
use std::mem::take;

use mgp_types::mgp::TrustLevel;

use super::super::model::{ServerConfig, ServerDefinitions, ServerNetwork, ServerSecurity};
use super::super::semantics::mistakable;
use super::{IgnoredReason, Merge, ValuePath, root};

impl Merge<'_> {
    /// Adds the servers whose ids the user has not given, each without the keys that a folder may not set.
    pub(super) fn servers(&mut self, servers: Vec<ServerConfig>) {
        let taken: BTreeSet<String> =
            self.merged.config.servers.iter().map(|server| mistakable(&server.id)).collect();
        let all: BTreeSet<String> = servers.iter().map(|server| server.id.clone()).collect();
        self.own = all.into_iter().filter(|id| !taken.contains(&mistakable(id))).collect();
        for (index, server) in servers.into_iter().enumerate() {
            let place = root().key("servers").index(index);
            if self.own.contains(&server.id) {
                self.apply(place.clone());
                let server = self.server(server, &place);
                self.merged.config.servers.push(server);
            } else {
                self.ignore(place.key("id"), IgnoredReason::TakenId);
            }
        }
    }

    /// Returns a server as a folder may declare it.
    fn server(&mut self, mut server: ServerConfig, place: &ValuePath) -> ServerConfig {
        let ServerConfig {
            id: _,
            command: _,
            args: _,
            cwd: _,
            env: _,
            confine: _,
            confinement: _,
            url: _,
            headers: _,
            oauth: _,
            socket: _,
            transport: _,
            protocol: _,
            dialect: _,
            enabled: _,
            description: _,
            mgp: _,
            restart_policy: _,
            max_restarts: _,
            restart_window_secs: _,
            backoff_base_ms: _,
            backoff_max_ms: _,
            security,
            limits: _,
            network,
            definitions,
            pass_methods,
            safe_methods,
            tools,
            agents: _,
            sharing: _,
            max_instances: _,
        } = &mut server;
        let ServerSecurity {
            trust_level,
            validators: _,
            spared_validators,
            permissions: _,
            risk_at_least: _,
            confirmation: _,
        } = security;
        if *trust_level == Some(TrustLevel::Trusted) {
            *trust_level = None;
            self.ignore(place.key("security").key("trust_level"), IgnoredReason::UsersOnly);
        }
        if !take(spared_validators).is_empty() {
            self.ignore(place.key("security").key("spared_validators"), IgnoredReason::UsersOnly);
        }
        self.openings(&take(network), &take(definitions), place);
        for (key, patterns) in [("pass_methods", pass_methods), ("safe_methods", safe_methods)] {
            if !take(patterns).is_empty() {
                self.ignore(place.key(key), IgnoredReason::UsersOnly);
            }
        }
        for (name, rule) in tools {
            // A call of the folder's tool must not become a call of the user's.
            let leaves =
                |tool: &String| tool.rsplit_once('.').is_none_or(|(server, _)| !self.own.contains(server));
            if rule.fallback.as_ref().is_some_and(leaves) {
                rule.fallback = None;
                self.ignore(place.key("tools").key(name).key("fallback"), IgnoredReason::AnothersServer);
            }
        }
        server
    }

    /// Ignores keys that would open addresses to a server, or switch off rules for its definitions.
    fn openings(&mut self, network: &ServerNetwork, definitions: &ServerDefinitions, place: &ValuePath) {
        let ServerNetwork { allow, data_origins, preset } = network;
        let ServerDefinitions { allow: rules, grows } = definitions;
        for (table, key, is_said) in [
            ("network", "allow", !allow.is_empty()),
            ("network", "data_origins", !data_origins.is_empty()),
            ("network", "preset", preset.is_some()),
            ("definitions", "allow", !rules.is_empty()),
            ("definitions", "grows", *grows),
        ] {
            if is_said {
                self.ignore(place.key(table).key(key), IgnoredReason::UsersOnly);
            }
        }
    }
}
