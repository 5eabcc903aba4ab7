//! Atoms: the meanings of words, independent of the language.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::data_file::{Section, sections, split};

/// A set of atoms, the meanings of words and phrases. Findings come from several atoms close together, hardly ever from
/// one.
///
/// The file `atoms.txt` names all atoms and explains each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Atoms(u128);

impl Atoms {
    pub(super) const ADDRESS: Self = Self(1);
    pub(super) const MAIL: Self = Self(1 << 1);
    pub(super) const DESTINATION: Self = Self(1 << 2);
    pub(super) const PARAMETER: Self = Self(1 << 3);
    pub(super) const PROPERTY_REF: Self = Self(1 << 4);
    pub(super) const NAMED_FILE: Self = Self(1 << 5);
    pub(super) const DISCUSS: Self = Self(1 << 6);
    pub(super) const CAUTION: Self = Self(1 << 7);
    pub(super) const NO_SECRET: Self = Self(1 << 8);

    /// Returns the atoms of `names`, which are joined by `|`; a group in it stands for all of its atoms.
    pub(super) fn named(names: &str) -> Self {
        Self::of(&NAMES, names)
    }

    fn of(known: &HashMap<&str, Self>, names: &str) -> Self {
        let of = |name| known.get(name).unwrap_or_else(|| panic!("there is no atom `{name}`"));
        names.split('|').map(of).fold(Self::default(), |all, atoms| all.and(*atoms))
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether the sets share an atom.
    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// An atom in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) atom: Atoms,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The number of the sentence that the atom starts in.
    pub(super) sentence: usize,
}

/// The names of the atoms that the program itself makes or treats specially, each at its number.
const KNOWN: [&str; 9] = [
    "address", "mail", "destination", "parameter", "property-ref", "named-file", "discuss", "caution",
    "no-secret",
];

/// The atoms and groups of `atoms.txt`, by their names.
static NAMES: LazyLock<HashMap<&'static str, Atoms>> = LazyLock::new(|| {
    let mut known: HashMap<_, _> =
        KNOWN.into_iter().zip(0..).map(|(name, number)| (name, Atoms(1 << number))).collect();
    for Section { heading, entries } in sections(include_str!("atoms.txt")) {
        for entry in entries {
            if heading == "groups" {
                let (name, atoms) = split(entry.line, " = ");
                known.insert(name, Atoms::of(&known, atoms));
            } else {
                let next = 1_u128.checked_shl(known.len().try_into().unwrap_or(u32::MAX));
                let next = Atoms(next.expect("there is room for an atom"));
                known.entry(split(entry.line, ": ").0).or_insert(next);
            }
        }
    }
    known
});

#[cfg(test)]
mod tests {
    use super::super::judge::SCAN_RULES;
    use super::super::lexicon::LEXICON;
    use super::super::wording::WORDINGS;
    use super::*;

    #[test]
    fn every_atom_is_found_in_texts() {
        let by_program =
            [Atoms::MAIL, Atoms::DESTINATION, Atoms::PARAMETER, Atoms::PROPERTY_REF, Atoms::NAMED_FILE];
        let composed = SCAN_RULES.compounds.iter().map(|(atom, _)| *atom);
        let (lexicon, wordings) = (LEXICON.get(), WORDINGS.get());
        let found = lexicon.atoms().chain(wordings.atoms()).chain(composed).chain(by_program);
        let found = found.fold(Atoms::default(), Atoms::and);
        for (name, atoms) in &*NAMES {
            assert!(found.and(*atoms) == found, "{name}");
        }
    }
}
