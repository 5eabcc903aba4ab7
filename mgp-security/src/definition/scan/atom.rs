//! Atoms: the meanings of words, independent of the language.

use super::data::{DataFile, Line, Mistake};

/// The meaning of a word or phrase. Findings come from several atoms close together, hardly ever from one.
///
/// The file `atoms.txt` names all atoms and explains each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Atom(u8);

impl Atom {
    pub(super) const ADDRESS: Self = Self(0);
    pub(super) const MAIL: Self = Self(1);
    pub(super) const DESTINATION: Self = Self(2);
    pub(super) const PARAMETER: Self = Self(3);
    pub(super) const PROPERTY_REF: Self = Self(4);
    pub(super) const NAMED_FILE: Self = Self(5);
    pub(super) const DISCUSS: Self = Self(6);
    pub(super) const CAUTION: Self = Self(7);
    pub(super) const NO_SECRET: Self = Self(8);
}

const ATOMS: DataFile = DataFile::new("atoms.txt", include_str!("atoms.txt"));

/// The names of the atoms that the program itself makes or treats specially, each at its number.
const KNOWN: [&str; 9] = [
    "address", "mail", "destination", "parameter", "property-ref", "named-file", "discuss", "caution",
    "no-secret",
];

/// A set of atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Atoms(u128);

impl Atoms {
    pub(super) const fn contains(self, atom: Atom) -> bool {
        self.0 & (1 << atom.0) != 0
    }

    pub(super) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn insert(&mut self, atom: Atom) {
        self.0 |= 1 << atom.0;
    }
}

/// An atom in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) atom: Atom,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The number of the sentence that the atom starts in.
    pub(super) sentence: usize,
}

/// All atoms and groups of atoms, by their names.
#[derive(Debug)]
pub(super) struct Vocabulary {
    names: Vec<&'static str>,
    groups: Vec<(&'static str, Atoms)>,
}

impl Vocabulary {
    /// Reads `atoms.txt`.
    pub(super) fn read() -> Result<Self, Mistake> {
        Self::of(ATOMS)
    }

    fn of(file: DataFile) -> Result<Self, Mistake> {
        let mut vocabulary = Self { names: KNOWN.to_vec(), groups: Vec::new() };
        let mut explained = Atoms::default();
        for section in file.sections()? {
            for entry in section.entries {
                let line = entry.line;
                if section.heading.text == "groups" {
                    let (name, atoms) = line.split(" = ")?;
                    let atoms = vocabulary.atoms(&line, atoms)?;
                    vocabulary.groups.push((name, atoms));
                    continue;
                }
                let (name, _) = line.split(": ")?;
                let atom = vocabulary.named(name).or_else(|| vocabulary.add(name));
                let atom = atom.ok_or_else(|| line.mistake("there are too many atoms"))?;
                if explained.contains(atom) {
                    return Err(line.mistake(format!("`{name}` stands above already")));
                }
                explained.insert(atom);
            }
        }
        Ok(vocabulary)
    }

    fn named(&self, name: &str) -> Option<Atom> {
        let number = self.names.iter().position(|known| *known == name)?;
        u8::try_from(number).ok().map(Atom)
    }

    fn add(&mut self, name: &'static str) -> Option<Atom> {
        let number = u8::try_from(self.names.len()).ok().filter(|number| u32::from(*number) < u128::BITS)?;
        self.names.push(name);
        Some(Atom(number))
    }

    /// Returns the atom of this name.
    pub(super) fn atom(&self, line: &Line, name: &str) -> Result<Atom, Mistake> {
        self.named(name).ok_or_else(|| line.mistake(format!("there is no atom `{name}`")))
    }

    /// Returns the atoms of `names`, which are joined by `|`; a group in it stands for all of its atoms.
    pub(super) fn atoms(&self, line: &Line, names: &str) -> Result<Atoms, Mistake> {
        let mut atoms = Atoms::default();
        for name in names.split('|') {
            match self.groups.iter().find(|(known, _)| *known == name) {
                Some((_, group)) => atoms.0 |= group.0,
                None => atoms.insert(self.atom(line, name)?),
            }
        }
        Ok(atoms)
    }

    /// Returns the group of this name.
    pub(super) fn group(&self, name: &str) -> Result<Atoms, Mistake> {
        let group = self.groups.iter().find(|(known, _)| *known == name);
        group.map(|(_, atoms)| *atoms).ok_or_else(|| ATOMS.lacks(&format!("the group {name}")))
    }

    /// Returns the names of `atoms`.
    #[cfg(test)]
    pub(super) fn names(&self, atoms: Atoms) -> Vec<&'static str> {
        let all = self.names.iter().zip(0..);
        all.filter(|(_, number)| atoms.contains(Atom(*number))).map(|(name, _)| *name).collect()
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, Atom)> {
        self.names.iter().zip(0..).map(|(name, number)| (*name, Atom(number)))
    }
}
