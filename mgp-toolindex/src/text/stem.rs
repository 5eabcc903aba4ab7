//! Stems of English words.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use frostem::{Algorithm, Stemmer};

use super::everyday::is_function_word;

/// Removes endings of words, so that `files` finds `file`, and words without a meaning of their own. Results are
/// remembered, because a few words are most of every text.
pub(super) struct WordStems {
    stemmer: Stemmer,
    /// The stems of known words; empty for words without a meaning of their own.
    known: HashMap<Box<str>, Box<str>, RandomState>,
}

const MAX_KNOWN: usize = 16_384;

/// The length of a word at least; shorter words have no endings.
const SHORTEST: usize = 3;

impl WordStems {
    pub(super) fn new() -> Self {
        Self { stemmer: Stemmer::new(Algorithm::English), known: HashMap::default() }
    }

    /// Reduces a word in lower case to its stem. Words that cannot be English stay as they are. Words without a meaning
    /// of their own become empty.
    pub(super) fn stem(&mut self, word: &mut String) {
        if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return;
        }
        if let Some(stem) = self.known.get(word.as_str()) {
            word.clear();
            word.push_str(stem);
            return;
        }
        let stem: Box<str> = match word.as_str() {
            none if is_function_word(none) => "".into(),
            short if short.len() < SHORTEST => short.into(),
            word => self.stemmer.stem(word).into(),
        };
        if self.known.len() == MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(word.as_str().into(), stem.clone());
        word.clear();
        word.push_str(&stem);
    }
}

mgp_types::partial_debug!(WordStems, self => known: self.known.len());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_become_one() {
        let mut stems = WordStems::new();
        for _ in 0..2 {
            let mut word = String::from("searching");
            stems.stem(&mut word);
            assert_eq!(word, "search");
        }
        let mut word = String::from("größe");
        stems.stem(&mut word);
        assert_eq!(word, "größe");
    }
}
