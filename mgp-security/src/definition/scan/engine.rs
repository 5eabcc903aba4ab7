//! Words and wordings as a scan needs them: compiled when a text is scanned, and forgotten when none has been for a while.

use std::sync::Arc;

use parking_lot::Mutex;

use super::atom::{Hit, Vocabulary};
use super::data::Mistake;
use super::lexicon::Lexicon;
use super::parameters::Topics;
use super::wording::Wordings;
use crate::definition::fold::FoldedText;

/// What is compiled of the data files, which takes megabytes.
pub(super) struct Engine {
    lexicon: Lexicon,
    wordings: Wordings,
    pub(super) topics: Topics,
}

impl Engine {
    /// Returns the engine of the last scans, or compiles it if it was forgotten.
    pub(super) fn get() -> Arc<Self> {
        ENGINE.get(|| Self::read().expect("a test reads the data files"))
    }

    fn read() -> Result<Self, Mistake> {
        let vocabulary = Vocabulary::read()?;
        Ok(Self {
            lexicon: Lexicon::read(&vocabulary)?,
            wordings: Wordings::read(&vocabulary)?,
            topics: Topics::read()?,
        })
    }

    /// Notes all that stands in `folded`.
    pub(super) fn find(&self, folded: &FoldedText, hits: &mut Vec<Hit>) {
        self.lexicon.find(folded, hits);
        self.wordings.find(folded, hits);
    }

    /// Notes the words in `folded`.
    pub(super) fn find_words(&self, folded: &FoldedText, hits: &mut Vec<Hit>) {
        self.lexicon.find(folded, hits);
    }
}

/// Forgets what scans have compiled, unless one began since the last call. The next scan compiles it again.
///
/// Definitions are scanned when servers list them, and hardly ever later: called every few minutes, this frees some megabytes.
pub fn forget_scans() {
    ENGINE.forget_unused();
}

static ENGINE: Kept<Engine> = Kept::new();

/// A value that is made at need, and kept for as long as it is used now and then.
struct Kept<T>(Mutex<Option<Used<T>>>);

struct Used<T> {
    value: Arc<T>,
    /// Whether the value was used since it was last to be forgotten.
    is_recent: bool,
}

impl<T> Kept<T> {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn get(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut kept = self.0.lock();
        let used = kept.get_or_insert_with(|| Used { value: Arc::new(make()), is_recent: true });
        used.is_recent = true;
        Arc::clone(&used.value)
    }

    fn forget_unused(&self) {
        let mut kept = self.0.lock();
        // The value is dropped without the lock.
        let _forgotten = kept.take_if(|used| !std::mem::take(&mut used.is_recent));
        drop(kept);
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

    #[test]
    fn what_is_unused_is_forgotten_and_made_again() {
        let kept = Kept::new();
        assert_eq!(*kept.get(|| 1), 1);
        kept.forget_unused();
        assert_eq!(*kept.get(|| 2), 1);
        kept.forget_unused();
        kept.forget_unused();
        assert_eq!(*kept.get(|| 3), 3);
    }
}
