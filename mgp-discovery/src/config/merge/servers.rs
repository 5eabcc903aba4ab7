//! The merging of servers: those that a folder declares are added without the keys that are the user's alone.

use std::collections::BTreeSet;

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
    fn server(&mut self, server: ServerConfig, place: &ValuePath) -> ServerConfig {
        let ServerConfig {
            id,
            command,
            args,
            cwd,
            env,
            confine,
            confinement,
            url,
            headers,
            socket,
            transport,
            enabled,
            description,
            mgp,
            restart_policy,
            max_restarts,
            restart_window_secs,
            backoff_base_ms,
            backoff_max_ms,
            security,
            limits,
            network,
            definitions,
            pass_methods,
            safe_methods,
            mut tools,
            agents,
            sharing,
        } = server;
        let ServerSecurity {
            trust_level,
            validators,
            spared_validators,
            permissions,
            risk_at_least,
            confirmation,
        } = security;
        let trust_level = trust_level.filter(|level| {
            let is_raised = *level == TrustLevel::Trusted;
            if is_raised {
                self.ignore(place.key("security").key("trust_level"), IgnoredReason::UsersOnly);
            }
            !is_raised
        });
        if !spared_validators.is_empty() {
            self.ignore(place.key("security").key("spared_validators"), IgnoredReason::UsersOnly);
        }
        self.openings(&network, &definitions, place);
        for (key, patterns) in [("pass_methods", pass_methods), ("safe_methods", safe_methods)] {
            if !patterns.is_empty() {
                self.ignore(place.key(key), IgnoredReason::UsersOnly);
            }
        }
        for (name, rule) in &mut tools {
            // A call of the folder's tool must not become a call of the user's.
            let leaves =
                |tool: &String| tool.rsplit_once('.').is_none_or(|(server, _)| !self.own.contains(server));
            if rule.fallback.as_ref().is_some_and(leaves) {
                rule.fallback = None;
                self.ignore(place.key("tools").key(name).key("fallback"), IgnoredReason::AnothersServer);
            }
        }
        ServerConfig {
            id,
            command,
            args,
            cwd,
            env,
            confine,
            confinement,
            url,
            headers,
            socket,
            transport,
            enabled,
            description,
            mgp,
            restart_policy,
            max_restarts,
            restart_window_secs,
            backoff_base_ms,
            backoff_max_ms,
            security: ServerSecurity {
                trust_level,
                validators,
                spared_validators: Vec::new(),
                permissions,
                risk_at_least,
                confirmation,
            },
            limits,
            network: ServerNetwork::default(),
            definitions: ServerDefinitions::default(),
            pass_methods: Vec::new(),
            safe_methods: Vec::new(),
            tools,
            agents,
            sharing,
        }
    }

    /// Ignores keys that would open addresses to a server, or switch off rules for its definitions.
    fn openings(&mut self, network: &ServerNetwork, definitions: &ServerDefinitions, place: &ValuePath) {
        let ServerNetwork { allow, preset } = network;
        let ServerDefinitions { allow: rules } = definitions;
        for (table, key, is_said) in [
            ("network", "allow", !allow.is_empty()),
            ("network", "preset", preset.is_some()),
            ("definitions", "allow", !rules.is_empty()),
        ] {
            if is_said {
                self.ignore(place.key(table).key(key), IgnoredReason::UsersOnly);
            }
        }
    }
}
