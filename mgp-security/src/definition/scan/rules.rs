//! Which atoms close together are a finding.

use super::atom::Atom::{self, *};
use super::atom::{Atoms, Hit};
use super::compose::compose;
use super::parameters::Parameters;
use super::table::{ENCODED, EVERYWHERE, IN_TEXTS};
use super::table_definitions::{IN_DEFINITIONS, IN_LITERALS, IN_NAMES};
use super::table_parameters::{
    IN_PARAMETERS, UNRELATED_DEEDS, UNRELATED_REQUESTS, UNRELATED_SECRETS, UNRELATED_TALK,
};
use super::table_phrases::{
    PHRASES_EVERYWHERE, PHRASES_IN_DEFINITIONS, PHRASES_IN_LITERALS, PHRASES_IN_TEXTS,
};
use crate::definition::fold::Folded;

/// Atoms of which one of each set must occur within so many characters and sentences.
#[derive(Debug)]
pub(super) struct Rule {
    /// The class of the finding.
    pub(super) name: &'static str,
    /// What it means, for an operator.
    pub(super) meaning: &'static str,
    /// How many characters of folded text the atoms may span.
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
    /// The name of a parameter with its description.
    Parameter,
    /// A result or prompt.
    Text,
}

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
    folded: &Folded,
    hits: &mut Vec<Hit>,
    place: Place,
    parameters: &Parameters,
    spared: &dyn Fn(&str) -> bool,
) -> Option<Match> {
    if hits.is_empty() {
        return None;
    }
    hits.sort_unstable_by_key(|hit| (hit.start, hit.end));
    heed_cautions(hits);
    compose(folded, hits);
    let mut present = Atoms::default();
    for hit in hits.iter() {
        present.insert(hit.atom);
    }
    let discussed: Vec<_> =
        hits.iter().filter(|hit| hit.atom == Atom::Discuss).map(|hit| hit.sentence).collect();
    let nothing: &[Rule] = &[];
    let deeds = if parameters.about_deeds { nothing } else { UNRELATED_DEEDS };
    let requests = if parameters.about_secrets { nothing } else { UNRELATED_REQUESTS };
    let tables: &[&[Rule]] = match place {
        Place::Prose => {
            &[EVERYWHERE, PHRASES_EVERYWHERE, IN_DEFINITIONS, PHRASES_IN_DEFINITIONS, deeds, requests]
        }
        Place::Literal => &[
            EVERYWHERE,
            PHRASES_EVERYWHERE,
            IN_DEFINITIONS,
            PHRASES_IN_DEFINITIONS,
            IN_LITERALS,
            PHRASES_IN_LITERALS,
        ],
        Place::Name => &[IN_NAMES],
        Place::Parameter => match (parameters.about_talk, parameters.about_secrets) {
            (true, true) => &[IN_PARAMETERS],
            (false, true) => &[IN_PARAMETERS, UNRELATED_TALK],
            (true, false) => &[IN_PARAMETERS, UNRELATED_SECRETS],
            (false, false) => &[IN_PARAMETERS, UNRELATED_TALK, UNRELATED_SECRETS],
        },
        Place::Text => &[EVERYWHERE, PHRASES_EVERYWHERE, IN_TEXTS, PHRASES_IN_TEXTS],
    };
    let rules = tables.iter().copied().flatten();
    let possible =
        rules.filter(|rule| rule.needs.iter().all(|set| set.intersects(present)) && !spared(rule.name));
    let mut found = possible.filter_map(|rule| {
        windows(rule, folded, hits).find(|found| !is_quoted_example(folded, &discussed, found))
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
        hits.iter().filter(|hit| hit.atom == Atom::Caution).map(|hit| (hit.start, hit.end)).collect();
    if !cautions.is_empty() {
        // Warnings do not overlap, and are in the order of their starts.
        hits.retain(|hit| {
            let before = cautions.partition_point(|(start, _)| *start <= hit.start);
            before.checked_sub(1).is_none_or(|it| hit.start >= cautions[it].1)
        });
    }
}

/// The windows of `rule` that are short enough.
fn windows<'a>(rule: &'static Rule, folded: &'a Folded, hits: &'a [Hit]) -> impl Iterator<Item = Match> + 'a {
    shortest(rule.needs, hits)
        .filter(move |(first, end, sentences)| {
            *sentences <= rule.sentences && is_within(&folded.text, first.start, *end, rule.span)
        })
        .map(move |(first, end, _)| {
            let start = first.start;
            let near = |hit: &Hit| hit.end + MAX_BESIDE >= start && hit.start <= end + MAX_BESIDE;
            let proves = |hit: &Hit| EVIDENCE.contains(hit.atom) && near(hit);
            let is_hard = rule.name == ENCODED || hits.iter().any(proves);
            Match { rule, start, end, is_hard }
        })
}

/// Whether there are at most `span` characters from `start` to `end`. Most are refused without counting.
pub(super) fn is_within(text: &str, start: usize, end: usize, span: usize) -> bool {
    end - start <= span || end - start <= span * 4 && text[start..end].chars().count() <= span
}

/// For each hit that completes one, the shortest window up to it that holds one of each set: its first hit, its
/// end, and how many ends of sentences are in it.
pub(super) fn shortest<'a>(
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
fn is_quoted_example(folded: &Folded, discussed: &[usize], found: &Match) -> bool {
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

/// One set of atoms.
pub(super) const fn one(atoms: &[Atom]) -> Atoms {
    Atoms::of(atoms)
}

/// What no honest definition has beside an order: something that is to be kept from the user, and files such as private keys.
const EVIDENCE: Atoms = one(&[Silence, Hush, Secretly, SecretFile]);

/// How many bytes may be between what was found and the evidence.
const MAX_BESIDE: usize = 200;

/// What a secret can be.
pub(super) const SECRET: Atoms = one(&[SecretFile, ConfigFile, Private]);
