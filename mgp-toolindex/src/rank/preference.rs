//! The preference for current and harmless tools among those that fit.

use super::{RankedTool, relevance};
use crate::slot::Slot;
use crate::tool::{ProposalRank, ToolEffect};

/// The number of the first tools that may change places.
const FIRST: usize = 5;

/// The fit of the best tool below which a request is hardly met.
const WEAK: f32 = 0.35;

/// Puts deprecated tools last, and of the first tools that fit badly and about equally the less powerful ones first.
///
/// `ranked` has a few more than the `limit` wanted tools: a deprecated tool gives its place to one of them that fits at
/// least half as well. A tool whose name is the whole `request`, in one word, stays in place: "read a file" names no tool.
/// A power that the request asks for by a verb is no reason to stand behind.
pub(crate) fn prefer(
    ranked: &mut Vec<RankedTool>,
    limit: usize,
    request: &str,
    standing: impl Fn(Slot) -> ProposalRank,
) {
    let is_name = !request.trim().contains(char::is_whitespace);
    let gives_way = |tool: &RankedTool| {
        standing(tool.slot).is_deprecated && !(is_name && relevance::is_of_name(tool.score))
    };
    put_deprecated_last(ranked, limit, gives_way);
    ranked.truncate(limit);
    let asked = ToolEffect::asked(request);
    if ranked.first().is_some_and(|best| best.score < WEAK) {
        let first = ranked.len().min(FIRST);
        put_harmless_first(&mut ranked[..first], |slot| Some(standing(slot).manner?.max(asked)));
    }
    relevance::in_order(ranked.iter_mut().map(|tool| &mut tool.score));
}

/// The share of a deprecated tool's fit that is good enough to take its place.
const WORTHY: f32 = 0.5;

fn put_deprecated_last(ranked: &mut Vec<RankedTool>, limit: usize, gives_way: impl Fn(&RankedTool) -> bool) {
    let behind = ranked.split_off(limit.min(ranked.len()));
    let Some(best) = ranked.iter().find(|it| gives_way(it)).map(|tool| tool.score) else { return };
    let (deprecated, mut kept): (Vec<RankedTool>, Vec<RankedTool>) = ranked.drain(..).partition(&gives_way);
    let follows = |it: &RankedTool| !gives_way(it) && it.score >= best * WORTHY;
    kept.extend(behind.into_iter().filter(follows).take(deprecated.len()));
    kept.extend(deprecated);
    *ranked = kept;
}

/// The share of another tool's fit that is about as good.
const CLOSE: f32 = 0.85;

/// Moves each tool before those that do more and fit hardly better. Tools with unknown actions stay.
fn put_harmless_first(ranked: &mut [RankedTool], manner: impl Fn(Slot) -> Option<ToolEffect>) {
    let does_less = |one: &RankedTool, other: &RankedTool| {
        manner(one.slot).zip(manner(other.slot)).is_some_and(|(one, other)| one < other)
            && one.score >= other.score * CLOSE
    };
    for last in 1..ranked.len() {
        let mut at = last;
        while at > 0 && does_less(&ranked[at], &ranked[at - 1]) {
            ranked.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// The number of tools that are looked at in excess of those wanted.
pub(crate) const SPARE: usize = 5;

#[cfg(test)]
mod tests {
    use mgp_types::mgp::MatchEvidence;

    use super::*;

    const OLD: ProposalRank = ProposalRank { is_deprecated: true, manner: None };

    fn ranked(slot: Slot, score: f32) -> RankedTool {
        RankedTool { slot, score, evidence: MatchEvidence::default() }
    }

    fn preferred(tools: &[(ProposalRank, f32)], limit: usize, request: &str) -> Vec<u32> {
        let mut ranked: Vec<RankedTool> =
            (0..).zip(tools).map(|(slot, (_, score))| ranked(Slot(slot), *score)).collect();
        prefer(&mut ranked, limit, request, |slot| tools[slot.0 as usize].0);
        assert!(ranked.is_sorted_by(|a, b| a.score >= b.score), "{ranked:?}");
        ranked.into_iter().map(|tool| tool.slot.0).collect()
    }

    fn does(manner: ToolEffect) -> ProposalRank {
        ProposalRank { is_deprecated: false, manner: Some(manner) }
    }

    #[test]
    fn a_deprecated_tool_is_last_and_gives_its_place_to_what_fits_about_as_well() {
        let new = ProposalRank::default();
        assert_eq!(preferred(&[(OLD, 0.9), (new, 0.8), (new, 0.2)], 3, "read a file"), [1, 2, 0]);
        assert_eq!(preferred(&[(OLD, 0.9), (new, 0.8), (new, 0.2)], 1, "read a file"), [1]);
        assert_eq!(preferred(&[(OLD, 0.9), (new, 0.1), (new, 0.1)], 1, "read a file"), [0]);
        // A request that is the name of the tool means it.
        assert_eq!(preferred(&[(OLD, 0.99), (new, 0.8)], 2, "read_file"), [0, 1]);
        assert_eq!(preferred(&[(OLD, 0.99), (new, 0.8)], 2, "read a file"), [1, 0]);
    }

    #[test]
    fn where_nothing_fits_well_what_does_less_comes_first() {
        let all = [does(ToolEffect::Destroys), does(ToolEffect::Writes), does(ToolEffect::Reads)];
        let scored = |scores: [f32; 3]| [(all[0], scores[0]), (all[1], scores[1]), (all[2], scores[2])];
        assert_eq!(preferred(&scored([0.2, 0.195, 0.19]), 3, "read a file"), [2, 1, 0]);
        assert_eq!(preferred(&scored([0.2, 0.195, 0.19]), 3, "write a file"), [1, 2, 0]);
        assert_eq!(preferred(&scored([0.2, 0.195, 0.19]), 3, "delete a file"), [0, 1, 2]);
        assert_eq!(preferred(&scored([0.8, 0.79, 0.78]), 3, "read a file"), [0, 1, 2]);
        assert_eq!(preferred(&scored([0.2, 0.1, 0.05]), 3, "read a file"), [0, 1, 2]);
    }
}
