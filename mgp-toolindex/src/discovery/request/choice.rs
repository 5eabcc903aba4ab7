//! Candidates for a capability, and the choice among them.

use std::sync::Arc;

use mgp_types::mgp::{Permission, RiskLevel, ToolRequirements};
use mgp_types::{Error, Object};

use super::ToolRequest;
use super::flow::{DataKind, TypeFit, gives, takes};
use crate::{Search, SearchResult, Tool};

/// A tool that may have a capability.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) tool: Arc<Tool>,
    /// The relevance from 0 to 1, and a little more if the definition names the wanted types.
    pub(super) relevance: f32,
    pub(super) standing: CandidateStatus,
}

#[derive(Debug)]
pub(super) enum CandidateStatus {
    /// The tool has the capability.
    Meets,
    /// The tool has the capability, and these permissions are missing.
    Lacks(Vec<Permission>),
    /// The tool does not have the capability, for this reason.
    Misses(String),
}

/// The least relevance of a tool that comes near to a capability, and has it if the tool also fits the whole task. The
/// task alone proves nothing: a tool that does the rest of it fits it too.
const NEARLY: f32 = 0.25;

/// Returns the candidates for a capability, the best first.
pub(super) async fn candidates(asking: &ToolRequest<'_>, capability: &str) -> Vec<Candidate> {
    let capability = capability.replace(['_', '-'], " ");
    let alone = search(asking, &capability).await;
    let together = match with_terms(asking, &capability) {
        Some(text) => search(asking, &text).await.hits,
        None => Vec::new(),
    };
    let near = alone.hits.into_iter().filter(|hit| hit.score >= NEARLY).map(|hit| {
        let same = together.iter().find(|other| Arc::ptr_eq(&other.tool, &hit.tool));
        candidate(asking, hit.tool, hit.score, same.map_or(0.0, |hit| hit.score))
    });
    let mut candidates: Vec<_> = near.collect();
    candidates.sort_by(|one, other| other.relevance.total_cmp(&one.relevance));
    candidates
}

const FOR_STATED_TYPES: f32 = 0.05;

/// The least relevance of a tool that has a capability. For capabilities of a few words any value from a third to two
/// thirds separates well. For whole sentences a higher value misses more tools, and a lower one accepts more wrong
/// ones. The tests of needs print the numbers.
const MET: f32 = 0.35;

fn candidate(asking: &ToolRequest<'_>, tool: Arc<Tool>, alone: f32, together: f32) -> Candidate {
    let ToolRequirements { input_types, output_types, .. } = &asking.wanted.requirements;
    let (taken, given) = (takes(&tool, input_types), gives(&tool, output_types));
    let stated = [&taken, &given].into_iter().filter(|fit| **fit == TypeFit::Stated).count();
    let relevance = alone.max(f32::midpoint(alone, together));
    let bonus = if stated > 0 { FOR_STATED_TYPES } else { 0.0 };
    let standing = if alone < MET && together < MET {
        CandidateStatus::Misses(format!(
            "the tool does something else: relevance {relevance:.2}, below {MET}"
        ))
    } else if let TypeFit::Contradicted(kinds) = taken {
        CandidateStatus::Misses(format!("the tool takes {}, not {}", names(&kinds), input_types.join(" or ")))
    } else if let TypeFit::Contradicted(kinds) = given {
        let (given, wanted) = (names(&kinds), output_types.join(" or "));
        CandidateStatus::Misses(format!("the tool returns {given}, not {wanted}"))
    } else {
        let missing = asking.shared.visible_tools.missing(asking.context, &tool);
        if missing.is_empty() { CandidateStatus::Meets } else { CandidateStatus::Lacks(missing) }
    };
    Candidate { tool, relevance: relevance + bonus, standing }
}

/// The number of tools that are considered for a capability.
const CONSIDERED: usize = 20;

async fn search(asking: &ToolRequest<'_>, text: &str) -> SearchResult {
    let mut search = Search::capability(text).limit(CONSIDERED);
    search.visible = asking.visible;
    asking.snapshot.search(&search).await
}

/// Returns the capability together with other facts about the task.
fn with_terms(asking: &ToolRequest<'_>, capability: &str) -> Option<String> {
    let requirements = &asking.wanted.requirements;
    let terms: Vec<&str> = std::iter::once(asking.wanted.context.as_str())
        .chain(requirements.input_types.iter().map(String::as_str))
        .chain(requirements.output_types.iter().map(String::as_str))
        .filter(|term| !term.is_empty() && *term != capability)
        .collect();
    (!terms.is_empty()).then(|| format!("{capability} {}", terms.join(" ")))
}

fn names(kinds: &[DataKind]) -> String {
    kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or ")
}

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
            let far = preferred.map_or(0, |preferred| (candidate.tool.risk as u8).abs_diff(preferred as u8));
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
