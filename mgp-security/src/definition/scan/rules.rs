//! The rules: the atoms that are a finding when they stand close together, and where they apply.

use std::sync::LazyLock;

use super::atom::{Atoms, Hit};
use super::parameters::Parameters;
use crate::data_file::{Entry, Named as _, named, sections, split};
use crate::definition::fold::FoldedText;

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

    /// Returns the rules that apply to texts at `place` in a definition with these parameters.
    pub(super) fn of_place(&self, place: TextPlace, tool: &Parameters) -> impl Iterator<Item = &ScanRule> {
        self.in_order.iter().filter(move |rule| {
            rule.places.contains(&place.name())
                && !rule.spared_topics.iter().any(|topic| tool.topics.contains(topic))
        })
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
