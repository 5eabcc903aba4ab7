//! Notifications to agents that their access has changed, by a request or because an entry has ended.

use std::sync::Arc;

use mgp_security::access::AccessPolicy;
use mgp_types::mgp::{AccessRevoke, AgentId, EntryType, method};
use mgp_types::{Error, Flow, Gate, Method, Object, Request, Response, agent_family};

use super::ChangeListeners;
use super::listener::ChangeListener;
use super::pending_changes::ChangeMessage;
use crate::servers::upstream::ListKind;

/// A gate that notifies agents of what they may use since a change of their access.
///
/// Sits directly around the gate that serves `mgp/access/grant` and `mgp/access/revoke`, and notifies the agent that
/// they are about once they have been carried out. All else passes untouched.
#[derive(Clone)]
pub(crate) struct AccessChangeGate(pub(crate) Arc<ChangeListeners>);

impl Gate for AccessChangeGate {
    type Pass = Option<AccessRevoke>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        Flow::Pass(changed(request))
    }

    fn leave(&self, about: Self::Pass, outcome: &mut Result<Response, Error>) {
        let Some(about) = about.filter(|_| outcome.is_ok()) else { return };
        match about.entry_type {
            EntryType::ToolGrant => self.0.may_use_other_tools(&about.agent_id),
            EntryType::ServerGrant => self.0.may_use_other_servers(&about.agent_id),
        }
    }
}

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

/// Returns the agent, server and tool whose access the request changes, if it changes any.
fn changed(request: &Request) -> Option<AccessRevoke> {
    let changes = |name: &str| matches!(name, method::ACCESS_GRANT | method::ACCESS_REVOKE);
    if request.method != Method::TOOLS_CALL {
        return changes(request.method.as_str()).then(|| request.params.to().ok()).flatten();
    }
    let stands_for = method::of_tool(&request.params.text("name")?)?;
    if !changes(stands_for) {
        return None;
    }
    Object::from_raw(&request.params.get("arguments")?).ok()?.to().ok()
}
