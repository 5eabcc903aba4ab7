//! The compiled words and wordings that all scans share.

use std::sync::LazyLock;

use super::atom::{Hit, Vocabulary};
use super::data::Mistake;
use super::lexicon::Lexicon;
use super::wording::Wordings;
use crate::definition::fold::FoldedText;

/// The compiled words and wordings, which take megabytes.
pub(super) struct Engine {
    lexicon: Lexicon,
    wordings: Wordings,
}

impl Engine {
    /// Returns the engine, which is compiled when a text is first scanned.
    pub(super) fn get() -> &'static Self {
        static ENGINE: LazyLock<Engine> =
            LazyLock::new(|| Engine::read().expect("a test reads the data files"));
        &ENGINE
    }

    fn read() -> Result<Self, Mistake> {
        let vocabulary = Vocabulary::read()?;
        Ok(Self { lexicon: Lexicon::read(&vocabulary)?, wordings: Wordings::read(&vocabulary)? })
    }

    /// Notes all words and wordings in `folded`.
    pub(super) fn find(&self, folded: &FoldedText, hits: &mut Vec<Hit>) {
        self.lexicon.find(folded, hits);
        self.wordings.find(folded, hits);
    }

    /// Notes the words in `folded`.
    pub(super) fn find_words(&self, folded: &FoldedText, hits: &mut Vec<Hit>) {
        self.lexicon.find(folded, hits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::scan::atom::Atom;
    use crate::definition::scan::rules::Rules;

    #[test]
    fn the_data_files_can_be_read() {
        let mistake = Engine::read().err().map(|mistake| mistake.to_string());
        assert_eq!(mistake, None);
    }

    #[test]
    fn every_atom_is_found_in_texts() {
        let engine = Engine::get();
        let by_program =
            [Atom::MAIL, Atom::DESTINATION, Atom::PARAMETER, Atom::PROPERTY_REF, Atom::NAMED_FILE];
        let composed = Rules::get().compounds.iter().map(|compound| compound.atom);
        let found: Vec<_> =
            engine.lexicon.atoms().chain(engine.wordings.atoms()).chain(composed).chain(by_program).collect();
        for (name, atom) in Vocabulary::read().unwrap().all() {
            assert!(found.contains(&atom), "{name}");
        }
    }
}
