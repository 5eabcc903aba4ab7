//! Candidates for a capability, with their fit.

use std::sync::Arc;

use mgp_types::mgp::{Permission, ToolRequirements};

use super::ToolRequest;
use super::flow::{TypeFit, gives, takes};
use super::kind::DataKind;
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
