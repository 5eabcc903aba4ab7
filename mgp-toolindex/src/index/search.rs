use std::sync::Arc;

use mgp_types::mgp::{SearchStrategy, ToolFilter};

use super::Sight;
use crate::Tool;
use crate::learn::TenantShift;

/// What is looked for, and among what.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Search<'a> {
    /// What is needed, in words; for [`SearchStrategy::Category`] the path of a category.
    pub text: &'a str,
    /// How to search.
    pub strategy: SearchStrategy,
    /// How many tools to find at the most.
    pub limit: usize,
    /// Which tools come into question.
    pub filter: ToolFilter,
    /// Which tools the asking agent may see; all of them if it is not said.
    pub sight: Option<&'a Sight>,
    /// What was learned from use, for whom it is searched.
    pub(crate) learned: Option<&'a TenantShift>,
    /// Whether tools that say nearly the same may stand beside one another: to whom one of them is as good as another,
    /// but not all may be called.
    pub(crate) with_twins: bool,
}

impl<'a> Search<'a> {
    /// Searches everything that can be called, by words and meaning, for five tools.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            strategy: SearchStrategy::Hybrid,
            limit: 5,
            filter: ToolFilter::default(),
            sight: None,
            learned: None,
            with_twins: false,
        }
    }

    /// Searches in this way.
    pub const fn strategy(mut self, strategy: SearchStrategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Finds so many tools at the most.
    pub const fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Searches only among these.
    pub fn filter(mut self, filter: ToolFilter) -> Self {
        self.filter = filter;
        self
    }

    /// Searches only what may be seen.
    pub const fn sight(mut self, sight: &'a Sight) -> Self {
        self.sight = Some(sight);
        self
    }

    /// Lets tools that say nearly the same stand beside one another.
    pub(crate) const fn with_twins(mut self) -> Self {
        self.with_twins = true;
        self
    }

    /// Prefers what was of use before.
    pub(crate) const fn learned(mut self, learned: &'a TenantShift) -> Self {
        self.learned = Some(learned);
        self
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// The tools, the one that fits best in front.
    pub hits: Vec<Hit>,
    /// How it was searched in fact, where it could not be searched as asked.
    pub fallback: Option<SearchStrategy>,
    /// The vector of the text, if it was searched by meaning and the text could be embedded.
    pub meaning: Option<Vec<f32>>,
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// The tool.
    pub tool: Arc<Tool>,
    /// How well it fits, from 0 to 1.
    pub score: f32,
    /// How like its meaning is by its own words, whatever was learned; 0 if that was not looked at.
    pub likeness: f32,
}
