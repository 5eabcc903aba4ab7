use std::collections::BTreeMap;
use std::fmt;

use mgp_types::mgp::ServerId;
use parking_lot::Mutex;

use super::{Registered, StoreError};

/// Where registered servers are kept. Its methods may block; they are called where that is allowed.
pub trait RegistryStore: Send + Sync + fmt::Debug + 'static {
    /// All servers.
    ///
    /// # Errors
    /// They cannot be read.
    fn load(&self) -> Result<Vec<Registered>, StoreError>;

    /// Keeps a server, in place of one of the same id.
    ///
    /// # Errors
    /// It is not kept.
    fn put(&self, server: &Registered) -> Result<(), StoreError>;

    /// Forgets a server, if it is there.
    ///
    /// # Errors
    /// It may still be there.
    fn remove(&self, id: &ServerId) -> Result<(), StoreError>;
}

/// Servers in memory, forgotten with the process.
#[derive(Debug, Default)]
pub struct MemoryRegistryStore(Mutex<BTreeMap<ServerId, Registered>>);

impl MemoryRegistryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl RegistryStore for MemoryRegistryStore {
    fn load(&self) -> Result<Vec<Registered>, StoreError> {
        Ok(self.0.lock().values().cloned().collect())
    }

    fn put(&self, server: &Registered) -> Result<(), StoreError> {
        self.0.lock().insert(server.id.clone(), server.clone());
        Ok(())
    }

    fn remove(&self, id: &ServerId) -> Result<(), StoreError> {
        self.0.lock().remove(id);
        Ok(())
    }
}
