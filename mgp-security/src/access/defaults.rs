use std::collections::HashMap;

use mgp_types::mgp::{DefaultPolicy, ServerId};

/// What holds where no entry does, for each server.
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
