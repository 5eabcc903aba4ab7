//! The callers of tools, as sessions without clashes.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use mgp_types::mgp::AgentId;
use mgp_types::{Context, RawJson, Revision, Session};
use parking_lot::Mutex;

use crate::session::{SessionKey, ToolSessions};

/// Gives each session a name that no other one has had, and forgets sessions that are over.
///
/// Sessions are told apart by their address in memory. A weak pointer to each is kept, so that no other session can get
/// the address before the tools of the first are forgotten. Where each request describes its session, the next session
/// of the same description goes on with the tools of one that is over.
#[derive(Debug, Default)]
pub(super) struct CallerNames(Mutex<KnownCallers>);

#[derive(Debug, Default)]
struct KnownCallers {
    sessions: HashMap<usize, NamedCaller, RandomState>,
    /// The count of sessions that had a name.
    named: u64,
    /// The number of sessions at which to look for those that are over.
    look_at: usize,
}

#[derive(Debug, Default)]
struct NamedCaller {
    session: Weak<Session>,
    /// The description of the caller, if each request carries one.
    description: Option<SessionDescription>,
    name: Arc<str>,
    agents: Vec<Option<AgentId>>,
}

const LOOK_AT: usize = 64;

/// The number that no session has.
const NO_CONNECTION: &str = "0";

impl CallerNames {
    /// Returns the key of the tools that a request is about: its connection, and the agent on it.
    ///
    /// Where each request stands for itself there is no connection, so that a known agent has the same tools wherever
    /// it comes from. Unknown agents that describe themselves in the same words count as one.
    pub(super) fn key(&self, context: &Context, sessions: &ToolSessions) -> SessionKey {
        let agent = context.principal.as_ref().map(|principal| AgentId::new(&*principal.access_id()));
        match &context.session {
            Some(session) if agent.is_none() || session.lasts() => {
                SessionKey::new(self.name(session, agent.as_ref(), sessions), agent)
            }
            _ => SessionKey::new(NO_CONNECTION, agent),
        }
    }

    fn name(&self, session: &Arc<Session>, agent: Option<&AgentId>, tools: &ToolSessions) -> Arc<str> {
        let mut known = self.0.lock();
        let address = Arc::as_ptr(session).addr();
        if let Some(caller) = known.sessions.get_mut(&address) {
            caller.has(agent);
            return Arc::clone(&caller.name);
        }
        let like = known.described_like(session);
        if known.sessions.len() >= known.look_at.max(LOOK_AT) {
            known.forget(tools);
        }
        let mut caller = like.unwrap_or_else(|| {
            known.named += 1;
            NamedCaller { name: known.named.to_string().into(), ..NamedCaller::default() }
        });
        caller.session = Arc::downgrade(session);
        caller.description = description(session);
        caller.has(agent);
        let name = Arc::clone(&caller.name);
        known.sessions.insert(address, caller);
        name
    }
}

impl KnownCallers {
    /// Takes over a caller of the same description that is gone. A server that several callers ask by turns reads each
    /// description again and again.
    fn described_like(&mut self, session: &Session) -> Option<NamedCaller> {
        let description = description(session)?;
        let same = |caller: &NamedCaller| {
            caller.session.strong_count() == 0 && caller.description.as_ref() == Some(&description)
        };
        let address = *self.sessions.iter().find(|(_, caller)| same(caller))?.0;
        self.sessions.remove(&address)
    }

    fn forget(&mut self, tools: &ToolSessions) {
        let over = self.sessions.extract_if(|_, caller| caller.session.strong_count() == 0);
        for (_, caller) in over {
            for agent in caller.agents {
                tools.end(&SessionKey::new(Arc::clone(&caller.name), agent));
            }
        }
        self.look_at = self.sessions.len() * 2;
    }
}

const MAX_AGENTS: usize = 64;

impl NamedCaller {
    fn has(&mut self, agent: Option<&AgentId>) {
        // Agents beyond the limit are forgotten as idle ones are.
        let is_new = !self.agents.iter().any(|known| known.as_ref() == agent);
        if is_new && self.agents.len() < MAX_AGENTS {
            self.agents.push(agent.cloned());
        }
    }
}

type SessionDescription = (Revision, Option<RawJson>, RawJson);

fn description(session: &Session) -> Option<SessionDescription> {
    let is_stateless = session.describes_each_request();
    is_stateless.then(|| (session.revision, session.peer.clone(), session.capabilities.to_raw()))
}
