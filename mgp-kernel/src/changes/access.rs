//! Notifications to agents that their access has changed, by a request or because an entry has ended.

use std::sync::Arc;

use mgp_security::access::AccessPolicy;
use mgp_types::agent_family;
use mgp_types::mgp::{AccessRevoke, AgentId, EntryType};

use super::ChangeListeners;
use super::listener::ChangeListener;
use super::pending_changes::ChangeMessage;
use crate::servers::upstream::ListKind;

/// Notifies agents of entries about them that have ended by themselves, for as long as it is polled.
pub(crate) async fn tell_endings(changes: Arc<ChangeListeners>, access: AccessPolicy) {
    let mut endings = access.endings();
    loop {
        for ended in endings.next().await {
            match ended.entry.tool_name {
                Some(_) => changes.may_use_other_tools(&ended.entry.agent_id),
                None => changes.may_use_other_servers(&ended.entry.agent_id),
            }
        }
    }
}

impl ChangeListeners {
    /// Notifies the agent whose access a grant or a revocation has changed.
    pub(crate) fn access_changed(&self, change: &AccessRevoke) {
        match change.entry_type {
            EntryType::ToolGrant => self.may_use_other_tools(&change.agent_id),
            EntryType::ServerGrant => self.may_use_other_servers(&change.agent_id),
        }
    }

    /// Notifies the clients of `agent` of a change in what it may do with a server as a whole.
    pub(crate) fn may_use_other_servers(&self, agent: &AgentId) {
        self.tell_tools();
        for listener in self.listeners_of(agent) {
            self.tell_of(&listener, ListKind::ALL);
        }
    }

    /// Notifies all clients of a change in what all agents may do with servers as a whole.
    pub(crate) fn all_may_use_other_servers(&self) {
        self.tell_tools();
        for listener in self.listeners() {
            self.tell_of(&listener, ListKind::ALL);
        }
    }

    /// Notifies the clients of `agent` of a change in the tools that it may use.
    pub(crate) fn may_use_other_tools(&self, agent: &AgentId) {
        self.tell_tools();
        for listener in self.listeners_of(agent) {
            self.tell_of(&listener, [ListKind::Tools]);
        }
    }

    fn tell_of(&self, listener: &Arc<ChangeListener>, lists: impl IntoIterator<Item = ListKind>) {
        for list in lists.into_iter().filter(|list| self.is_wanted(listener, *list)) {
            self.offer(listener, ChangeMessage::List(list));
        }
    }

    fn listeners_of(&self, agent: &AgentId) -> impl Iterator<Item = Arc<ChangeListener>> {
        let is_it = |id: &str| [Some(id), agent_family(id)].contains(&Some(agent.as_str()));
        self.listeners().into_iter().filter(move |listener| is_it(&listener.principal.access_id()))
    }
}
