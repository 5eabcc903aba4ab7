//! The scopes that the configuration gives to agents and adds to tools.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::ext::scope::{InvalidScopes, Scopes};
use mgp_types::mgp::ResolvedTool;
use mgp_types::{Principal, agent_family};

/// The scopes that agents may have, and those that tools need besides the ones in their definitions.
#[derive(Debug, Clone, Default)]
pub struct ScopeRules {
    agents: HashMap<Box<str>, Arc<Scopes>, RandomState>,
    tools: HashMap<Box<str>, HashMap<Box<str>, Scopes, RandomState>, RandomState>,
}

impl ScopeRules {
    /// Holds the agent of this id to `scopes`.
    #[must_use]
    pub fn with_agent(mut self, agent: &str, scopes: Scopes) -> Self {
        self.agents.insert(agent.into(), Arc::new(scopes));
        self
    }

    /// Adds to the scopes that a call of `tool` on `server` needs.
    #[must_use]
    pub fn with_tool(mut self, server: &str, tool: &str, scopes: Scopes) -> Self {
        self.tools.entry(server.into()).or_default().insert(tool.into(), scopes);
        self
    }

    pub(super) fn holds_somebody(&self) -> bool {
        !self.agents.is_empty()
    }

    /// Returns the scopes of an agent; `None` if it is held to none.
    pub(super) fn of_caller(&self, caller: &Principal) -> Option<&Arc<Scopes>> {
        let id = caller.access_id();
        self.agents.get(&*id).or_else(|| self.agents.get(agent_family(&id)?))
    }

    /// Returns the scopes that a call of `tool` needs and `held` does not have.
    ///
    /// # Errors
    /// Fails if the definition has something else than a list of scopes: what it needs is not known then.
    pub(super) fn missing(&self, tool: &ResolvedTool, held: &Scopes) -> Result<Vec<Box<str>>, InvalidScopes> {
        let declared = match tool.definition.get("required_scopes").filter(|list| !list.is_null()) {
            None => Scopes::new(),
            Some(list) => list.to().map_err(|_| InvalidScopes::InvalidScope)?,
        };
        let mut missing = declared.missing_from(held);
        let added = self.tools.get(tool.server.as_str()).and_then(|tools| tools.get(tool.name.as_str()));
        let added = added.into_iter().flat_map(|added| added.missing_from(held));
        missing.extend(added.filter(|scope| !declared.has(scope)));
        Ok(missing)
    }
}
