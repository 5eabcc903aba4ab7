//! The patterns of what is recognised by its shape or its grammar rather than by single words.
//!
//! Addresses, tags and labels have a shape. Turns of phrase have slots that take any word of a class. Orders to do what
//! an assistant does for its user have a verb at the start of a clause, and near behind it the object of the verb.

use std::ops::Range;

use super::atom::{Atoms, Hit};
use super::pattern::{CompiledList, FoldedPattern};
use crate::data_file::{Entry, Section, sections, split, with_blanks};
use crate::definition::fold::FoldedText;

/// All wordings, with the atoms of each.
#[derive(Default)]
pub(super) struct Wordings {
    all: Vec<Wording>,
    /// The endings of texts that forbid the phrase behind them.
    negations: Vec<String>,
    /// The atoms that a negation before them cancels.
    forbiddable: Atoms,
    /// The endings of texts which say that something goes to the address behind them.
    before_destination: Vec<String>,
    /// The beginnings of texts which say that something goes to the address before them.
    behind_destination: Vec<String>,
}

struct Wording {
    kind: WordingPosition,
    atoms: Vec<Atoms>,
    pattern: FoldedPattern,
}

/// The positions in which a wording counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordingPosition {
    /// Any position, unless the wording is forbidden there.
    Phrase,
    /// A position where a sentence could start.
    Beginning,
    /// The start of a clause.
    Order,
}

pub(super) static WORDINGS: CompiledList<Wordings> = CompiledList::new(Wordings::read);

impl Wordings {
    /// Returns the wordings of `wordings.txt`, compiled.
    fn read() -> Self {
        let mut read = Self { forbiddable: Atoms::named("FORBIDDABLE"), ..Self::default() };
        let mut slots = Vec::new();
        for Section { heading, entries } in sections(include_str!("wordings.txt")) {
            let texts = entries.iter().map(Entry::joined);
            let (kind, atoms) = match heading.split_once(": ") {
                Some(("BEGINNINGS", atoms)) => (WordingPosition::Beginning, atoms),
                Some(("ORDERS", atoms)) => (WordingPosition::Order, atoms),
                _ => (WordingPosition::Phrase, heading),
            };
            match heading {
                // A word in capitals, and the text that replaces it in patterns.
                "SLOTS" => slots.extend(entries.iter().map(|entry| {
                    let name = split(entry.line, " = ").0;
                    (name, entry.joined()[name.len() + " = ".len()..].to_owned())
                })),
                "NEGATIONS" => read.negations.extend(texts),
                "BEFORE A DESTINATION" => read.before_destination.extend(texts),
                "BEHIND A DESTINATION" => read.behind_destination.extend(texts),
                _ => read.all.extend(entries.iter().map(|entry| {
                    let text = if kind == WordingPosition::Order { order(entry) } else { entry.joined() };
                    let text = slots.iter().fold(text, |text, (slot, words)| text.replace(slot, words));
                    let atoms = atoms.split(", ").map(Atoms::named).collect();
                    Wording { kind, atoms, pattern: FoldedPattern::new(&text) }
                })),
            }
        }
        read
    }

    /// Notes the wordings in `folded`.
    pub(super) fn find(&self, folded: &FoldedText, hits: &mut Vec<Hit>) {
        let text = folded.text.as_str();
        let mut note = |atom, Range { start, end }: Range<usize>| {
            hits.push(Hit { atom, start, end, sentence: folded.sentence(start) });
        };
        for Wording { kind, atoms, pattern } in &self.all {
            let found: Vec<_> = match kind {
                WordingPosition::Phrase => pattern.find_iter(text).collect(),
                WordingPosition::Beginning => {
                    pattern.find_iter(text).filter(|found| stands_apart(folded, found.start)).collect()
                }
                WordingPosition::Order => pattern.groups_iter(text).map(|(_, order)| order).collect(),
            };
            for (found, atom) in found.iter().flat_map(|found| atoms.iter().map(move |atom| (found, *atom))) {
                let can_be_forbidden = *kind != WordingPosition::Order && self.forbiddable.has(atom);
                if can_be_forbidden && self.is_negated(&text[..found.start]) {
                    continue;
                }
                note(atom, found.clone());
                if atom == Atoms::ADDRESS {
                    self.note_address(text, found, &mut note);
                }
            }
        }
    }

    /// Notes that an address is one of mail, or that something is sent to it.
    fn note_address(&self, text: &str, found: &Range<usize>, note: &mut impl FnMut(Atoms, Range<usize>)) {
        let address = &text[found.clone()];
        if !address.contains("://") && address.contains('@') {
            note(Atoms::MAIL, found.clone());
        }
        let before = text[..found.start].trim_end_matches([' ', '"', '\'', '`', '<', '(', ':']);
        let leads = self.before_destination.iter().any(|words| before.ends_with(words));
        let behind = text[found.end..].trim_start_matches([' ', '"', '\'', '`', '>', ')']);
        if leads || self.behind_destination.iter().any(|words| behind.starts_with(words)) {
            note(Atoms::DESTINATION, found.clone());
        }
    }

    /// Returns the atoms of all wordings.
    #[cfg(test)]
    pub(super) fn atoms(&self) -> impl Iterator<Item = Atoms> {
        self.all.iter().flat_map(|wording| wording.atoms.iter().copied())
    }

    fn is_negated(&self, before: &str) -> bool {
        let before = before.trim_end();
        self.negations.iter().any(|negation| before.ends_with(negation))
    }
}

/// Returns the pattern of orders: the entry has the verbs, and the lines below it have their objects.
fn order(entry: &Entry) -> String {
    assert!(!entry.below.is_empty(), "nothing stands below `{}` that this could be done to", entry.line);
    format!(r"CLAUSE((?:{}) GAP(?:{})\b)", with_blanks(entry.line), with_blanks(&entry.below.concat()))
}

/// Returns whether the position `at` is not in the middle of a phrase.
fn stands_apart(folded: &FoldedText, at: usize) -> bool {
    let before = folded.text[..at].trim_end();
    folded.starts_sentence(at)
        || before.ends_with(['.', '!', '?', ':', ';', ']', ')', '>', '*', '#', '-', '"'])
}
