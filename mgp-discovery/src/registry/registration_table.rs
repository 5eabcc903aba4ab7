//! The registered servers, and the claims of changes in progress.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mgp_types::mgp::ServerId;
use parking_lot::Mutex;

use super::{RegistryError, ServerRegistration};

/// The registered servers, and the changes in progress. Clones share the same servers.
#[derive(Debug, Clone, Default)]
pub(super) struct RegistrationTable(Arc<Mutex<RegistrationTableState>>);

#[derive(Debug, Default)]
struct RegistrationTableState {
    servers: BTreeMap<ServerId, Arc<ServerRegistration>>,
    claimed: BTreeSet<ServerId>,
}

/// The right to change one server, until it is dropped. Changes of one server are made one after the other, with no
/// lock held while they wait.
#[derive(Debug)]
pub(super) struct Claim {
    table: RegistrationTable,
    id: ServerId,
}

impl RegistrationTable {
    pub(super) fn of(servers: Vec<ServerRegistration>) -> Self {
        let servers = servers.into_iter().map(|server| (server.id.clone(), Arc::new(server))).collect();
        Self(Arc::new(Mutex::new(RegistrationTableState { servers, claimed: BTreeSet::new() })))
    }

    pub(super) fn get(&self, id: &ServerId) -> Option<Arc<ServerRegistration>> {
        self.0.lock().servers.get(id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<ServerRegistration>> {
        self.0.lock().servers.values().cloned().collect()
    }

    /// Returns the right to create a server, which counts as registered from now on.
    pub(super) fn claim_new(&self, id: &ServerId) -> Result<Claim, RegistryError> {
        let mut held = self.0.lock();
        let is_taken = held.servers.keys().chain(&held.claimed).any(|known| is_same(known, id));
        if is_taken {
            return Err(RegistryError::Taken(id.clone()));
        }
        let coming = held.claimed.iter().filter(|id| !held.servers.contains_key(*id)).count();
        if held.servers.len() + coming >= MAX_SERVERS {
            return Err(RegistryError::Full(MAX_SERVERS));
        }
        held.claimed.insert(id.clone());
        Ok(Claim { table: self.clone(), id: id.clone() })
    }

    /// Returns the right to change an existing server, and the server as it is.
    pub(super) fn claim(&self, id: &ServerId) -> Result<(Claim, Arc<ServerRegistration>), RegistryError> {
        let mut held = self.0.lock();
        let Some(server) = held.servers.get(id).cloned() else {
            return Err(RegistryError::Unknown(id.clone()));
        };
        if !held.claimed.insert(id.clone()) {
            return Err(RegistryError::Busy(id.clone()));
        }
        Ok((Claim { table: self.clone(), id: id.clone() }, server))
    }
}

impl Claim {
    pub(super) fn put(&self, server: Arc<ServerRegistration>) {
        self.table.0.lock().servers.insert(self.id.clone(), server);
    }

    pub(super) fn remove(&self) {
        self.table.0.lock().servers.remove(&self.id);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.table.0.lock().claimed.remove(&self.id);
    }
}

/// The maximum number of servers that are registered at the same time.
pub(super) const MAX_SERVERS: usize = 16;

/// Returns whether two ids are the same. Ids that differ in case only would be one file, or one name to a human.
pub(super) fn is_same(one: &ServerId, other: &ServerId) -> bool {
    one.as_str().eq_ignore_ascii_case(other.as_str())
}
