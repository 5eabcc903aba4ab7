//! Notifications to agents that their access has changed, by a request or because an entry has ended.

use std::sync::Arc;

use mgp_security::access::AccessPolicy;
use mgp_types::agent_family;
use mgp_types::mgp::{AgentId, EntryType};

use super::ChangeListeners;
use super::pending_changes::ChangeMessage;
use crate::servers::upstream::ListKind;

/// Notifies agents of entries about them that have ended by themselves, for as long as it is polled.
pub(crate) async fn tell_endings(changes: Arc<ChangeListeners>, access: AccessPolicy) {
    let mut endings = access.endings();
    loop {
        for ended in endings.next().await {
            let entry = &ended.entry;
            let kind = entry.tool_name.as_ref().map_or(EntryType::ServerGrant, |_| EntryType::ToolGrant);
            changes.may_use_others(Some(&entry.agent_id), kind);
        }
    }
}

impl ChangeListeners {
    /// Notifies the clients of `agent`, or all, of a change in what they may use: of servers as a whole, or of tools.
    pub(crate) fn may_use_others(&self, agent: Option<&AgentId>, changed: EntryType) {
        self.tell_tools();
        let lists = match changed {
            EntryType::ServerGrant => &ListKind::ALL[..],
            EntryType::ToolGrant => &[ListKind::Tools],
        };
        let is_it =
            |id: &str| agent.is_none_or(|agent| [Some(id), agent_family(id)].contains(&Some(agent.as_str())));
        for listener in self.listeners().into_iter().filter(|one| is_it(&one.principal.access_id())) {
            for list in lists.iter().filter(|list| self.is_wanted(&listener, **list)) {
                self.offer(&listener, ChangeMessage::List(*list));
            }
        }
    }
}
