//! The learned shifts of one tenant.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::RandomState;
use mgp_types::mgp::{ServerId, ToolName};

use super::{ConfirmedCall, DefinitionDigest, Uses, uses};

/// The learned shifts of one tenant, at one time.
#[derive(Debug, Clone, Default)]
pub(crate) struct TenantShift {
    tools: HashMap<(ServerId, ToolName), Arc<Uses>, RandomState>,
}

/// The shift of one tool toward a query, by learning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shift<'a> {
    /// The server of the tool.
    pub(crate) server: &'a ServerId,
    /// The tool.
    pub(crate) tool: &'a ToolName,
    share: f32,
    likeness: f32,
}

/// The part of a score that learning may add at most.
const MOST_GAINED: f32 = 0.25;

impl Shift<'_> {
    /// Returns the tool's score for the query, from its own `score`: as if the tool's vector lay between its own and
    /// the mean of the queries that led to it, but gaining no more than a quarter, and losing nothing.
    ///
    /// A tool with known uses may well have others: where tools lost for queries unlike the known ones, right calls
    /// made searches worse.
    pub(crate) fn score(&self, score: f32) -> f32 {
        score + (self.share * (self.likeness - score)).clamp(0.0, MOST_GAINED)
    }
}

impl TenantShift {
    /// Returns the tools whose scores for this query change. All others keep theirs.
    pub(crate) fn shifts(&self, query: &[f32]) -> impl Iterator<Item = Shift<'_>> {
        let query = uses::unit(query).unwrap_or_default();
        self.tools.iter().filter_map(move |((server, tool), uses)| {
            let centroid = uses.centroid();
            (centroid.len() == query.len()).then(|| {
                let likeness = centroid.iter().zip(&query).map(|(a, b)| a * b).sum();
                Shift { server, tool, share: uses.share(), likeness }
            })
        })
    }

    /// Returns whether nothing was learned.
    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = (&(ServerId, ToolName), &Uses)> {
        self.tools.iter().map(|(tool, uses)| (tool, &**uses))
    }

    /// Returns the learned tools, each with the definition that it had.
    pub(crate) fn known(&self) -> impl Iterator<Item = (&(ServerId, ToolName), DefinitionDigest)> {
        self.tools.iter().map(|(tool, uses)| (tool, uses.definition))
    }

    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns whether one more query would count.
    pub(super) fn admits(&self, query: &[f32], session: u64, called: &ConfirmedCall<'_>) -> bool {
        let uses = self.tools.get(&called.key());
        uses.is_none_or(|uses| uses.definition != called.definition || uses.admits(query, session))
    }

    /// Learns that a query led to a tool. Returns whether it counted. What was learned of a tool with another
    /// definition is forgotten.
    pub(super) fn learn(
        &mut self,
        query: &[f32],
        session: u64,
        called: &ConfirmedCall<'_>,
        now: u64,
        most: usize,
    ) -> bool {
        let tool = called.key();
        let uses = self.tools.get_mut(&tool).filter(|uses| uses.definition == called.definition);
        if let Some(uses) = uses {
            let admitted = uses.admits(query, session);
            if admitted {
                Arc::make_mut(uses).add(query, session, now);
            }
            return admitted;
        }
        self.tools.remove(&tool);
        self.put(tool, Uses::first(query, session, called.definition, now), most)
    }

    pub(super) fn put(&mut self, tool: (ServerId, ToolName), uses: Uses, most: usize) -> bool {
        if most == 0 {
            return false;
        }
        if self.tools.len() >= most {
            let oldest = self.tools.iter().min_by_key(|(_, uses)| uses.used).map(|(tool, _)| tool.clone());
            if let Some(oldest) = oldest {
                self.tools.remove(&oldest);
            }
        }
        self.tools.insert(tool, Arc::new(uses));
        true
    }

    pub(super) fn forget(&mut self, is_meant: impl Fn(&ServerId, &ToolName) -> bool) {
        self.tools.retain(|(server, tool), _| !is_meant(server, tool));
    }
}
