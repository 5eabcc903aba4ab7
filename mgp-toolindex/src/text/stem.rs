use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use frostem::{Algorithm, Stemmer};

use super::function_words::is_function_word;

/// Takes endings off words, so that `files` finds `file`, and words away that say nothing. What was worked out is
/// remembered, because a few words are most of every text.
pub(super) struct Stems {
    stemmer: Stemmer,
    /// What is left of words; of those that say nothing it is nothing.
    known: HashMap<Box<str>, Box<str>, RandomState>,
}

impl Stems {
    pub(super) fn new() -> Self {
        Self { stemmer: Stemmer::new(Algorithm::English), known: HashMap::default() }
    }

    /// Leaves of a word in lower case what its forms have in common. Words that cannot be English stay as they are.
    /// Nothing is left of words that say nothing.
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
        if self.known.len() == MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(word.as_str().into(), stem.clone());
        word.clear();
        word.push_str(&stem);
    }
}

impl fmt::Debug for Stems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stems").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

/// Shorter words have no endings.
const SHORTEST: usize = 3;

const MOST_KNOWN: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_become_one() {
        let mut stems = Stems::new();
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
