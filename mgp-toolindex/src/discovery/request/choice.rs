//! The choice among candidates.

use std::sync::Arc;

use mgp_types::mgp::{Permission, RiskLevel};

use super::candidate::{Candidate, CandidateStatus};
use super::{ToolRequest, is_same};
use crate::Tool;

/// The tools that were chosen for the capabilities, in their order.
#[derive(Debug, Default)]
pub(super) struct ToolChoice {
    pub(super) chosen: Vec<(String, Chosen)>,
}

#[derive(Debug)]
pub(super) enum Chosen {
    Granted(Arc<Tool>),
    Pending(Arc<Tool>, Vec<Permission>),
    /// No tool has the capability; a tool may have come near.
    Nothing(Option<NearestTool>),
}

#[derive(Debug)]
pub(super) struct NearestTool {
    pub(super) tool: Arc<Tool>,
    pub(super) reason: String,
}

/// The relevance that a callable tool may lack beside one that needs a grant.
const WORTH_A_GRANT: f32 = 0.25;

/// The difference of relevance up to which tools count as equally good.
const ALIKE: f32 = 0.1;

impl ToolChoice {
    /// Chooses among candidates, of which the best stands first. A tool that can be called takes precedence over one
    /// that needs a grant, unless that is far better; of tools that fit alike the one whose risk is nearest to the
    /// preferred one is chosen, then one that was chosen already.
    pub(super) fn decide(&mut self, asking: &ToolRequest<'_>, capability: &str, candidates: Vec<Candidate>) {
        let preferred = asking.wanted.requirements.preferred_risk_level;
        let meets = self.best(&candidates, preferred, |standing| matches!(standing, CandidateStatus::Meets));
        let lacks =
            self.best(&candidates, preferred, |standing| matches!(standing, CandidateStatus::Lacks(_)));
        let chosen = match (meets, lacks) {
            (Some(now), Some(later))
                if candidates[now].relevance < candidates[later].relevance - WORTH_A_GRANT =>
            {
                Some(later)
            }
            (now, later) => now.or(later),
        };
        let chosen = match chosen.map(|at| (&candidates[at].tool, &candidates[at].standing)) {
            Some((tool, CandidateStatus::Lacks(missing))) => {
                Chosen::Pending(Arc::clone(tool), missing.clone())
            }
            Some((tool, _)) => Chosen::Granted(Arc::clone(tool)),
            None => Chosen::Nothing(nearest(candidates)),
        };
        self.chosen.push((capability.to_owned(), chosen));
    }

    /// Returns the tools that can be called, each once.
    pub(super) fn granted(&self) -> Vec<Arc<Tool>> {
        let mut tools: Vec<Arc<Tool>> = Vec::new();
        for (_, chosen) in &self.chosen {
            if let Chosen::Granted(tool) = chosen
                && !tools.iter().any(|known| is_same(known, tool))
            {
                tools.push(Arc::clone(tool));
            }
        }
        tools
    }

    fn best(
        &self,
        candidates: &[Candidate],
        preferred: Option<RiskLevel>,
        stands: impl Fn(&CandidateStatus) -> bool,
    ) -> Option<usize> {
        let mut standing = candidates.iter().enumerate().filter(|(_, candidate)| stands(&candidate.standing));
        let (first, best) = standing.next()?;
        let alike = standing.take_while(|(_, other)| other.relevance >= best.relevance - ALIKE);
        let flaws = |candidate: &Candidate| {
            let far = preferred.map_or(0, |preferred| distance(candidate.tool.risk, preferred));
            (far, !self.has(&candidate.tool))
        };
        // Of candidates with the same flaws the first stays, which fits best.
        let mut kept = first;
        for (at, candidate) in alike {
            if flaws(candidate) < flaws(&candidates[kept]) {
                kept = at;
            }
        }
        Some(kept)
    }

    fn has(&self, tool: &Tool) -> bool {
        self.chosen.iter().any(|(_, chosen)| match chosen {
            Chosen::Granted(known) | Chosen::Pending(known, _) => is_same(known, tool),
            Chosen::Nothing(_) => false,
        })
    }
}

fn nearest(candidates: Vec<Candidate>) -> Option<NearestTool> {
    candidates.into_iter().find_map(|Candidate { tool, standing, .. }| match standing {
        CandidateStatus::Misses(reason) => Some(NearestTool { tool, reason }),
        CandidateStatus::Meets | CandidateStatus::Lacks(_) => None,
    })
}

const fn distance(one: RiskLevel, other: RiskLevel) -> u8 {
    (one as u8).abs_diff(other as u8)
}
