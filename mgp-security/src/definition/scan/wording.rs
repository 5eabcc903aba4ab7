//! The patterns of what is recognised by its shape or its grammar rather than by single words.
//!
//! Addresses, tags and labels have a shape. Turns of phrase have slots that take any word of a class. Orders to do what
//! an assistant does for its user have a verb at the start of a clause, and near behind it the object of the verb.

use std::ops::Range;

use super::atom::{Atom, Atoms, Hit, Vocabulary};
use super::data::{DataFile, Entry, Line, Mistake, Section};
use super::pattern::Pattern;
use crate::definition::fold::FoldedText;

/// All wordings, with the atoms of each.
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
    kind: Kind,
    atoms: Vec<Atom>,
    pattern: Pattern,
}

/// The positions in which a wording counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Any position, unless the wording is forbidden there.
    Phrase,
    /// A position where a sentence could start.
    Beginning,
    /// The start of a clause.
    Order,
}

impl Wordings {
    /// Reads `wordings.txt`.
    pub(super) fn read(vocabulary: &Vocabulary) -> Result<Self, Mistake> {
        Self::of(WORDINGS, vocabulary)
    }

    fn of(file: DataFile, vocabulary: &Vocabulary) -> Result<Self, Mistake> {
        let mut slots = Vec::new();
        let mut all = Vec::new();
        let [mut negations, mut before_destination, mut behind_destination] = [const { Vec::new() }; 3];
        for Section { heading, entries } in file.sections()? {
            let texts = entries.iter().map(Entry::joined);
            let (kind, atoms) = match heading.text.split_once(": ").unwrap_or(("PHRASES", heading.text)) {
                (_, "SLOTS") => {
                    slots = entries.iter().map(slot).collect::<Result<_, _>>()?;
                    continue;
                }
                (_, "NEGATIONS") => {
                    negations.extend(texts);
                    continue;
                }
                (_, "BEFORE A DESTINATION") => {
                    before_destination.extend(texts);
                    continue;
                }
                (_, "BEHIND A DESTINATION") => {
                    behind_destination.extend(texts);
                    continue;
                }
                ("PHRASES", atoms) => (Kind::Phrase, atoms),
                ("BEGINNINGS", atoms) => (Kind::Beginning, atoms),
                ("ORDERS", atoms) => (Kind::Order, atoms),
                (kind, _) => return Err(heading.mistake(format!("`{kind}` is no kind of wording"))),
            };
            let atoms = atoms.split(", ").map(|name| vocabulary.atom(&heading, name));
            let atoms = atoms.collect::<Result<Vec<_>, _>>()?;
            for entry in &entries {
                let text = if kind == Kind::Order { order(entry)? } else { entry.joined() };
                let text = slots.iter().fold(text, |text, (slot, words)| text.replace(slot, words));
                let pattern = Pattern::new(&text).map_err(|error| entry.line.mistake(error.to_string()))?;
                all.push(Wording { kind, atoms: atoms.clone(), pattern });
            }
        }
        let forbiddable = vocabulary.group("FORBIDDABLE")?;
        Ok(Self { all, negations, forbiddable, before_destination, behind_destination })
    }

    /// Notes the wordings in `folded`.
    pub(super) fn find(&self, folded: &FoldedText, hits: &mut Vec<Hit>) {
        let text = folded.text.as_str();
        let mut note = |atom, Range { start, end }: Range<usize>| {
            hits.push(Hit { atom, start, end, sentence: folded.sentence(start) });
        };
        for Wording { kind, atoms, pattern } in &self.all {
            if *kind == Kind::Order {
                for (_, order) in pattern.groups_iter(text) {
                    for atom in atoms {
                        note(*atom, order.clone());
                    }
                }
                continue;
            }
            for found in pattern.find_iter(text) {
                if *kind == Kind::Beginning && !stands_apart(folded, found.start) {
                    continue;
                }
                for atom in atoms {
                    if self.forbiddable.contains(*atom) && self.is_negated(&text[..found.start]) {
                        continue;
                    }
                    note(*atom, found.clone());
                    if *atom == Atom::ADDRESS {
                        self.note_address(text, &found, &mut note);
                    }
                }
            }
        }
    }

    /// Notes that an address is one of mail, or that something is sent to it.
    fn note_address(&self, text: &str, found: &Range<usize>, note: &mut impl FnMut(Atom, Range<usize>)) {
        let address = &text[found.clone()];
        if !address.contains("://") && address.contains('@') {
            note(Atom::MAIL, found.clone());
        }
        let before = text[..found.start].trim_end_matches([' ', '"', '\'', '`', '<', '(', ':']);
        let leads = self.before_destination.iter().any(|words| before.ends_with(words));
        let behind = text[found.end..].trim_start_matches([' ', '"', '\'', '`', '>', ')']);
        if leads || self.behind_destination.iter().any(|words| behind.starts_with(words)) {
            note(Atom::DESTINATION, found.clone());
        }
    }

    /// Returns the atoms of all wordings.
    #[cfg(test)]
    pub(super) fn atoms(&self) -> impl Iterator<Item = Atom> {
        self.all.iter().flat_map(|wording| wording.atoms.iter().copied())
    }

    fn is_negated(&self, before: &str) -> bool {
        let before = before.trim_end();
        self.negations.iter().any(|negation| before.ends_with(negation))
    }
}

/// Reads a slot: a word in capitals, and the text that replaces it in patterns.
fn slot(entry: &Entry) -> Result<(&'static str, String), Mistake> {
    let (name, _) = entry.line.split(" = ")?;
    let words = entry.joined();
    Ok((name, words[name.len() + " = ".len()..].to_owned()))
}

/// Returns the pattern of orders: the entry has the verbs, and the lines below it have their objects.
fn order(entry: &Entry) -> Result<String, Mistake> {
    let things: String = entry.below.iter().map(Line::with_blanks).collect();
    if things.is_empty() {
        return Err(entry.line.mistake("nothing stands below that this could be done to"));
    }
    Ok(format!(r"CLAUSE((?:{}) GAP(?:{things})\b)", entry.line.with_blanks()))
}

/// Returns whether the position `at` is not in the middle of a phrase.
fn stands_apart(folded: &FoldedText, at: usize) -> bool {
    let before = folded.text[..at].trim_end();
    folded.starts_sentence(at)
        || before.ends_with(['.', '!', '?', ':', ';', ']', ')', '>', '*', '#', '-', '"'])
}

const WORDINGS: DataFile = DataFile::new("wordings.txt", include_str!("wordings.txt"));

#[cfg(test)]
mod tests;
