use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

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

    /// Forgets the record about `permission` of `server` for `agent`; without one, the records for all agents and for each.
    ///
    /// # Errors
    /// They are still there.
    fn remove(
        &self,
        server: &ServerId,
        permission: &Permission,
        agent: Option<&AgentId>,
    ) -> Result<(), StoreError>;
}

/// Where questions to operators outlive the process that asked them.
///
/// It is read once, when a queue is opened, and then only written, away from the threads that answer requests; so it may
/// block.
pub trait QuestionStore: Send + Sync + fmt::Debug + 'static {
    /// All questions, the oldest first.
    ///
    /// # Errors
    /// They cannot be read.
    fn load(&self) -> Result<Vec<String>, StoreError>;

    /// Keeps a question in place of what was kept under the same id.
    ///
    /// # Errors
    /// It is not kept; what was kept before still is.
    fn put(&self, id: &str, question: &str) -> Result<(), StoreError>;

    /// Forgets a question, if it is there.
    ///
    /// # Errors
    /// It is still there.
    fn remove(&self, id: &str) -> Result<(), StoreError>;
}

/// A store of questions that is forgotten with the process. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryQuestions(Arc<Mutex<Vec<(String, String)>>>);

impl QuestionStore for MemoryQuestions {
    fn load(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.0.lock().iter().map(|(_, question)| question.clone()).collect())
    }

    fn put(&self, id: &str, question: &str) -> Result<(), StoreError> {
        let mut questions = self.0.lock();
        match questions.iter_mut().find(|(known, _)| known == id) {
            Some((_, kept)) => question.clone_into(kept),
            None => questions.push((id.to_owned(), question.to_owned())),
        }
        Ok(())
    }

    fn remove(&self, id: &str) -> Result<(), StoreError> {
        self.0.lock().retain(|(known, _)| known != id);
        Ok(())
    }
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

    fn remove(
        &self,
        server: &ServerId,
        permission: &Permission,
        agent: Option<&AgentId>,
    ) -> Result<(), StoreError> {
        self.0.lock().retain(|(of, what, whose), _| {
            (of, what) != (server, permission) || agent.is_some_and(|agent| whose.as_ref() != Some(agent))
        });
        Ok(())
    }
}
