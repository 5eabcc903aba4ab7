//! The interface of stores of registered servers, and a store in memory.

use std::collections::BTreeMap;
use std::fmt;

use mgp_types::mgp::ServerId;
use parking_lot::Mutex;

use super::{ServerRegistration, StoreError};

/// A store of registered servers. Its methods may block; they are called where that is allowed.
pub trait RegistryStore: Send + Sync + fmt::Debug + 'static {
    /// Returns all servers.
    ///
    /// # Errors
    /// The servers cannot be read.
    fn load(&self) -> Result<Vec<ServerRegistration>, StoreError>;

    /// Stores a server, in place of one of the same id.
    ///
    /// # Errors
    /// The server is not stored.
    fn put(&self, server: &ServerRegistration) -> Result<(), StoreError>;

    /// Removes a server, if it is stored.
    ///
    /// # Errors
    /// The server may still be stored.
    fn remove(&self, id: &ServerId) -> Result<(), StoreError>;
}

/// A store in memory, forgotten with the process.
#[derive(Debug, Default)]
pub struct MemoryRegistryStore(Mutex<BTreeMap<ServerId, ServerRegistration>>);

impl MemoryRegistryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl RegistryStore for MemoryRegistryStore {
    fn load(&self) -> Result<Vec<ServerRegistration>, StoreError> {
        Ok(self.0.lock().values().cloned().collect())
    }

    fn put(&self, server: &ServerRegistration) -> Result<(), StoreError> {
        self.0.lock().insert(server.id.clone(), server.clone());
        Ok(())
    }

    fn remove(&self, id: &ServerId) -> Result<(), StoreError> {
        self.0.lock().remove(id);
        Ok(())
    }
}

/// Does `work` on a thread that may wait for a disk. The function needs a tokio runtime.
///
/// # Cancel safety
/// Once it has begun, `work` is done to its end, whether or not the future is dropped.
pub(super) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| Err(StoreError::Unavailable(Box::new(panic))))
}
