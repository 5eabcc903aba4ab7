//! The interfaces of the stores for grants and questions, and their implementations in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mgp_types::agent_family;
use mgp_types::mgp::{AgentId, Permission, ServerId};
use parking_lot::Mutex;

use super::GrantRecord;
use crate::StoreError;

/// A store in which the decisions of operators outlive the process.
///
/// The store is read once, when a book is opened, and then only written, by one writer at a time and away from the
/// threads that answer requests; so it may block.
pub trait GrantStore: Send + Sync + fmt::Debug + 'static {
    /// Returns all records.
    ///
    /// # Errors
    /// Fails if the records cannot be read, or if they are not as they were written.
    fn load(&self) -> Result<Vec<GrantRecord>, StoreError>;

    /// Keeps a record in place of an older one about the same permission of the same server, for the same agent. A
    /// decision for all agents also replaces those for single agents, and one for `local` those for its clients. The record is durable when this returns.
    ///
    /// # Errors
    /// Fails if the record could not be kept; the old one then still is.
    fn put(&self, record: &GrantRecord) -> Result<(), StoreError>;

    /// Removes the record about `permission` of `server` for `agent`; if `agent` is `None`, the records for all
    /// agents and for each.
    ///
    /// # Errors
    /// Fails if the records could not be removed.
    fn remove(
        &self,
        server: &ServerId,
        permission: &Permission,
        agent: Option<&AgentId>,
    ) -> Result<(), StoreError>;
}

/// A store in which questions to operators outlive the process that asked them.
///
/// The store is read once, when a queue is opened, and then only written, away from the threads that answer requests;
/// so it may block.
pub trait QuestionStore: Send + Sync + fmt::Debug + 'static {
    /// Returns all questions, the oldest first.
    ///
    /// # Errors
    /// Fails if the questions cannot be read.
    fn load(&self) -> Result<Vec<String>, StoreError>;

    /// Keeps a question in place of an older one with the same id.
    ///
    /// # Errors
    /// Fails if the question could not be kept; the older one then still is.
    fn put(&self, id: &str, question: &str) -> Result<(), StoreError>;

    /// Removes a question, if it is there.
    ///
    /// # Errors
    /// Fails if the question could not be removed.
    fn remove(&self, id: &str) -> Result<(), StoreError>;
}

/// A store of questions in memory, which end with the process. Clones share it.
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

/// Returns whether a decision for `by` stands in place of one for `whose`: one for all agents in place of all others, and
/// one for `local` in place of those for its clients.
pub(in crate::permission) fn covers(by: Option<&AgentId>, whose: Option<&AgentId>) -> bool {
    let family = || agent_family(whose?.as_str());
    by.is_none_or(|by| whose == Some(by) || family() == Some(by.as_str()))
}

/// A store of decisions in memory, which end with the process.
#[derive(Debug, Default)]
pub struct MemoryGrants(Mutex<BTreeMap<GrantKey, GrantRecord>>);

/// The key of a decision: the server, the permission, and the agent for whose calls it holds; `None` for all agents.
type GrantKey = (ServerId, Permission, Option<AgentId>);

impl GrantStore for MemoryGrants {
    fn load(&self) -> Result<Vec<GrantRecord>, StoreError> {
        Ok(self.0.lock().values().cloned().collect())
    }

    fn put(&self, record: &GrantRecord) -> Result<(), StoreError> {
        let mut records = self.0.lock();
        records.retain(|(server, permission, whose), _| {
            (server, permission) != (&record.server, &record.permission)
                || !covers(record.agent.as_ref(), whose.as_ref())
        });
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
            (of, what) != (server, permission) || !covers(agent, whose.as_ref())
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_for_local_stands_in_place_of_those_for_its_clients() {
        let agent = AgentId::from;
        let (local, client, other) = (agent("local"), agent("local/cursor"), agent("ada"));
        assert!(covers(Some(&local), Some(&client)) && covers(Some(&local), Some(&local)));
        assert!(!covers(Some(&client), Some(&local)) && !covers(Some(&local), Some(&other)));
        assert!(covers(None, Some(&client)) && covers(None, None) && !covers(Some(&local), None));
    }
}
