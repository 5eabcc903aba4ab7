use std::num::NonZeroUsize;
use std::sync::Arc;

use mgp_types::mgp::ToolContextBudget;

use super::Pins;
use crate::budget::{CountTokens, Definition};

/// What sessions are set up with.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    pub(super) budget: ToolContextBudget,
    pub(super) tokens: Arc<dyn CountTokens>,
    pub(super) pins: Pins,
    pub(super) meta_tokens: u32,
    pub(super) most_sessions: usize,
}

impl SessionSettings {
    /// Sessions of this budget, without pinned tools.
    pub fn new(budget: ToolContextBudget, tokens: Arc<dyn CountTokens>) -> Self {
        Self { budget, tokens, pins: Pins::default(), meta_tokens: 0, most_sessions: MOST_SESSIONS }
    }

    /// Pins these tools.
    pub fn pins(mut self, pins: Pins) -> Self {
        self.pins = pins;
        self
    }

    /// Says which tools of the kernel's own are in front of every list. They take a part of what is reserved for pinned
    /// tools.
    pub fn meta_tools<'a>(mut self, tools: impl IntoIterator<Item = &'a Definition>) -> Self {
        self.meta_tokens = tools.into_iter().map(Definition::tokens).fold(0, u32::saturating_add);
        self
    }

    /// Keeps so many sessions at the most.
    pub const fn most_sessions(mut self, most: NonZeroUsize) -> Self {
        self.most_sessions = most.get();
        self
    }

    /// The budget of each session.
    pub const fn budget(&self) -> &ToolContextBudget {
        &self.budget
    }

    /// What counts tokens.
    pub fn counter(&self) -> &dyn CountTokens {
        &*self.tokens
    }

    /// What the kernel's own tools take.
    pub const fn meta_tokens(&self) -> u32 {
        self.meta_tokens
    }

    pub(super) const fn check(&self) -> Result<(), BudgetError> {
        if self.meta_tokens > self.budget.max_tokens {
            return Err(BudgetError { needed: self.meta_tokens, max_tokens: self.budget.max_tokens });
        }
        Ok(())
    }
}

/// The budget has no room for what has to be in every context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the tools of discovery take {needed} tokens, and max_tokens is {max_tokens}")]
#[non_exhaustive]
pub struct BudgetError {
    /// What the kernel's own tools take.
    pub needed: u32,
    /// What the budget allows.
    pub max_tokens: u32,
}

/// A session of a few dozen tools takes some tens of kilobytes.
const MOST_SESSIONS: usize = 4096;
