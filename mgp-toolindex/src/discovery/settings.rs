use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::SearchStrategy;

use super::meta_tool::{self, SpeaksMgp};
use super::{CreateTools, Eyes, MetaTools, Spelling};
use crate::budget::{CountTokens, Definition};
use crate::level::Level;

/// How tools are searched, and what is listed without a search.
#[derive(Clone)]
pub struct ToolDiscoverySettings {
    pub(super) level: Level,
    pub(super) strategy: SearchStrategy,
    pub(super) meta_tools: MetaTools,
    pub(super) spelling: Spelling,
    pub(super) eyes: Option<Arc<dyn Eyes>>,
    pub(super) creation: Option<Arc<dyn CreateTools>>,
}

impl ToolDiscoverySettings {
    /// Lists pinned and used tools beside `discover` and `request`, searches by keyword where a search does not say
    /// how, shows everybody everything, and makes no tools.
    pub fn new() -> Self {
        Self {
            level: Level::L3,
            strategy: SearchStrategy::Keyword,
            meta_tools: MetaTools::default(),
            spelling: Spelling::default(),
            eyes: None,
            creation: None,
        }
    }

    /// How much is listed.
    #[must_use]
    pub const fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// How to search where a search does not say it.
    #[must_use]
    pub const fn strategy(mut self, strategy: SearchStrategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Which meta-tools are listed.
    #[must_use]
    pub const fn meta_tools(mut self, listed: MetaTools) -> Self {
        self.meta_tools = listed;
        self
    }

    /// How the names of meta-tools are spelled in lists.
    #[must_use]
    pub const fn spelling(mut self, spelling: Spelling) -> Self {
        self.spelling = spelling;
        self
    }

    /// What a model sees of the meta-tools that are listed, for
    /// [`SessionSettings::meta_tools`](crate::session::SessionSettings::meta_tools): they take a part of the budget.
    pub fn definitions(&self, counter: &dyn CountTokens) -> Vec<Definition> {
        meta_tool::tools(self.meta_tools, self.spelling, SpeaksMgp::Yes, &[])
            .iter()
            .map(|tool| {
                let description = tool.description.as_deref().unwrap_or_default();
                Definition::new(&tool.name, description, &tool.input_schema, counter)
            })
            .collect()
    }

    /// What decides which tools a caller may know of.
    #[must_use]
    pub fn eyes(mut self, eyes: Arc<dyn Eyes>) -> Self {
        self.eyes = Some(eyes);
        self
    }

    /// Has tools made for what no tool can do. Whoever does not ask for it gets none made.
    #[must_use]
    pub fn creation(mut self, creation: Arc<dyn CreateTools>) -> Self {
        self.creation = Some(creation);
        self
    }
}

impl Default for ToolDiscoverySettings {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ToolDiscoverySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDiscoverySettings")
            .field("level", &self.level)
            .field("strategy", &self.strategy)
            .field("meta_tools", &self.meta_tools)
            .field("spelling", &self.spelling)
            .field("eyes", &self.eyes.is_some())
            .field("creation", &self.creation.is_some())
            .finish()
    }
}
