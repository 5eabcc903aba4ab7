use std::fmt;
use std::sync::Arc;

use mgp_types::Context;
use mgp_types::mgp::{NameStyle, SearchStrategy};

use super::meta_tool;
use super::{CreateTools, Eyes, MetaTools};
use crate::budget::{CountTokens, Definition};
use crate::learn::Learned;
use crate::level::{HostProfile, Level};

/// How tools are searched, and what is listed without a search.
#[derive(Clone)]
pub struct ToolDiscoverySettings {
    pub(super) level: LevelSetting,
    pub(super) strategy: SearchStrategy,
    pub(super) meta_tools: MetaTools,
    pub(super) names: Arc<dyn Fn(&Context) -> NameStyle + Send + Sync>,
    pub(super) eyes: Option<Arc<dyn Eyes>>,
    pub(super) awaits_tools: Option<Arc<AwaitsTools>>,
    pub(super) creation: Option<Arc<dyn CreateTools>>,
    pub(super) learned: Option<Arc<Learned>>,
    pub(super) tenant: Option<Arc<str>>,
    pub(super) tell_uses: bool,
}

/// Says whether the caller of a request waits for its first tools.
type AwaitsTools = dyn Fn(&Context) -> bool + Send + Sync;

/// What decides how much is listed.
#[derive(Debug, Clone, Copy)]
pub(super) enum LevelSetting {
    Fixed(Level),
    Automatic(HostProfile),
    /// All tools below so many, those that were used from there on.
    ByNumber(usize),
}

impl ToolDiscoverySettings {
    /// Lists pinned and used tools beside `discover` and `request`, searches by keyword where a search does not say
    /// how, shows everybody everything, makes no tools and learns nothing.
    pub fn new() -> Self {
        Self {
            level: LevelSetting::Fixed(Level::L3),
            strategy: SearchStrategy::Keyword,
            meta_tools: MetaTools::default(),
            names: Arc::new(NameStyle::of_peer),
            eyes: None,
            awaits_tools: None,
            creation: None,
            learned: None,
            tenant: None,
            tell_uses: false,
        }
    }

    /// How much is listed.
    #[must_use]
    pub const fn level(mut self, level: Level) -> Self {
        self.level = LevelSetting::Fixed(level);
        self
    }

    /// Lists what is cheapest for this host with the tools that a session sees when it first asks for its list: all of
    /// them where searching would cost more than it saves. The session keeps to it, for a list that jumps costs more than
    /// any level saves.
    #[must_use]
    pub const fn automatic_level(mut self, host: HostProfile) -> Self {
        self.level = LevelSetting::Automatic(host);
        self
    }

    /// Lists all tools where a session sees fewer than so many when it first asks for its list, and else pinned and used
    /// ones. The session keeps to it.
    #[must_use]
    pub const fn level_by_number(mut self, searched_from: usize) -> Self {
        self.level = LevelSetting::ByNumber(searched_from);
        self
    }

    /// Whether a peer is told that its list changed when it used a tool, or took one out. By default it is not: it can
    /// call what it found without that, and a host that follows lists reads its whole prompt afresh after a change. It is
    /// told in any case when it asked for tools, and when something of its list is gone or became something else.
    #[must_use]
    pub const fn tell_uses(mut self, tell: bool) -> Self {
        self.tell_uses = tell;
        self
    }

    /// Learns from calls that follow searches by meaning, for each agent on its own: what it found and called comes
    /// nearer to what it asked for. For callers that are not known, nothing is learned. What was learned with another
    /// embedder than that of the index is left alone.
    #[must_use]
    pub fn learning(mut self, learned: Arc<Learned>) -> Self {
        self.learned = Some(learned);
        self
    }

    /// Learns for this tenant, whoever calls.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<Arc<str>>) -> Self {
        self.tenant = Some(tenant.into());
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

    /// How names are written for a caller; by default for peers that speak MGP with dots, else with underscores. Calls may
    /// use any style.
    #[must_use]
    pub fn names(mut self, names: impl Fn(&Context) -> NameStyle + Send + Sync + 'static) -> Self {
        self.names = Arc::new(names);
        self
    }

    /// What a model sees of the meta-tools that are listed, for
    /// [`SessionSettings::meta_tools`](crate::session::SessionSettings::meta_tools): they take a part of the budget.
    pub fn definitions(&self, counter: &dyn CountTokens) -> Vec<Definition> {
        meta_tool::tools(self.meta_tools, &[])
            .iter()
            .map(|tool| meta_tool::definition(tool, counter))
            .collect()
    }

    /// What decides which tools a caller may know of.
    #[must_use]
    pub fn eyes(mut self, eyes: Arc<dyn Eyes>) -> Self {
        self.eyes = Some(eyes);
        self
    }

    /// Says when a caller sees no tool only because servers are still starting. Such a caller is listed the meta-tools,
    /// whatever its level is later, and is told when there are tools.
    #[must_use]
    pub fn awaiting_tools(mut self, awaits: impl Fn(&Context) -> bool + Send + Sync + 'static) -> Self {
        self.awaits_tools = Some(Arc::new(awaits));
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
            .field("eyes", &self.eyes.is_some())
            .field("awaits_tools", &self.awaits_tools.is_some())
            .field("creation", &self.creation.is_some())
            .field("learning", &self.learned.is_some())
            .field("tenant", &self.tenant)
            .field("tell_uses", &self.tell_uses)
            .finish_non_exhaustive()
    }
}
