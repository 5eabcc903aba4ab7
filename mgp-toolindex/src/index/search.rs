//! The parameters and results of a search.

use std::sync::Arc;

use mgp_types::mgp::{MatchEvidence, SearchStrategy, ToolFilter};

use super::VisibleTools;
use crate::Tool;
use crate::rank::FusionWeights;

/// A search: the query, the strategy and the tools among which to search.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Search<'a> {
    /// The query in words; for [`SearchStrategy::Category`] the path of a category.
    pub text: &'a str,
    /// The strategy.
    pub strategy: SearchStrategy,
    /// The number of tools to find at most.
    pub limit: usize,
    /// The filter of tools.
    pub filter: ToolFilter,
    /// The tools that the agent may see; all if `None`.
    pub visible: Option<&'a VisibleTools>,
    /// The weights of words and of meaning in a search by both.
    pub weights: FusionWeights,
    /// Set if the text names a capability, as a program does: it is in the words of tools, and tools that say nearly the
    /// same may stand beside one another, because the caller may not be allowed to call each.
    pub(crate) is_capability: bool,
}

impl<'a> Search<'a> {
    /// Creates a search of all callable tools, by words and meaning, for five tools.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            strategy: SearchStrategy::Hybrid,
            limit: 5,
            filter: ToolFilter::default(),
            visible: None,
            weights: FusionWeights::default(),
            is_capability: false,
        }
    }

    /// Creates a search for the tools that have a capability. Its words count in full, and meaning less than usual.
    pub(crate) fn capability(text: &'a str) -> Self {
        let weights = FusionWeights { meaning: 2.0, by_chance: 0.0, ..FusionWeights::default() };
        Self { is_capability: true, weights, ..Self::new(text) }
    }

    mgp_types::setters! { self =>
        /// Sets the strategy.
        pub fn strategy(strategy: SearchStrategy) => self.strategy = strategy;

        /// Sets the number of tools to find at most.
        pub fn limit(limit: usize) => self.limit = limit;

        /// Searches only among these tools.
        pub fn filter(filter: ToolFilter) => self.filter = filter;

        /// Searches only the tools that may be seen.
        pub fn visible(visible: &'a VisibleTools) => self.visible = Some(visible);

        /// Sets how much words and meaning count in a search by both.
        pub fn weights(weights: FusionWeights) => self.weights = weights;
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchResult {
    /// The tools, the best first.
    pub hits: Vec<SearchHit>,
    /// The actual strategy, if it differs from the one asked for.
    pub fallback: Option<SearchStrategy>,
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchHit {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The fit, from 0 to 1.
    pub score: f32,
    /// The evidence for the tool; none in a search by category.
    pub evidence: MatchEvidence,
}
