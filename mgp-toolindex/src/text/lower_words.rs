//! Words in lower case, without analysis.

use std::ops::ControlFlow;

/// The length of a word at most, in bytes; longer words are in no list.
const LONGEST_WORD: usize = 32;

/// The characters of a text that are read.
const MOST_CHARACTERS: usize = 4096;

/// Gives each word of a text to `each`, in lower case, until that breaks; `camelCase` and `snake_case` are two words
/// each.
///
/// The function is for words that are compared with English word lists. Queries and indexed texts are analysed instead.
pub(crate) fn lower_words(text: &str, mut each: impl FnMut(&str) -> ControlFlow<()>) {
    let mut word = String::new();
    let mut after_small = false;
    for c in text.chars().take(MOST_CHARACTERS).chain([' ']) {
        let ends = !c.is_alphanumeric() || (after_small && c.is_uppercase());
        if ends && !word.is_empty() {
            if each(&word).is_break() {
                return;
            }
            word.clear();
        }
        after_small = c.is_lowercase();
        if c.is_alphanumeric() && word.len() < LONGEST_WORD {
            word.extend(c.to_lowercase());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, most: usize) -> Vec<String> {
        let mut words = Vec::new();
        lower_words(text, |word| {
            words.push(word.to_owned());
            if words.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        words
    }

    #[test]
    fn words_end_where_spelling_or_case_says_so() {
        assert_eq!(
            words("read_file readFile, PDF-2 Ärger", 9),
            ["read", "file", "read", "file", "pdf", "2", "ärger"]
        );
        assert!(words("", 9).is_empty() && words(" _-. ", 9).is_empty());
    }

    #[test]
    fn no_more_is_read_than_is_wanted_or_worth_it() {
        assert_eq!(words("one two three", 2), ["one", "two"]);
        assert_eq!(words(&"a ".repeat(100_000), usize::MAX).len(), MOST_CHARACTERS / 2);
        assert!(words(&"天".repeat(100_000), 9).iter().all(|word| word.len() < LONGEST_WORD + 4));
    }
}
