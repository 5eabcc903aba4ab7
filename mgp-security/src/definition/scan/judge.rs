//! What the rules find in what a text holds.

use super::ENCODED;
use super::atom::{Atom, Atoms, Hit};
use super::parameters::Parameters;
use super::rules::{Compound, Place, Rule, Rules};
use crate::definition::fold::FoldedText;

/// What a rule found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) rule: &'static Rule,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it is more than wording: something is to be decoded, or to be kept from the user, a file of secrets is named
    /// that hardly any tool is about, or another rule found something else.
    pub(super) is_hard: bool,
}

/// The first rule that the hits in `folded` fulfil, but for those that are `spared`; one that is more than wording comes before
/// all others.
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

/// Drops what stands within a warning not to obey what data say, which is no order itself.
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

/// Adds the atoms that `hits`, in the order of their starts, make together.
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

/// The windows of `rule` that are short enough.
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

/// Whether there are at most `span` characters from `start` to `end`. Most are refused without counting.
fn is_within(text: &str, start: usize, end: usize, span: usize) -> bool {
    end - start <= span || end - start <= span * 4 && text[start..end].chars().count() <= span
}

/// For each hit that completes one, the shortest window up to it that holds one of each set: its first hit, its
/// end, and how many ends of sentences are in it.
fn shortest<'a>(
    needs: &'static [Atoms],
    hits: &'a [Hit],
) -> impl Iterator<Item = (&'a Hit, usize, usize)> + 'a {
    // The last place of each set, as the walk goes on: together they are the shortest window up to here.
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

/// Whether what was found stands in quotes, in a sentence about attacks: documentation of what is found here.
/// `discussed` are the sentences about attacks, in order.
fn is_quoted_example(folded: &FoldedText, discussed: &[usize], found: &Match) -> bool {
    let sentence = folded.sentence(found.start);
    let near = discussed.partition_point(|it| *it + 1 < sentence);
    discussed.get(near).is_some_and(|it| *it <= sentence + 1)
        && ['"', '`', '\''].iter().any(|quote| is_between(&folded.text, *quote, found))
}

/// Whether `quote` opens before what was found and closes in it or behind it.
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

/// How long a quoted example may be before what was found in it.
const MAX_QUOTE: usize = 80;
/// How far behind its start a quoted example may end.
const MAX_QUOTED: usize = 200;

/// How many bytes may be between what was found and the evidence.
const MAX_BESIDE: usize = 200;
