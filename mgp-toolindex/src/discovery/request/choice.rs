//! The choice among candidates.

use std::sync::Arc;

use mgp_types::mgp::{Permission, RiskLevel};
use mgp_types::{Error, Object};

use super::ToolRequest;
use super::candidate::{Candidate, CandidateStatus};
use crate::Tool;

/// The tools that were chosen for the capabilities, in their order.
#[derive(Debug, Default)]
pub(super) struct ToolChoice {
    pub(super) chosen: Vec<(String, Chosen)>,
}

#[derive(Debug)]
pub(super) enum Chosen {
    Granted(Arc<Tool>),
    Pending(LackingTool),
    /// No tool has the capability; a tool may have come near, with the reason why it is not the one.
    Nothing(Option<(Arc<Tool>, String)>),
}

/// A tool that the caller lacks permissions for.
#[derive(Debug)]
pub(super) struct LackingTool {
    pub(super) tool: Arc<Tool>,
    pub(super) missing: Vec<Permission>,
    /// The refusal that a call would get, once people have been asked.
    pub(super) refusal: Option<Error>,
}

impl LackingTool {
    /// Returns the id of the question that waits for an operator. A call of the tool asks the same.
    pub(super) fn approval_id(&self) -> Option<String> {
        let details = self.refusal.as_ref()?.recovery()?.details?;
        Object::from_raw(&details).ok()?.text("approval_id").map(Into::into)
    }
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
                let (tool, missing) = (Arc::clone(tool), missing.clone());
                Chosen::Pending(LackingTool { tool, missing, refusal: None })
            }
            Some((tool, _)) => Chosen::Granted(Arc::clone(tool)),
            None => Chosen::Nothing(nearest(candidates)),
        };
        self.chosen.push((capability.to_owned(), chosen));
    }

    /// Returns the tools that can be called, each once. A call of a tool about which a question waits asks it again.
    pub(super) fn callable(&self) -> Vec<Arc<Tool>> {
        each_once(self.chosen.iter().filter_map(|(_, chosen)| match chosen {
            Chosen::Granted(tool) => Some(tool),
            Chosen::Pending(lacking) => lacking.approval_id().map(|_| &lacking.tool),
            Chosen::Nothing(_) => None,
        }))
    }

    /// Returns the tools that the caller lacks permissions for, each once.
    pub(super) fn lacking(&self) -> Vec<Arc<Tool>> {
        each_once(self.chosen.iter().filter_map(|(_, chosen)| match chosen {
            Chosen::Pending(lacking) => Some(&lacking.tool),
            Chosen::Granted(_) | Chosen::Nothing(_) => None,
        }))
    }

    /// Notes what people said when they were asked for the permissions of a tool: nothing if they granted them.
    pub(super) fn asked(&mut self, tool: &Arc<Tool>, refusal: Option<&Error>) {
        for (_, chosen) in &mut self.chosen {
            let Chosen::Pending(lacking) = chosen else { continue };
            if lacking.tool.is_same(tool) {
                match refusal {
                    Some(refusal) => lacking.refusal = Some(refusal.clone()),
                    None => *chosen = Chosen::Granted(Arc::clone(tool)),
                }
            }
        }
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
            Chosen::Granted(known) | Chosen::Pending(LackingTool { tool: known, .. }) => known.is_same(tool),
            Chosen::Nothing(_) => false,
        })
    }
}

fn each_once<'t>(tools: impl Iterator<Item = &'t Arc<Tool>>) -> Vec<Arc<Tool>> {
    let mut once: Vec<Arc<Tool>> = Vec::new();
    for tool in tools {
        if !once.iter().any(|known| known.is_same(tool)) {
            once.push(Arc::clone(tool));
        }
    }
    once
}

fn nearest(candidates: Vec<Candidate>) -> Option<(Arc<Tool>, String)> {
    candidates.into_iter().find_map(|Candidate { tool, standing, .. }| match standing {
        CandidateStatus::Misses(reason) => Some((tool, reason)),
        CandidateStatus::Meets | CandidateStatus::Lacks(_) => None,
    })
}

const fn distance(one: RiskLevel, other: RiskLevel) -> u8 {
    (one as u8).abs_diff(other as u8)
}
