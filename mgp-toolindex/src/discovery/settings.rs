//! The settings of tool discovery.

use std::sync::Arc;

use mgp_types::mgp::{NameStyle, RequestTools, SearchStrategy};
use mgp_types::{BoxFuture, Context};

use super::{ToolVisibility, meta_tool};
use crate::budget::{ListedDefinition, TokenCounter};
use crate::level::Level;

mgp_types::with_defaults! {
    /// The settings of searches, and of the list of tools.
    #[derive(Clone)]
    #[must_use]
    pub struct ToolDiscoverySettings {
        /// All tools are listed where there is no level and their definitions fit into the budget, a part of them
        /// otherwise.
        pub(super) level: Option<Level> = Some(Level::L3),
        pub(super) strategy: SearchStrategy = SearchStrategy::Keyword,
        pub(super) names: Arc<dyn Fn(&Context) -> NameStyle + Send + Sync> = Arc::new(NameStyle::of_peer),
        pub(super) eyes: Option<Arc<dyn ToolVisibility>> = None,
        pub(super) awaits_tools: Option<Arc<AwaitsTools>> = None,
        pub(super) creation: Option<Arc<dyn ToolCreator>> = None,
    }
}

/// A function that returns whether the caller of a request waits for its first tools.
type AwaitsTools = dyn Fn(&Context) -> bool + Send + Sync;

impl ToolDiscoverySettings {
    /// Creates the default settings: pinned and used tools are listed beside `discover` and `request`, searches go by
    /// keyword unless they name a strategy, all callers see all tools and no tools are made.
    pub fn new() -> Self {
        Self::default()
    }

    mgp_types::setters! { self =>
        /// Sets the level of the list. `None` lists all tools where the definitions of those that a session sees fit
        /// into `max_tokens` of the budget, and as many as the cache has room for otherwise; a session that once had
        /// too many keeps to that.
        pub fn level(level: impl Into<Option<Level>>) => self.level = level.into();

        /// Sets the strategy of searches that do not name one.
        pub fn strategy(strategy: SearchStrategy) => self.strategy = strategy;

        /// Sets the style of names for a caller; by default names have dots for peers that speak MGP, else underscores.
        /// Calls may use any style.
        pub fn names(names: impl Fn(&Context) -> NameStyle + Send + Sync + 'static) =>
            self.names = Arc::new(names);

        /// Sets the policy of which tools a caller may know of.
        pub fn eyes(eyes: Arc<dyn ToolVisibility>) => self.eyes = Some(eyes);

        /// Sets a function that returns whether a caller sees no tool only because servers are still starting. Such a
        /// caller is listed the meta-tools, whatever its level is later, and is told when there are tools.
        pub fn awaiting_tools(awaits: impl Fn(&Context) -> bool + Send + Sync + 'static) =>
            self.awaits_tools = Some(Arc::new(awaits));

        /// Sets the maker of tools for capabilities that no tool has. Tools are made only for callers who ask for it.
        pub fn creation(creation: Arc<dyn ToolCreator>) => self.creation = Some(creation);
    }

    /// Returns the definitions of the listed meta-tools, for
    /// [`SessionSettings::meta_tools`](crate::session::SessionSettings::meta_tools): they take a part of the budget.
    pub fn definitions(&self, counter: &dyn TokenCounter) -> Vec<ListedDefinition> {
        meta_tool::tools(&[]).iter().map(|tool| meta_tool::definition(tool, counter)).collect()
    }
}

mgp_types::partial_debug!(ToolDiscoverySettings, self =>
    level: self.level,
    strategy: self.strategy,
    eyes: self.eyes.is_some(),
    awaits_tools: self.awaits_tools.is_some(),
    creation: self.creation.is_some(),
);

/// Makes tools for capabilities that no tool has (§16.6).
pub trait ToolCreator: Send + Sync + 'static {
    /// Begins to make a tool with these capabilities, and returns whether it did; the tool itself comes later, as any
    /// new tool does.
    ///
    /// The implementation must refuse unless the agent was granted `code_execution` and the approval policy is
    /// `auto_approve`: the gate does not check this.
    fn begin<'a>(
        &'a self,
        context: &'a Context,
        request: &'a RequestTools,
        capabilities: &'a [String],
    ) -> BoxFuture<'a, bool>;
}
