//! Which atoms close together are a finding.

use super::atom::Atom::{self, *};
use super::atom::{Atoms, Hit};
use super::table::{EVERYWHERE, IN_DEFINITIONS, IN_LITERALS, IN_NAMES, IN_TEXTS};
use crate::definition::fold::Folded;

/// Atoms of which one of each set must occur within so many bytes and sentences.
#[derive(Debug)]
pub(super) struct Rule {
    /// The class of the finding.
    pub(super) name: &'static str,
    /// What it means, for an operator.
    pub(super) meaning: &'static str,
    /// How many bytes of folded text the atoms may span.
    pub(super) span: usize,
    /// How many ends of sentences may be between them.
    pub(super) sentences: usize,
    /// The sets.
    pub(super) needs: &'static [Atoms],
}

/// Where a text stands: what is harmless in one place is not in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A description or other prose of a definition.
    Prose,
    /// A default, an example, one of the values to choose from: where nobody writes sentences.
    Literal,
    /// The name of a parameter, in words.
    Name,
    /// A result or prompt.
    Text,
}

/// What a rule found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) rule: &'static Rule,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The first rule that the hits in `folded` fulfil.
pub(super) fn judge(folded: &Folded, hits: &mut [Hit], place: Place) -> Option<Match> {
    if hits.is_empty() {
        return None;
    }
    hits.sort_unstable_by_key(|hit| (hit.start, hit.end));
    let mut present = Atoms::default();
    for hit in hits.iter() {
        present.insert(hit.atom);
    }
    let tables: &[&[Rule]] = match place {
        Place::Prose => &[EVERYWHERE, IN_DEFINITIONS],
        Place::Literal => &[EVERYWHERE, IN_DEFINITIONS, IN_LITERALS],
        Place::Name => &[IN_NAMES],
        Place::Text => &[EVERYWHERE, IN_TEXTS],
    };
    let rules = tables.iter().copied().flatten();
    let possible = rules.filter(|rule| rule.needs.iter().all(|set| set.intersects(present)));
    possible.into_iter().find_map(|rule| {
        let found = windows(rule, hits).find(|found| !is_quoted_example(folded, hits, found))?;
        Some(found)
    })
}

/// The shortest windows of hits that hold one of each set of `rule`, one for each hit that completes one.
fn windows<'a>(rule: &'static Rule, hits: &'a [Hit]) -> impl Iterator<Item = Match> + 'a {
    // The last place of each set, as the walk goes on: together they are the shortest window up to here.
    let mut last: Vec<Option<&Hit>> = vec![None; rule.needs.len()];
    hits.iter().filter_map(move |hit| {
        let mut helps = false;
        for (place, set) in last.iter_mut().zip(rule.needs) {
            if set.contains(hit.atom) {
                *place = Some(hit);
                helps = true;
            }
        }
        if !helps {
            return None;
        }
        let mut earliest = hit;
        let mut end = hit.end;
        for place in &last {
            let it = (*place)?;
            end = end.max(it.end);
            if it.start < earliest.start {
                earliest = it;
            }
        }
        let near = end - earliest.start <= rule.span && hit.sentence - earliest.sentence <= rule.sentences;
        near.then_some(Match { rule, start: earliest.start, end })
    })
}

/// Whether what was found stands in quotes, in a sentence about attacks: documentation of what is found here.
fn is_quoted_example(folded: &Folded, hits: &[Hit], found: &Match) -> bool {
    let sentence = folded.sentence(found.start);
    let discussed = hits.iter().any(|hit| hit.atom == Atom::Discuss && hit.sentence.abs_diff(sentence) <= 1);
    discussed && ['"', '`', '\''].iter().any(|quote| is_between(&folded.text, *quote, found))
}

/// Whether `quote` opens before what was found and closes behind it.
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
    opened && text[found.end..].chars().take(MAX_QUOTE).any(|it| it == quote)
}

/// How long a quoted example may be before and behind what was found in it.
const MAX_QUOTE: usize = 80;

/// One set of atoms.
pub(super) const fn one(atoms: &[Atom]) -> Atoms {
    Atoms::of(atoms)
}

/// What a secret can be.
pub(super) const SECRET: Atoms = one(&[SecretFile, ConfigFile, Private]);
