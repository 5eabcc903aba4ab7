//! The interface of key stores, and the store in memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;

use super::{KeyId, StoredKey};
use crate::StoreError;

/// A store in which keys outlive the process. It is read once and then only written, away from the threads that
/// answer requests; so it may block.
pub trait KeyStore: Send + Sync + fmt::Debug + 'static {
    /// Returns all keys, including expired ones.
    ///
    /// # Errors
    /// Fails if the keys cannot be read, or if they are not as they were written.
    fn load(&self) -> Result<Vec<StoredKey>, StoreError>;

    /// Adds a new key.
    ///
    /// # Errors
    /// Fails if the key could not be kept, or if there is already one with its id.
    fn add(&self, key: &StoredKey) -> Result<(), StoreError>;

    /// Removes a key, if there is one.
    ///
    /// # Errors
    /// Fails if the key could not be removed.
    fn remove(&self, id: KeyId) -> Result<(), StoreError>;

    /// Stores the times at which keys were last used. Keys that no longer exist are passed over.
    ///
    /// # Errors
    /// Fails if the times could not be stored.
    fn note_used(&self, uses: &[(KeyId, Timestamp)]) -> Result<(), StoreError>;
}

/// A store of keys in memory, which end with the process; clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryKeyStore(Arc<Mutex<HashMap<KeyId, StoredKey>>>);

impl MemoryKeyStore {
    /// Returns a store without keys.
    pub fn new() -> Self {
        Self::default()
    }
}

impl KeyStore for MemoryKeyStore {
    fn load(&self) -> Result<Vec<StoredKey>, StoreError> {
        Ok(self.0.lock().values().cloned().collect())
    }

    fn add(&self, key: &StoredKey) -> Result<(), StoreError> {
        let mut keys = self.0.lock();
        if keys.contains_key(&key.info.id) {
            return Err(StoreError::Damaged("two keys have the same id".to_owned()));
        }
        keys.insert(key.info.id, key.clone());
        Ok(())
    }

    fn remove(&self, id: KeyId) -> Result<(), StoreError> {
        self.0.lock().remove(&id);
        Ok(())
    }

    fn note_used(&self, uses: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        let mut keys = self.0.lock();
        for (id, time) in uses {
            if let Some(key) = keys.get_mut(id) {
                key.info.last_used = Some(*time);
            }
        }
        Ok(())
    }
}
