//! The registered servers, and the claims of changes in progress.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_types::mgp::ServerId;
use parking_lot::Mutex;

use super::{Lifetime, Registrant, RegistrationId, RegistryError, Result, ServerRegistration};

/// The registered servers, and the changes in progress. Clones share the same servers.
#[derive(Debug, Clone, Default)]
pub(super) struct RegistrationTable(Arc<Mutex<RegistrationTableState>>);

type Servers = BTreeMap<ServerId, Arc<ServerRegistration>>;

#[derive(Debug, Default)]
struct RegistrationTableState {
    servers: Servers,
    /// The servers whose changes are in progress, with their registrants.
    claimed: BTreeMap<ServerId, Registrant>,
}

/// The right to change one server, until it is dropped. Changes of one server are made one after the other, with no
/// lock held while they wait.
#[derive(Debug)]
pub(super) struct Claim {
    table: RegistrationTable,
    id: ServerId,
    /// The server as it is stored, if it is.
    stored: Option<Arc<ServerRegistration>>,
}

impl RegistrationTable {
    pub(super) fn of(servers: Vec<ServerRegistration>) -> Self {
        let servers = servers.into_iter().map(|server| (server.id.clone(), Arc::new(server))).collect();
        Self(Arc::new(Mutex::new(RegistrationTableState { servers, claimed: BTreeMap::new() })))
    }

    pub(super) fn get(&self, id: &ServerId) -> Option<Arc<ServerRegistration>> {
        self.0.lock().servers.get(id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<ServerRegistration>> {
        self.0.lock().servers.values().cloned().collect()
    }

    /// Returns the right to create a server, which counts as registered from now on.
    pub(super) fn claim_new(&self, server: &ServerRegistration) -> Result<Claim> {
        let (id, by) = (&server.id, &server.registrant);
        let mut held = self.0.lock();
        if held.servers.keys().chain(held.claimed.keys()).any(|known| is_same(known, id)) {
            return Err(RegistryError::Taken(id.clone()));
        }
        let coming = held.claimed.iter().filter(|(id, _)| !held.servers.contains_key(*id));
        let registrants: Vec<_> =
            held.servers.values().map(|server| &server.registrant).chain(coming.map(|(_, by)| by)).collect();
        let own = registrants.iter().filter(|registrant| **registrant == by).count();
        if matches!(by, Registrant::Agent(_)) && own >= MAX_OF_AGENT {
            return Err(RegistryError::Full(MAX_OF_AGENT));
        }
        if registrants.len() >= MAX_SERVERS {
            return Err(RegistryError::Full(MAX_SERVERS));
        }
        held.claimed.insert(id.clone(), by.clone());
        Ok(Claim { table: self.clone(), id: id.clone(), stored: None })
    }

    /// Returns the right to change an existing server, and the server as it is.
    pub(super) fn claim(&self, id: &ServerId) -> Result<(Claim, Arc<ServerRegistration>)> {
        let mut held = self.0.lock();
        let server = held.servers.get(id).cloned().ok_or_else(|| RegistryError::Unknown(id.clone()))?;
        self.claim_found(&mut held, server)
    }

    /// Returns the right to decide about the registration that waits under this id, and the server as it is.
    pub(super) fn claim_waiting(&self, id: &RegistrationId) -> Result<(Claim, Arc<ServerRegistration>)> {
        let mut held = self.0.lock();
        let server = held.servers.values().find(|server| server.is_waiting_as(id)).cloned();
        self.claim_found(&mut held, server.ok_or_else(|| RegistryError::NotWaiting(id.clone()))?)
    }

    fn claim_found(
        &self,
        held: &mut RegistrationTableState,
        server: Arc<ServerRegistration>,
    ) -> Result<(Claim, Arc<ServerRegistration>)> {
        let id = &server.id;
        if held.claimed.contains_key(id) {
            return Err(RegistryError::Busy(id.clone()));
        }
        held.claimed.insert(id.clone(), server.registrant.clone());
        let stored = (server.lifetime == Lifetime::Kept).then(|| server.clone());
        Ok((Claim { table: self.clone(), id: id.clone(), stored }, server))
    }

    /// Takes `kept` in the place of all servers that are kept. Returns those that were there before and those that are there
    /// now, without those that are the same.
    pub(super) fn replace_kept(&self, kept: Vec<ServerRegistration>) -> [Vec<Arc<ServerRegistration>>; 2] {
        let mut held = self.0.lock();
        let of_sessions = held.servers.values().filter(|server| server.lifetime != Lifetime::Kept).cloned();
        let all = kept.into_iter().map(Arc::new).chain(of_sessions);
        let now = all.map(|server| (server.id.clone(), server)).collect();
        let before = std::mem::replace(&mut held.servers, now);
        [differing(&before, &held.servers), differing(&held.servers, &before)]
    }
}

impl Claim {
    /// Returns the server as it was stored when the claim was made, if it was.
    pub(super) fn stored(&self) -> Option<&ServerRegistration> {
        self.stored.as_deref()
    }

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

/// Returns those of `servers` that are not the same among `others`.
fn differing(servers: &Servers, others: &Servers) -> Vec<Arc<ServerRegistration>> {
    servers.values().filter(|server| others.get(&server.id) != Some(*server)).cloned().collect()
}

/// The maximum number of servers that are registered at the same time.
const MAX_SERVERS: usize = 16;
/// The maximum number of servers of one agent: an agent leaves room for the others.
const MAX_OF_AGENT: usize = MAX_SERVERS / 2;

/// Returns whether two ids are the same. Ids that differ in case only would be one file, or one name to a human.
pub(super) fn is_same(one: &ServerId, other: &ServerId) -> bool {
    one.as_str().eq_ignore_ascii_case(other.as_str())
}
