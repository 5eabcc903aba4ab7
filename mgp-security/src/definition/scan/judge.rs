//! The application of the rules to the hits in a text.

use super::ENCODED;
use super::atom::{Atoms, Hit};
use super::parameters::Parameters;
use super::rules::{SCAN_RULES, ScanRule, TextPlace};
use crate::definition::fold::FoldedText;

/// A finding of a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) rule: &'static ScanRule,
    pub(super) start: usize,
    pub(super) end: usize,
    /// True if the finding rests on more than wording: something is to be decoded or kept from the user, a file of
    /// secrets is named that hardly any tool is about, or another rule found something else.
    pub(super) is_hard: bool,
}

/// Returns the first rule that the hits in `folded` fulfil, except for rules that are `spared`; a finding that rests on
/// more than wording comes before all others.
pub(super) fn judge(
    folded: &FoldedText,
    hits: &mut Vec<Hit>,
    place: TextPlace,
    parameters: &Parameters,
    spared: &dyn Fn(&str) -> bool,
) -> Option<Match> {
    if hits.is_empty() {
        return None;
    }
    let all = &*SCAN_RULES;
    hits.sort_unstable_by_key(|hit| (hit.start, hit.end));
    heed_cautions(hits);
    for (atom, window) in &all.compounds {
        let made = window.find(folded, hits).map(|(first, end)| Hit { atom: *atom, end, ..*first });
        let made: Vec<_> = made.collect();
        hits.extend(made);
        hits.sort_unstable_by_key(|hit| (hit.start, hit.end));
    }
    let present = hits.iter().fold(Atoms::default(), |all, hit| all.and(hit.atom));
    let discussed: Vec<_> =
        hits.iter().filter(|hit| hit.atom == Atoms::DISCUSS).map(|hit| hit.sentence).collect();
    let possible = all
        .of_place(place, parameters)
        .filter(|rule| rule.window.needs.iter().all(|set| set.has(present)) && !spared(rule.name));
    let mut found = possible.filter_map(|rule| {
        windows(rule, all.evidence, folded, hits).find(|found| !is_quoted_example(folded, &discussed, found))
    });
    let first = found.next()?;
    if first.is_hard {
        return Some(first);
    }
    let mut is_backed = false;
    let hard = found.find(|other| {
        is_backed |= other.rule.name != first.rule.name;
        other.is_hard
    });
    Some(hard.unwrap_or(Match { is_hard: is_backed, ..first }))
}

/// Drops hits within a warning not to obey instructions in data: such a warning is not an order itself.
fn heed_cautions(hits: &mut Vec<Hit>) {
    let cautions: Vec<_> =
        hits.iter().filter(|hit| hit.atom == Atoms::CAUTION).map(|hit| (hit.start, hit.end)).collect();
    // Warnings do not overlap, and are in the order of their starts.
    hits.retain(|hit| {
        let before = cautions.partition_point(|(start, _)| *start <= hit.start);
        before.checked_sub(1).is_none_or(|it| hit.start >= cautions[it].1)
    });
}

/// Returns the places in the text where all atoms of `rule` occur close enough together.
fn windows<'a>(
    rule: &'static ScanRule,
    evidence: Atoms,
    folded: &'a FoldedText,
    hits: &'a [Hit],
) -> impl Iterator<Item = Match> + 'a {
    rule.window.find(folded, hits).map(move |(first, end)| {
        let start = first.start;
        let near = |hit: &Hit| hit.end + MAX_BESIDE >= start && hit.start <= end + MAX_BESIDE;
        let is_hard = rule.name == ENCODED || hits.iter().any(|hit| evidence.has(hit.atom) && near(hit));
        Match { rule, start, end, is_hard }
    })
}

/// Returns whether the finding stands in quotes, in or next to a sentence about attacks: such a text documents attacks.
/// `discussed` are the sentences about attacks, in order.
fn is_quoted_example(folded: &FoldedText, discussed: &[usize], found: &Match) -> bool {
    let sentence = folded.sentence(found.start);
    let near = discussed.partition_point(|it| *it + 1 < sentence);
    discussed.get(near).is_some_and(|it| *it <= sentence + 1)
        && ['"', '`', '\''].iter().any(|quote| is_between(&folded.text, *quote, found))
}

/// Returns whether `quote` opens before the finding and closes in it or behind it.
fn is_between(text: &str, quote: char, found: &Match) -> bool {
    let before = &text[..found.start];
    let near = before.char_indices().rev().take(MAX_QUOTE).last().map_or(before, |(at, _)| &before[at..]);
    let opens = |at: usize| {
        !near[..at].ends_with(char::is_alphanumeric) && !near[at + 1..].starts_with([' ', ',', '.', ')'])
    };
    let opened = near.rfind(quote).is_some_and(|at| opens(at) || at + 1 == near.len());
    opened && text[found.start..].chars().skip(1).take(MAX_QUOTED).any(|it| it == quote)
}

/// The largest number of characters of a quoted example before the finding in it.
const MAX_QUOTE: usize = 80;
/// The largest distance from the start of the finding to the closing quote, in characters.
const MAX_QUOTED: usize = 200;

/// The largest number of bytes between a finding and the evidence for it.
const MAX_BESIDE: usize = 200;
