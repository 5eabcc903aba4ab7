use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;

use super::{KeyId, StoredKey};
use crate::StoreError;

/// Where keys outlive the process. It is read once and then only written, away from the threads that answer
/// requests; so it may block.
pub trait KeyStore: Send + Sync + fmt::Debug + 'static {
    /// All keys, expired ones included.
    ///
    /// # Errors
    /// They cannot be read, or what is read is not what was written.
    fn load(&self) -> Result<Vec<StoredKey>, StoreError>;

    /// Keeps a new key.
    ///
    /// # Errors
    /// It is not kept, or there is one with its id.
    fn add(&self, key: &StoredKey) -> Result<(), StoreError>;

    /// Forgets a key, if there is one.
    ///
    /// # Errors
    /// It is not forgotten.
    fn remove(&self, id: KeyId) -> Result<(), StoreError>;

    /// Notes when keys were last used. One that is no more is passed over.
    ///
    /// # Errors
    /// It is not noted.
    fn note_used(&self, uses: &[(KeyId, Timestamp)]) -> Result<(), StoreError>;
}

/// Keys that end with the process; clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryKeyStore(Arc<Mutex<HashMap<KeyId, StoredKey>>>);

impl MemoryKeyStore {
    /// A store without keys.
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
