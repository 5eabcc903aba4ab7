use std::collections::BTreeMap;
use std::fmt;

use mgp_types::mgp::{AgentId, Permission, ServerId};
use parking_lot::Mutex;

use super::GrantRecord;
use crate::StoreError;

/// Where the decisions of operators outlive the process.
///
/// It is read once, when a book is opened, and then only written, by one writer at a time and away from the threads
/// that answer requests; so it may block.
pub trait GrantStore: Send + Sync + fmt::Debug + 'static {
    /// All records.
    ///
    /// # Errors
    /// They cannot be read, or what is read is not what was written.
    fn load(&self) -> Result<Vec<GrantRecord>, StoreError>;

    /// Keeps a record in place of an older one about the same permission of the same server, for the same agent. What
    /// is decided for all agents takes the place of what was decided for single ones as well. It is done when the record is safe.
    ///
    /// # Errors
    /// It is not kept; the old one still is.
    fn put(&self, record: &GrantRecord) -> Result<(), StoreError>;
}

/// A store that is forgotten with the process.
#[derive(Debug, Default)]
pub struct MemoryGrants(Mutex<BTreeMap<GrantKey, GrantRecord>>);

/// The server, the permission, and the agent for whose calls it was decided; all agents if it names none.
type GrantKey = (ServerId, Permission, Option<AgentId>);

impl GrantStore for MemoryGrants {
    fn load(&self) -> Result<Vec<GrantRecord>, StoreError> {
        Ok(self.0.lock().values().cloned().collect())
    }

    fn put(&self, record: &GrantRecord) -> Result<(), StoreError> {
        let mut records = self.0.lock();
        if record.agent.is_none() {
            records.retain(|(server, permission, _), _| {
                (server, permission) != (&record.server, &record.permission)
            });
        }
        let key = (record.server.clone(), record.permission.clone(), record.agent.clone());
        records.insert(key, record.clone());
        Ok(())
    }
}
