//! The settings of sessions.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::{AgentId, ToolContextBudget};

use crate::budget::{ListedDefinition, TokenCounter};

/// The settings of sessions.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    pub(super) budget: ToolContextBudget,
    pub(super) tokens: Arc<dyn TokenCounter>,
    pub(super) pins: PinnedTools,
    pub(super) meta_tokens: u32,
    pub(super) fills_room: bool,
}

impl SessionSettings {
    /// Creates settings with this budget, without pinned tools.
    pub fn new(budget: ToolContextBudget, tokens: Arc<dyn TokenCounter>) -> Self {
        Self { budget, tokens, pins: PinnedTools::default(), meta_tokens: 0, fills_room: false }
    }

    mgp_types::setters! { self =>
        /// Pins these tools.
        pub fn pins(pins: PinnedTools) => self.pins = pins;

        /// Lists tools that nobody asked for in half of the cache: the foremost ones of each server, as the server lists
        /// them. They stay in the list.
        pub fn fill_room() => self.fills_room = true;
    }

    /// Sets the kernel's own tools in front of every list. These tools take a part of the reserve for pinned tools.
    pub fn meta_tools<'a>(mut self, tools: impl IntoIterator<Item = &'a ListedDefinition>) -> Self {
        self.meta_tokens = tools.into_iter().map(ListedDefinition::tokens).fold(0, u32::saturating_add);
        self
    }

    /// Returns the counter of tokens.
    pub fn counter(&self) -> &dyn TokenCounter {
        &*self.tokens
    }

    /// Returns the tokens of the kernel's own tools.
    pub const fn meta_tokens(&self) -> u32 {
        self.meta_tokens
    }
}

/// The budget has no room for the tools that are in every context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tools of discovery take {needed} tokens, more than max_tokens ({max_tokens}): raise `tools.budget.max_tokens`"
)]
#[non_exhaustive]
pub struct BudgetError {
    /// The tokens of the kernel's own tools.
    pub needed: u32,
    /// The tokens of the budget.
    pub max_tokens: u32,
}

/// The key of a session's tools: a connection, and the agent on it if there is more than one, or a known agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionKey {
    session: Arc<str>,
    agent: Option<AgentId>,
}

impl SessionKey {
    /// Creates the key of the agent `agent` in the session that the connection calls `session`.
    pub fn new(session: impl Into<Arc<str>>, agent: Option<AgentId>) -> Self {
        Self { session: session.into(), agent }
    }

    /// Returns the agent.
    pub const fn agent(&self) -> Option<&AgentId> {
        self.agent.as_ref()
    }
}

/// The tools that are always in the context, by the names they are shown by or by their ids (§16.7).
#[derive(Debug, Clone, Default)]
pub struct PinnedTools {
    everybody: Vec<String>,
    agents: HashMap<AgentId, Vec<String>, RandomState>,
}

impl PinnedTools {
    /// Creates pins for every agent.
    pub fn new(tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { everybody: tools.into_iter().map(Into::into).collect(), agents: HashMap::default() }
    }

    /// Adds pins for one agent, behind those of every agent.
    pub fn agent(mut self, agent: AgentId, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.agents.entry(agent).or_default().extend(tools.into_iter().map(Into::into));
        self
    }

    pub(super) fn of(&self, agent: Option<&AgentId>) -> impl Iterator<Item = &str> {
        let own = agent.and_then(|agent| self.agents.get(agent)).into_iter().flatten();
        self.everybody.iter().chain(own).map(String::as_str)
    }
}
