//! The merging of servers: those that a folder declares are added without the keys that are the user's alone.

use std::collections::BTreeSet;
use std::mem::take;

use mgp_types::mgp::TrustLevel;

use super::super::model::{ServerConfig, ServerDefinitions, ServerNetwork};
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

    /// Returns a server as a folder may declare it: without the keys that would trust it beyond the usual, open addresses
    /// to it, pass methods on, or switch off rules for its definitions.
    fn server(&mut self, mut server: ServerConfig, place: &ValuePath) -> ServerConfig {
        if server.security.trust_level == Some(TrustLevel::Trusted) {
            server.security.trust_level = None;
            self.ignore(place.key("security").key("trust_level"), IgnoredReason::UsersOnly);
        }
        let ServerNetwork { allow, data_origins, preset } = take(&mut server.network);
        let ServerDefinitions { allow: rules, grows } = take(&mut server.definitions);
        for (key, is_said) in [
            ("security.spared_validators", !take(&mut server.security.spared_validators).is_empty()),
            ("network.allow", !allow.is_empty()),
            ("network.data_origins", !data_origins.is_empty()),
            ("network.preset", preset.is_some()),
            ("definitions.allow", !rules.is_empty()),
            ("definitions.grows", grows),
            ("pass_methods", !take(&mut server.pass_methods).is_empty()),
            ("safe_methods", !take(&mut server.safe_methods).is_empty()),
        ] {
            if is_said {
                self.ignore(place.path(key), IgnoredReason::UsersOnly);
            }
        }
        for (name, rule) in &mut server.tools {
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
}
