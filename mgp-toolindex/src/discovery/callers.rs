use std::collections::HashMap;
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use mgp_types::mgp::AgentId;
use mgp_types::{Context, Session};
use parking_lot::Mutex;

use crate::session::{SessionKey, ToolSessions};

/// Gives each session a name that no other one has had, and forgets those that are over.
///
/// Sessions are told apart by where they lie in memory. A weak pointer is kept to each, so that nothing else can come to
/// lie there before the session's tools are forgotten.
#[derive(Debug, Default)]
pub(super) struct Callers(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    sessions: HashMap<usize, Caller, RandomState>,
    /// How many sessions had a name.
    named: u64,
    /// With so many sessions it is time to look for those that are over.
    look_at: usize,
}

#[derive(Debug)]
struct Caller {
    session: Weak<Session>,
    name: Arc<str>,
    agents: Vec<Option<AgentId>>,
}

impl Callers {
    /// Whose tools a request is about: its connection's, and there its agent's.
    ///
    /// Where each request stands for itself there is no connection to tell agents by, so an agent that is known has the
    /// same tools wherever it comes from. Of those that are not known, the ones that describe themselves in the same words
    /// are one.
    pub(super) fn key(&self, context: &Context, sessions: &ToolSessions) -> SessionKey {
        let agent = context.principal.as_ref().map(|principal| AgentId::new(principal.as_str()));
        match &context.session {
            Some(session) if agent.is_none() || !session.revision.is_stateless() => {
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
        if known.sessions.len() >= known.look_at.max(LOOK_AT) {
            known.forget(tools);
        }
        known.named += 1;
        let name: Arc<str> = known.named.to_string().into();
        let agents = vec![agent.cloned()];
        let caller = Caller { session: Arc::downgrade(session), name: Arc::clone(&name), agents };
        known.sessions.insert(address, caller);
        name
    }
}

impl Known {
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

impl Caller {
    fn has(&mut self, agent: Option<&AgentId>) {
        // Those beyond are forgotten as idle ones are.
        let is_new = !self.agents.iter().any(|known| known.as_ref() == agent);
        if is_new && self.agents.len() < MOST_AGENTS {
            self.agents.push(agent.cloned());
        }
    }
}

/// No session has this number.
const NO_CONNECTION: &str = "0";
const LOOK_AT: usize = 64;
const MOST_AGENTS: usize = 64;
