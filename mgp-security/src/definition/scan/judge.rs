//! The application of the rules to the hits in a text.

use super::ENCODED;
use super::atom::{Atom, Atoms, Hit};
use super::parameters::Parameters;
use super::rules::{Compound, Place, Rule, Rules};
use crate::definition::fold::FoldedText;

/// A finding of a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) rule: &'static Rule,
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
    place: Place,
    parameters: &Parameters,
    spared: &dyn Fn(&str) -> bool,
) -> Option<Match> {
    if hits.is_empty() {
        return None;
    }
    let all = Rules::get();
    hits.sort_unstable_by_key(|hit| (hit.start, hit.end));
    heed_cautions(hits);
    compose(&all.compounds, folded, hits);
    let mut present = Atoms::default();
    for hit in hits.iter() {
        present.insert(hit.atom);
    }
    let discussed: Vec<_> =
        hits.iter().filter(|hit| hit.atom == Atom::DISCUSS).map(|hit| hit.sentence).collect();
    let possible = all
        .of_place(place, parameters)
        .filter(|rule| rule.needs.iter().all(|set| set.intersects(present)) && !spared(rule.name));
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
        hits.iter().filter(|hit| hit.atom == Atom::CAUTION).map(|hit| (hit.start, hit.end)).collect();
    if !cautions.is_empty() {
        // Warnings do not overlap, and are in the order of their starts.
        hits.retain(|hit| {
            let before = cautions.partition_point(|(start, _)| *start <= hit.start);
            before.checked_sub(1).is_none_or(|it| hit.start >= cautions[it].1)
        });
    }
}

/// Adds the atoms that several of `hits`, in the order of their starts, make together.
fn compose(compounds: &'static [Compound], folded: &FoldedText, hits: &mut Vec<Hit>) {
    for compound in compounds {
        let made: Vec<_> = shortest(&compound.needs, hits)
            .filter(|(first, end, sentences)| {
                *sentences == 0 && is_within(&folded.text, first.start, *end, compound.span)
            })
            .map(|(first, end, _)| Hit { atom: compound.atom, end, ..*first })
            .collect();
        hits.extend(made);
        hits.sort_unstable_by_key(|hit| (hit.start, hit.end));
    }
}

/// Returns the places in the text where all atoms of `rule` occur close enough together.
fn windows<'a>(
    rule: &'static Rule,
    evidence: Atoms,
    folded: &'a FoldedText,
    hits: &'a [Hit],
) -> impl Iterator<Item = Match> + 'a {
    shortest(&rule.needs, hits)
        .filter(move |(first, end, sentences)| {
            *sentences <= rule.sentences && is_within(&folded.text, first.start, *end, rule.span)
        })
        .map(move |(first, end, _)| {
            let start = first.start;
            let near = |hit: &Hit| hit.end + MAX_BESIDE >= start && hit.start <= end + MAX_BESIDE;
            let proves = |hit: &Hit| evidence.contains(hit.atom) && near(hit);
            let is_hard = rule.name == ENCODED || hits.iter().any(proves);
            Match { rule, start, end, is_hard }
        })
}

/// Returns whether there are at most `span` characters from `start` to `end`. Most ranges are decided without counting.
fn is_within(text: &str, start: usize, end: usize, span: usize) -> bool {
    end - start <= span || end - start <= span * 4 && text[start..end].chars().count() <= span
}

/// Returns, for each hit that completes one, the shortest window up to it that holds one atom of each set: its first
/// hit, its end, and the number of ends of sentences in it.
fn shortest<'a>(
    needs: &'static [Atoms],
    hits: &'a [Hit],
) -> impl Iterator<Item = (&'a Hit, usize, usize)> + 'a {
    // The last hit of each set so far: together they are the shortest window up to here.
    let mut last: Vec<Option<&Hit>> = vec![None; needs.len()];
    hits.iter().filter_map(move |hit| {
        let mut helps = false;
        for (place, set) in last.iter_mut().zip(needs) {
            if set.contains(hit.atom) {
                *place = Some(hit);
                helps = true;
            }
        }
        if !helps {
            return None;
        }
        let mut first = hit;
        let mut end = hit.end;
        for place in &last {
            let it = (*place)?;
            end = end.max(it.end);
            if it.start < first.start {
                first = it;
            }
        }
        Some((first, end, hit.sentence - first.sentence))
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
    let opened = match near.rfind(quote) {
        Some(at) => opens(at) || at + 1 == near.len(),
        None => false,
    };
    opened && text[found.start..].chars().skip(1).take(MAX_QUOTED).any(|it| it == quote)
}

/// The largest number of characters of a quoted example before the finding in it.
const MAX_QUOTE: usize = 80;
/// The largest distance from the start of the finding to the closing quote, in characters.
const MAX_QUOTED: usize = 200;

/// The largest number of bytes between a finding and the evidence for it.
const MAX_BESIDE: usize = 200;
