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
    /// The permissions that are missing for the tool, or the reason why it does not have the capability.
    pub(super) standing: Result<Vec<Permission>, String>,
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
        Err(format!("the tool does something else: relevance {relevance:.2}, below {MET}"))
    } else if let TypeFit::Contradicted(kinds) = taken {
        Err(format!("the tool takes {}, not {}", names(&kinds), input_types.join(" or ")))
    } else if let TypeFit::Contradicted(kinds) = given {
        let (given, wanted) = (names(&kinds), output_types.join(" or "));
        Err(format!("the tool returns {given}, not {wanted}"))
    } else {
        Ok(asking.shared.visible_tools.missing(asking.context, &tool))
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
    pub(super) chosen: Vec<(String, Result<ChosenTool, NearTool>)>,
}

/// A tool that comes near to a capability which no tool has, if there is one, with the reason why it is not the one.
type NearTool = Option<(Arc<Tool>, String)>;

/// A tool that has a capability.
#[derive(Debug)]
pub(super) struct ChosenTool {
    pub(super) tool: Arc<Tool>,
    /// The permissions that the caller lacks for the tool.
    pub(super) missing: Vec<Permission>,
    /// The refusal that a call would get, once people have been asked.
    pub(super) refusal: Option<Error>,
}

impl ChosenTool {
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
        let meets = self.best(&candidates, preferred, false);
        let lacks = self.best(&candidates, preferred, true);
        let chosen = match (meets, lacks) {
            (Some(now), Some(later))
                if candidates[now].relevance < candidates[later].relevance - WORTH_A_GRANT =>
            {
                Some(later)
            }
            (now, later) => now.or(later),
        };
        let chosen = match chosen.map(|at| &candidates[at]) {
            Some(Candidate { tool, standing: Ok(missing), .. }) => {
                let (tool, missing) = (Arc::clone(tool), missing.clone());
                Ok(ChosenTool { tool, missing, refusal: None })
            }
            _ => Err(nearest(candidates)),
        };
        self.chosen.push((capability.to_owned(), chosen));
    }

    /// Returns the tools that can be called, each once. A call of a tool about which a question waits asks it again.
    pub(super) fn callable(&self) -> Vec<Arc<Tool>> {
        each_once(self.tools().filter(|tool| tool.missing.is_empty() || tool.approval_id().is_some()))
    }

    /// Returns the tools that the caller lacks permissions for, each once.
    pub(super) fn lacking(&self) -> Vec<Arc<Tool>> {
        each_once(self.tools().filter(|tool| !tool.missing.is_empty()))
    }

    fn tools(&self) -> impl Iterator<Item = &ChosenTool> {
        self.chosen.iter().filter_map(|(_, chosen)| chosen.as_ref().ok())
    }

    /// Notes what people said when they were asked for the permissions of a tool: nothing if they granted them.
    pub(super) fn asked(&mut self, tool: &Tool, refusal: Option<&Error>) {
        for chosen in self.chosen.iter_mut().filter_map(|(_, chosen)| chosen.as_mut().ok()) {
            if chosen.tool.is_same(tool) {
                match refusal {
                    Some(refusal) => chosen.refusal = Some(refusal.clone()),
                    None => chosen.missing.clear(),
                }
            }
        }
    }

    /// Returns the best of the candidates that have the capability: of those that lack permissions, or of the others.
    fn best(&self, candidates: &[Candidate], preferred: Option<RiskLevel>, lacks: bool) -> Option<usize> {
        let mut standing = candidates.iter().enumerate().filter(|(_, candidate)| {
            candidate.standing.as_ref().is_ok_and(|missing| missing.is_empty() != lacks)
        });
        let (first, best) = standing.next()?;
        let alike = standing.take_while(|(_, other)| other.relevance >= best.relevance - ALIKE);
        let flaws = |candidate: &Candidate| {
            let far = preferred.map_or(0, |preferred| (candidate.tool.risk as u8).abs_diff(preferred as u8));
            (far, !self.has(&candidate.tool))
        };
        // Of candidates with the same flaws the first stays, which fits best.
        let alike = std::iter::once((first, best)).chain(alike);
        alike.min_by_key(|&(_, candidate)| flaws(candidate)).map(|(at, _)| at)
    }

    fn has(&self, tool: &Tool) -> bool {
        self.tools().any(|known| known.tool.is_same(tool))
    }
}

fn each_once<'t>(chosen: impl Iterator<Item = &'t ChosenTool>) -> Vec<Arc<Tool>> {
    let mut once: Vec<Arc<Tool>> = Vec::new();
    for ChosenTool { tool, .. } in chosen {
        if !once.iter().any(|known| known.is_same(tool)) {
            once.push(Arc::clone(tool));
        }
    }
    once
}

fn nearest(candidates: Vec<Candidate>) -> NearTool {
    candidates.into_iter().find_map(|candidate| Some((candidate.tool, candidate.standing.err()?)))
}
