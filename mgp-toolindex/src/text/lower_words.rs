//! Words in lower case, without analysis.

/// The length of a word at most, in bytes; longer words are in no list.
const LONGEST_WORD: usize = 32;

/// The characters of a text that are read.
const MAX_CHARACTERS: usize = 4096;

/// Returns the words of a text, in lower case; `camelCase` and `snake_case` are two words each.
///
/// The function is for words that are compared with English word lists. Queries and indexed texts are analysed instead.
pub(crate) fn lower_words(text: &str) -> impl Iterator<Item = String> {
    let mut rest = text.chars().take(MAX_CHARACTERS).peekable();
    std::iter::from_fn(move || {
        while rest.next_if(|letter| !letter.is_alphanumeric()).is_some() {}
        let (mut word, mut was_small) = (String::new(), false);
        while let Some(letter) =
            rest.next_if(|letter| letter.is_alphanumeric() && !(was_small && letter.is_uppercase()))
        {
            was_small = letter.is_lowercase();
            if word.len() < LONGEST_WORD {
                word.extend(letter.to_lowercase());
            }
        }
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        lower_words(text).collect()
    }

    #[test]
    fn words_end_where_spelling_or_case_says_so() {
        assert_eq!(
            words("read_file readFile, PDF-2 Ärger"),
            ["read", "file", "read", "file", "pdf", "2", "ärger"]
        );
        assert!(words("").is_empty() && words(" _-. ").is_empty());
    }

    #[test]
    fn no_more_is_read_than_is_worth_it() {
        assert_eq!(words(&"a ".repeat(100_000)).len(), MAX_CHARACTERS / 2);
        assert!(words(&"天".repeat(100_000)).iter().all(|word| word.len() < LONGEST_WORD + 4));
    }
}
