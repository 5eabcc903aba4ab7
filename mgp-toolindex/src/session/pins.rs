use std::collections::HashMap;

use foldhash::fast::RandomState;
use mgp_types::mgp::AgentId;

/// The tools that are always in the context, by the names they are shown by or by their ids (§16.7).
#[derive(Debug, Clone, Default)]
pub struct Pins {
    everybody: Vec<String>,
    agents: HashMap<AgentId, Vec<String>, RandomState>,
}

impl Pins {
    /// These for every agent.
    pub fn new(tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { everybody: tools.into_iter().map(Into::into).collect(), agents: HashMap::default() }
    }

    /// These for one agent, behind those of every agent.
    pub fn agent(mut self, agent: AgentId, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.agents.entry(agent).or_default().extend(tools.into_iter().map(Into::into));
        self
    }

    pub(super) fn of(&self, agent: Option<&AgentId>) -> impl Iterator<Item = &str> {
        let own = agent.and_then(|agent| self.agents.get(agent)).into_iter().flatten();
        self.everybody.iter().chain(own).map(String::as_str)
    }
}
