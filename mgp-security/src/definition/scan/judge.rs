//! The application of the rules to the hits in a text.

use std::sync::LazyLock;

use super::ENCODED;
use super::atom::{Atoms, Hit};
use super::parameters::Parameters;
use crate::data_file::{Entry, sections, split};
use crate::definition::fold::FoldedText;
use crate::named::{Named as _, named};

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
    let possible = all.in_order.iter().filter(|rule| {
        rule.places.contains(&place.name())
            && !rule.spared_topics.iter().any(|topic| parameters.topics.contains(topic))
            && rule.window.needs.iter().all(|set| set.has(present))
            && !spared(rule.name)
    });
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

/// All rules, with the compounds and the evidence that they need.
#[derive(Debug)]
pub(super) struct ScanRules {
    /// The rules in the order in which they are tried.
    in_order: Vec<ScanRule>,
    /// The atoms that several others make together, in any order, so in any language.
    pub(super) compounds: Vec<(Atoms, Window)>,
    /// The atoms that no honest definition has beside an order: something to be kept from the user, and files such as
    /// private keys.
    pub(super) evidence: Atoms,
}

/// A rule: a window of atoms that is a finding in some texts.
#[derive(Debug)]
pub(super) struct ScanRule {
    /// The class of the finding.
    pub(super) name: &'static str,
    /// The meaning of the finding, for an operator.
    pub(super) meaning: &'static str,
    /// The names of the places where the rule applies.
    places: Vec<&'static str>,
    /// The topics of tools to which the rule does not apply.
    spared_topics: Vec<&'static str>,
    pub(super) window: Window,
}

/// Sets of atoms of which one each must occur close to the others.
#[derive(Debug)]
pub(super) struct Window {
    /// The largest number of characters of folded text that the atoms may span.
    span: usize,
    /// The largest number of sentence ends between the atoms.
    sentences: usize,
    /// The sets of atoms, of which one each must occur.
    pub(super) needs: Vec<Atoms>,
}

named! {
    /// The place of a text, by its name in `rules.txt`: a text that is harmless in one place may not be in another.
    pub(super) enum TextPlace {
        /// A description or other prose of a definition.
        "prose" => Prose,
        /// A default, an example or one of the values to choose from: places where nobody writes sentences.
        "values" => Literal,
        /// The name of a parameter, split into words.
        "names" => Name,
        /// The name of a parameter, together with its description.
        "parameters" => Parameter,
        /// A result or prompt.
        "texts" => Text,
    }
}

pub(super) static SCAN_RULES: LazyLock<ScanRules> = LazyLock::new(ScanRules::read);

impl ScanRules {
    /// Returns the rules of `rules.txt`.
    fn read() -> Self {
        let (mut in_order, mut compounds) = (Vec::new(), Vec::new());
        for section in sections(include_str!("rules.txt")) {
            let (places, spared) = section.heading.split_once(": no ").unwrap_or((section.heading, ""));
            for entry in &section.entries {
                if section.heading == "compounds" {
                    let (atom, span) = split(entry.line, " ");
                    compounds.push((Atoms::named(atom), Window::read(entry, span, "0")));
                    continue;
                }
                let (head, meaning) = split(entry.line, ": ");
                let (name, reach) = split(head, " ");
                let (span, sentences) = split(reach, "/");
                let name =
                    super::RULES.into_iter().find(|known| *known == name).expect("findings have this name");
                in_order.push(ScanRule {
                    name,
                    meaning,
                    places: places.split(", ").collect(),
                    spared_topics: spared.split(", no ").collect(),
                    window: Window::read(entry, span, sentences),
                });
            }
        }
        Self { in_order, compounds, evidence: Atoms::named("EVIDENCE") }
    }
}

impl Window {
    fn read(entry: &Entry, span: &str, sentences: &str) -> Self {
        let number = |digits: &str| digits.parse().unwrap_or_else(|_| panic!("`{digits}` is no number"));
        assert!(!entry.below.is_empty(), "no atoms stand below `{}`", entry.line);
        let needs = entry.below.iter().map(|names| Atoms::named(names)).collect();
        Self { span: number(span), sentences: number(sentences), needs }
    }

    /// Returns, for each of `hits` that completes one, the shortest window up to it that holds one atom of each set: its
    /// first hit and its end.
    pub(super) fn find<'a>(
        &'a self,
        folded: &'a FoldedText,
        hits: &'a [Hit],
    ) -> impl Iterator<Item = (&'a Hit, usize)> + 'a {
        // The last hit of each set so far: together they are the shortest window up to here.
        let mut last: Vec<Option<&Hit>> = vec![None; self.needs.len()];
        hits.iter().filter_map(move |hit| {
            let mut helps = false;
            for (place, set) in last.iter_mut().zip(&self.needs) {
                if set.has(hit.atom) {
                    *place = Some(hit);
                    helps = true;
                }
            }
            let window = last.iter().copied().collect::<Option<Vec<_>>>().filter(|_| helps)?;
            let first = window.iter().copied().min_by_key(|hit| hit.start)?;
            let end = window.iter().map(|hit| hit.end).max()?;
            let fits =
                hit.sentence - first.sentence <= self.sentences && self.spans(&folded.text, first.start, end);
            fits.then_some((first, end))
        })
    }

    /// Returns whether the window may span the characters from `start` to `end`. Most ranges are decided without
    /// counting.
    fn spans(&self, text: &str, start: usize, end: usize) -> bool {
        end - start <= self.span
            || end - start <= self.span * 4 && text[start..end].chars().count() <= self.span
    }
}
