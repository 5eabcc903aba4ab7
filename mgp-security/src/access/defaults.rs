//! The default policies of servers, which hold where no access entry decides.

use std::collections::HashMap;

use mgp_types::mgp::{DefaultPolicy, ServerId};

/// The default policy of each server that has its own, and the one for all other servers.
#[derive(Debug, Clone, Default)]
pub(super) struct Defaults {
    pub(super) of_servers: HashMap<ServerId, DefaultPolicy, foldhash::quality::RandomState>,
    pub(super) otherwise: DefaultPolicy,
}

impl Defaults {
    pub(super) fn of(&self, server: &str) -> DefaultPolicy {
        self.of_servers.get(server).copied().unwrap_or(self.otherwise)
    }
}
