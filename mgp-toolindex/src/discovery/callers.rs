use std::collections::HashMap;
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use mgp_types::mgp::AgentId;
use mgp_types::{Context, RawJson, Revision, Session};
use parking_lot::Mutex;

use crate::session::{SessionKey, ToolSessions};

/// Gives each session a name that no other one has had, and forgets those that are over.
///
/// Sessions are told apart by where they lie in memory. A weak pointer is kept to each, so that nothing else can come to
/// lie there before the session's tools are forgotten. Where each request describes its session, the next session of the
/// same description goes on with the tools of one that is over.
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
    /// How it describes itself, if it does so with each request.
    description: Option<Description>,
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
        let agent = context.principal.as_ref().map(|principal| AgentId::new(&*principal.access_id()));
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
        let like = known.described_like(session);
        if known.sessions.len() >= known.look_at.max(LOOK_AT) {
            known.forget(tools);
        }
        let mut caller = like.unwrap_or_else(|| {
            known.named += 1;
            Caller {
                session: Weak::new(),
                description: None,
                name: known.named.to_string().into(),
                agents: Vec::new(),
            }
        });
        caller.session = Arc::downgrade(session);
        caller.description = description(session);
        caller.has(agent);
        let name = Arc::clone(&caller.name);
        known.sessions.insert(address, caller);
        name
    }
}

impl Known {
    /// Takes the caller that described itself like this one, if nobody does any more. A server that is asked by several
    /// callers by turns reads each description again and again.
    fn described_like(&mut self, session: &Session) -> Option<Caller> {
        let description = description(session)?;
        let same = |caller: &Caller| {
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

impl Caller {
    fn has(&mut self, agent: Option<&AgentId>) {
        // Those beyond are forgotten as idle ones are.
        let is_new = !self.agents.iter().any(|known| known.as_ref() == agent);
        if is_new && self.agents.len() < MOST_AGENTS {
            self.agents.push(agent.cloned());
        }
    }
}

type Description = (Revision, Option<RawJson>, RawJson);

fn description(session: &Session) -> Option<Description> {
    let is_stateless = session.revision.is_stateless();
    is_stateless.then(|| (session.revision, session.peer.clone(), session.capabilities.to_raw()))
}

/// No session has this number.
const NO_CONNECTION: &str = "0";
const LOOK_AT: usize = 64;
const MOST_AGENTS: usize = 64;
