use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::{AgentId, ServerId, ToolName};
use parking_lot::Mutex;

use super::{AccessEntry, StoredEntry};
use crate::StoreError;

/// Where entries outlive the process. There is at most one entry for each agent, server and tool.
///
/// It is read once, when a policy is built, and then only written, by one writer at a time and away from the
/// threads that answer requests; so it may block.
pub trait AccessStore: Send + Sync + fmt::Debug + 'static {
    /// All entries, expired ones included.
    ///
    /// # Errors
    /// They cannot be read, or what is read is not what was written.
    fn load(&self) -> Result<Vec<StoredEntry>, StoreError>;

    /// Keeps `entry` in place of the one for the same agent, server and tool, and returns its number.
    ///
    /// # Errors
    /// It is not kept; the old one still is.
    fn put(&self, entry: &AccessEntry) -> Result<u64, StoreError>;

    /// Forgets the entry for this agent, server and tool, if there is one.
    ///
    /// # Errors
    /// It is not forgotten.
    fn remove(&self, agent: &AgentId, server: &ServerId, tool: Option<&ToolName>) -> Result<(), StoreError>;
}

/// Entries that end with the process; clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryAccessStore(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    last_id: u64,
    by_key: HashMap<(AgentId, ServerId, Option<ToolName>), StoredEntry>,
}

impl MemoryAccessStore {
    /// A store without entries.
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
