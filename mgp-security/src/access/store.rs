//! The interface of access stores, and the store in memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::{AgentId, ServerId, ToolName};
use parking_lot::Mutex;

use super::{AccessEntry, StoredEntry};
use crate::StoreError;

/// A store in which access entries outlive the process. It holds at most one entry for each agent, server and tool.
///
/// A policy reads the store once, when it is built, and then only writes it, one change at a time and away from the
/// threads that answer requests; so a store may block.
pub trait AccessStore: Send + Sync + fmt::Debug + 'static {
    /// Returns all entries, including those that have ended.
    ///
    /// # Errors
    /// Fails if the entries cannot be read, or if they are not as they were written.
    fn load(&self) -> Result<Vec<StoredEntry>, StoreError>;

    /// Keeps `entry` in place of the one for the same agent, server and tool, and returns its number.
    ///
    /// # Errors
    /// Fails if the entry could not be kept; the old one then still is.
    fn put(&self, entry: &AccessEntry) -> Result<u64, StoreError>;

    /// Removes the entry for this agent, server and tool, if there is one.
    ///
    /// # Errors
    /// Fails if the entry could not be removed.
    fn remove(&self, agent: &AgentId, server: &ServerId, tool: Option<&ToolName>) -> Result<(), StoreError>;
}

/// A store of entries in memory, which end with the process; clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryAccessStore(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    last_id: u64,
    by_key: HashMap<(AgentId, ServerId, Option<ToolName>), StoredEntry>,
}

impl MemoryAccessStore {
    /// Returns a store without entries.
    pub fn new() -> Self {
        Self::default()
    }
}

impl AccessStore for MemoryAccessStore {
    fn load(&self) -> Result<Vec<StoredEntry>, StoreError> {
        Ok(self.0.lock().by_key.values().cloned().collect())
    }

    fn put(&self, entry: &AccessEntry) -> Result<u64, StoreError> {
        let mut entries = self.0.lock();
        entries.last_id += 1;
        let id = entries.last_id;
        let key = (entry.agent_id.clone(), entry.server_id.clone(), entry.tool_name.clone());
        entries.by_key.insert(key, StoredEntry::new(id, entry.clone()));
        Ok(id)
    }

    fn remove(&self, agent: &AgentId, server: &ServerId, tool: Option<&ToolName>) -> Result<(), StoreError> {
        self.0.lock().by_key.remove(&(agent.clone(), server.clone(), tool.cloned()));
        Ok(())
    }
}
